#!/bin/bash

# Parameters
#SBATCH --cpus-per-task=2
#SBATCH --error=/tmp/%j_0_log.err
#SBATCH --job-name=submitit
#SBATCH --mem=2GB
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --open-mode=append
#SBATCH --output=/tmp/%j_0_log.out
#SBATCH --signal=USR2@90
#SBATCH --time=5
#SBATCH --wckey=submitit

# command
export SUBMITIT_EXECUTOR=slurm
