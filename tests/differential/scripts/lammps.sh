#!/bin/bash
#SBATCH -J lmp
#SBATCH -N 2 -n 8
#SBATCH -t 10:00:00
#SBATCH --mem-per-cpu=500M
#SBATCH --exclusive
mpirun -np $SLURM_NTASKS lmp -in in.lj
