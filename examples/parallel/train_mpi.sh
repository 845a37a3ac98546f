#!/bin/bash
# Four processes on two nodes train one model: sbatch train_mpi.sh
#SBATCH --account=def-someprof
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --mem-per-cpu=500M
#SBATCH --time=00:10:00
#SBATCH --output=%x-%j.out
set -euo pipefail
if type module >/dev/null 2>&1; then module load openmpi; fi
export OPENBLAS_NUM_THREADS=1  # a process each, not a crowd of threads each

srun --mpi=pmix "${PYTHON:-python3}" "${CODE:-$SLURM_SUBMIT_DIR}/train_mpi.py" --output result.json
