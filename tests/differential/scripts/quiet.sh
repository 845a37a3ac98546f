#!/bin/bash
# A script's own -Q comes too late.
#SBATCH -Q
#SBATCH --no-kill
#SBATCH --job-name=quiet
true
