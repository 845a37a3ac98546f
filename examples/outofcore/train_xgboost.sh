#!/bin/bash
# Boosted trees of more data than memory: sbatch train_xgboost.sh data.npy
#SBATCH --account=def-someprof
#SBATCH --cpus-per-task=1
#SBATCH --mem=400M
#SBATCH --time=00:20:00
#SBATCH --output=%x-%j.out
set -euo pipefail
if [ -z "${PYTHON:-}" ] && type module >/dev/null 2>&1; then
  module load python
  virtualenv --no-download "$SLURM_TMPDIR/env"
  source "$SLURM_TMPDIR/env/bin/activate"
  pip install --no-index numpy scipy xgboost
fi
"${PYTHON:-python3}" "${CODE:-$SLURM_SUBMIT_DIR}/train_xgboost.py" "$1"
