#!/bin/bash
#SBATCH --job-name=gmx
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=4
#SBATCH --gres=gpu:1
#SBATCH --mem=0
#SBATCH --time=1-00:00:00
#SBATCH --signal=B:USR1@300
#SBATCH --requeue
#SBATCH --open-mode=append
gmx mdrun -deffnm md -ntomp $SLURM_CPUS_PER_TASK -maxh 23.9 -cpi md.cpt
