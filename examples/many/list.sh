#!/bin/bash
# A list of commands, one a line, dealt out among the tasks of a job on several nodes, whoever is free next:
#   sbatch list.sh commands.txt
# Where the job ends early, the next one with the same list does what is left.
#SBATCH --account=def-someprof
#SBATCH --ntasks=4
#SBATCH --mem-per-cpu=200M
#SBATCH --time=00:10:00
#SBATCH --output=%x-%j.out
set -euo pipefail
export LIST=$1 DONE=$1.done
mkdir -p "$DONE"
rm -rf "$DONE"/*.taken

srun --kill-on-bad-exit=0 bash -c '
  failed=0
  number=0
  while IFS= read -r command <&3; do
    number=$((number + 1))
    [ -n "$command" ] && [ ! -e "$DONE/$number" ] || continue
    mkdir "$DONE/$number.taken" 2>/dev/null || continue  # one task can make it, and that one runs the command
    if bash -c "$command"; then touch "$DONE/$number"; else echo "line $number: exit code $?: $command" >&2; failed=1; fi
  done 3< "$LIST"
  exit $failed'
