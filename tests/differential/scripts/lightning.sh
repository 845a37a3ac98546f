#!/bin/bash -l
#SBATCH --nodes=2
#SBATCH --gres=gpu:h100:2
#SBATCH --ntasks-per-node=2
#SBATCH --mem=0
#SBATCH --time=0-02:00:00
#SBATCH --signal=SIGUSR1@90
source activate $1
srun python3 train.py
