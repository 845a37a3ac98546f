#!/bin/bash
#SBATCH -c 4
#SBATCH --mem=4000MB
#SBATCH --tmp=5G
#SBATCH -t 72:0:0
#SBATCH --licenses=matlab:1
export GAUSS_SCRDIR=$SLURM_TMPDIR
g16 < input.com
