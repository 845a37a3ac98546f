#!/bin/bash

#SBATCH --account=hpc_someone
#SBATCH --constraint=fast
#SBATCH --job-name=gatk-mutect2
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=2
#SBATCH --time=1:00:00
#SBATCH --mem=3G
#SBATCH  --output=/tmp/slurm_logs/%j.out
set -eux

#loading required modules
module load gatk/4.2.2.0
