#!/bin/bash
#SBATCH --job-name=alphafold
#SBATCH --gpus=a100:1
#SBATCH --cpus-per-gpu=4
#SBATCH --mem=3G
#SBATCH --time=0-12:0:0
#SBATCH --output=%x_%j.log --error=%x_%j.log
module load apptainer
apptainer run --nv alphafold.sif
