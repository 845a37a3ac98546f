#!/bin/bash
#SBATCH --job-name="VASP relax"
#SBATCH --nodes=2
#SBATCH --ntasks=8
#SBATCH --ntasks-per-core=1
#SBATCH --time=02-12:00:00
#SBATCH --no-requeue
#SBATCH --get-user-env
ulimit -s unlimited
srun --mpi=pmi2 vasp_std
