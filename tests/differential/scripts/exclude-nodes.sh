#!/bin/bash
#SBATCH --exclude=n2,n1
#SBATCH -w n[4,3]
#SBATCH -N 2
srun true
