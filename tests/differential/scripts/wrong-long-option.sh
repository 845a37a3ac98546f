#!/bin/bash -l

#SBATCH -o ./job.out.%j
#SBATCH -e ./job.err.%j
#SBATCH -D ../
#SBATCH --job-name=multinode-example
#SBATCH --nodes=1
#SBATCH --constraints=gpu
#SBATCH --ntasks-per-node=4
srun torchrun train.py
