#!/bin/bash
# Inference with a model from the login side: sbatch generate.sh MODEL PROMPTS. minke estimate MODEL says which GPU it needs.
#SBATCH --account=def-someprof
#SBATCH --cpus-per-task=1
#SBATCH --mem=1500M
#SBATCH --time=00:10:00
#SBATCH --output=%x-%j.out
set -euo pipefail
if [ -z "${PYTHON:-}" ] && type module >/dev/null 2>&1; then
  module load python
  virtualenv --no-download "$SLURM_TMPDIR/env"
  source "$SLURM_TMPDIR/env/bin/activate"
  pip install --no-index torch transformers
fi
export HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false OMP_NUM_THREADS=${SLURM_CPUS_PER_TASK:-1}

# The node's own disk is faster than the file server for many gigabytes of weights that are read once each job.
cp -r "$1" "$SLURM_TMPDIR/model"
"${PYTHON:-python}" "${CODE:-$SLURM_SUBMIT_DIR}/generate.py" "$SLURM_TMPDIR/model" "$2" "$SLURM_TMPDIR/answers.jsonl"
mv "$SLURM_TMPDIR/answers.jsonl" "answers-$SLURM_JOB_ID.jsonl"
