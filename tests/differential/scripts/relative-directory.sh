#!/bin/bash -l
#SBATCH -o ./job.out.%j
#SBATCH -e ./job.err.%j
#SBATCH -D ./
#SBATCH -J test_slurm
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --mail-type=none
#SBATCH --mail-user=userid@example.org
#SBATCH --time=00:10:00
srun ./myprog > prog.out
