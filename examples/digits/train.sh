#!/bin/bash
# One chunk of a training run. Submit it as often as it needs; each chunk goes on from the last checkpoint:
#
#   first=$(sbatch --parsable --time=00:01:00 train.sh)
#   sbatch --dependency=afterany:$first train.sh
#
#SBATCH --account=def-someprof
#SBATCH --job-name=digits
#SBATCH --cpus-per-task=1
#SBATCH --mem=500M
#SBATCH --time=00:05:00
#SBATCH --output=%x-%j.out
#SBATCH --open-mode=append

set -euo pipefail
if type module >/dev/null 2>&1; then module load python scipy-stack; fi

code=${DIGITS_CODE:-$SLURM_SUBMIT_DIR}
run=$SCRATCH/digits/run
mkdir -p "$run" "$PROJECT/digits/results"

# Many small files are slow on shared storage: one archive goes to the node's own disk and is unpacked there.
tar -xf "$PROJECT/digits/digits.tar" -C "$SLURM_TMPDIR"

# The sweep, where there was one, says which learning rate did best: "rate accuracy" in each of its files.
rate=$(cat "$SCRATCH"/digits/sweep/*.txt 2>/dev/null | sort -k2,2gr | head -n 1 | cut -d' ' -f1) || true

# At the time limit everything in the job gets SIGTERM. With a trap set, bash waits for the trainer, which
# finishes its epoch and saves its state, rather than end at once.
trap 'echo "the time is up: waiting for the last checkpoint"' TERM

status=0
srun --unbuffered "${PYTHON:-python3}" "$code/train.py" --data "$SLURM_TMPDIR/digits" --output "$run" \
  --rate "${rate:-0.05}" --epochs "${EPOCHS:-200}" --seconds-per-epoch "${SECONDS_PER_EPOCH:-0.6}" || status=$?

if [ "$status" = 0 ]; then
  cp "$run"/{result.json,epochs.log,checkpoint.npz} "$PROJECT/digits/results/"
  echo "results are in $PROJECT/digits/results"
fi
exit "$status"
