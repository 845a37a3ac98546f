#!/bin/bash
# Tries five learning rates for a few epochs each, two at a time. train.sh then takes the best of them.
#
#SBATCH --account=def-someprof
#SBATCH --job-name=sweep
#SBATCH --array=0-4%2
#SBATCH --cpus-per-task=1
#SBATCH --mem=500M
#SBATCH --time=00:05:00
#SBATCH --output=%x-%A_%a.out

set -euo pipefail
if type module >/dev/null 2>&1; then module load python scipy-stack; fi

code=${DIGITS_CODE:-$SLURM_SUBMIT_DIR}
rates=(0.0003 0.003 0.03 0.1 1.0)
rate=${rates[$SLURM_ARRAY_TASK_ID]}

tar -xf "$PROJECT/digits/digits.tar" -C "$SLURM_TMPDIR"
"${PYTHON:-python3}" "$code/train.py" --data "$SLURM_TMPDIR/digits" --output "$SLURM_TMPDIR/run" \
  --rate "$rate" --epochs 12 --seconds-per-epoch 0.1

accuracy=$(sed -n 's/.*"valid_accuracy": \([0-9.]*\).*/\1/p' "$SLURM_TMPDIR/run/result.json")
mkdir -p "$SCRATCH/digits/sweep"
echo "$rate $accuracy" >"$SCRATCH/digits/sweep/$SLURM_ARRAY_TASK_ID.txt"
