#!/bin/bash
#SBATCH --job-name=GPU-torchrun
#SBATCH --mem=1G
#SBATCH --output=logs/%x.%j.log
#SBATCH --nodes=2
#SBATCH --gres=gpu:2
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=2
#SBATCH --nodelist=n[1-2]
srun python train.py
