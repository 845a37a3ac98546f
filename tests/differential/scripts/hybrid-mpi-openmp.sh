#!/bin/bash -l
#SBATCH -J hybrid
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=2
#SBATCH --hint=nomultithread
#SBATCH --distribution=block:cyclic
#SBATCH --time=12:00:00
export OMP_NUM_THREADS=${SLURM_CPUS_PER_TASK:-1}
export OMP_PLACES=cores
srun --cpu-bind=cores ./hybrid
