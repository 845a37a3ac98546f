#!/bin/bash -l
#SBATCH --export=NONE
#SBATCH --time=24:00:00
unset SLURM_EXPORT_ENV
true
