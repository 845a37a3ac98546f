#!/bin/bash
# Training in parts, each as long as a job may be: minke chain --total 72h --each 24h train.sh
# Without minke chain: sbatch it again after it has ended; it goes on where it was.
#SBATCH --account=def-someprof
#SBATCH --cpus-per-task=1
#SBATCH --mem=1500M
#SBATCH --time=1-0
#SBATCH --signal=USR1@120
#SBATCH --output=%x-%j.out
set -euo pipefail
if [ -z "${PYTHON:-}" ] && type module >/dev/null 2>&1; then
  module load python
  virtualenv --no-download "$SLURM_TMPDIR/env"
  source "$SLURM_TMPDIR/env/bin/activate"
  pip install --no-index torch
fi
export OMP_NUM_THREADS=1
# $SCRATCH outlives the job; $SLURM_TMPDIR does not. With Keras: train_keras.py --directory "$SCRATCH/keras"
srun "${PYTHON:-python}" "${CODE:-$SLURM_SUBMIT_DIR}/train_torch.py" --checkpoint "${SCRATCH:-$PWD}/torch.pt" "$@"
