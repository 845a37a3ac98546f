#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --time=10:00
parallel -j $SLURM_NTASKS "srun -N1 -n1 --exclusive ./task {}" ::: $(seq 100)
