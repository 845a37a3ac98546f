#!/bin/csh
#SBATCH -N 1
#SBATCH --tasks-per-node 4
#SBATCH -t 1440
#SBATCH --export=ALL
setenv OMP_NUM_THREADS 1
charmrun namd2 conf
