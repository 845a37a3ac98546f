#!/bin/bash
#SBATCH --job-name=multi-gpu
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=4
#SBATCH --mem=0
#SBATCH --gpus-per-node=2
#SBATCH --time=00:03:00

#####################################
#       ENV SETUP                   #
#####################################
module load profile/deeplrn
