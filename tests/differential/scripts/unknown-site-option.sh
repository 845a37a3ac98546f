#!/bin/bash -l
#SBATCH --job-name=a
#SBATCH --nvps
#SBATCH --time=00:10:00
srun ./a
