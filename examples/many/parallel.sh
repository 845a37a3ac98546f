#!/bin/bash
# Many short commands in one job, with GNU Parallel: sbatch parallel.sh commands.txt
# Submitted again after it ran out of time, it goes on with the commands that are not done.
#SBATCH --account=def-someprof
#SBATCH --cpus-per-task=2
#SBATCH --mem=500M
#SBATCH --time=00:10:00
#SBATCH --output=%x-%j.out
set -euo pipefail
if type module >/dev/null 2>&1; then module load parallel 2>/dev/null || true; fi  # some clusters have it anyway

# --resume-failed: those that failed again, too. The log has one line for each command that has ended.
parallel --jobs "$SLURM_CPUS_PER_TASK" --joblog "$1.log" --resume-failed < "$1"
