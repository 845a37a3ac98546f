#!/bin/bash
# Many short commands on several nodes, with a GNU Parallel on each: sbatch --nodes=2 parallel_nodes.sh commands.txt
# Each has its share of the lines. Submitted again with as many nodes, it goes on with the commands that are not done.
#SBATCH --account=def-someprof
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=2
#SBATCH --mem-per-cpu=250M
#SBATCH --time=00:10:00
#SBATCH --output=%x-%j.out
set -euo pipefail
if type module >/dev/null 2>&1; then module load parallel 2>/dev/null || true; fi  # some clusters have it anyway
export LIST=$1

srun --kill-on-bad-exit=0 --cpus-per-task="$SLURM_CPUS_PER_TASK" bash -c '
  awk -v tasks="$SLURM_NTASKS" -v task="$SLURM_PROCID" "NR % tasks == task" "$LIST" |
    parallel --jobs "$SLURM_CPUS_PER_TASK" --joblog "$LIST.$SLURM_PROCID.of.$SLURM_NTASKS.log" --resume-failed'
