#!/bin/bash
# Two processes on two nodes, with torch.distributed: sbatch train_torch.sh. With GPUs: --gpus-per-node=a100:1
#SBATCH --account=def-someprof
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --mem-per-cpu=1500M
#SBATCH --time=00:10:00
#SBATCH --output=%x-%j.out
set -euo pipefail
if [ -z "${PYTHON:-}" ] && type module >/dev/null 2>&1; then
  module load python
  virtualenv --no-download "$SLURM_TMPDIR/env"
  source "$SLURM_TMPDIR/env/bin/activate"
  pip install --no-index torch
fi
# Where they meet: the first node, and a port that other jobs there do not take.
MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
getent hosts "$MASTER_ADDR" >/dev/null || MASTER_ADDR=127.0.0.1  # a virtual node: they are all on this machine
export MASTER_ADDR MASTER_PORT=$((20000 + SLURM_JOB_ID % 20000)) OMP_NUM_THREADS=1

srun "${PYTHON:-python}" "${CODE:-$SLURM_SUBMIT_DIR}/train_torch.py" --output torch.json
