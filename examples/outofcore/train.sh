#!/bin/bash
# More data than memory: sbatch train.sh data.npy
#SBATCH --account=def-someprof
#SBATCH --cpus-per-task=1
#SBATCH --mem=400M
#SBATCH --time=00:10:00
#SBATCH --output=%x-%j.out
set -euo pipefail
export OPENBLAS_NUM_THREADS=$SLURM_CPUS_PER_TASK
"${PYTHON:-python3}" "${CODE:-$SLURM_SUBMIT_DIR}/train.py" "$1"
