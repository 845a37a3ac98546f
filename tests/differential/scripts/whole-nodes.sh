#!/bin/bash
#SBATCH -N 2
#SBATCH --exclusive
#SBATCH --mem=0
#SBATCH -t 15
srun true
