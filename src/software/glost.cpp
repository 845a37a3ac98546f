#include "software/glost.h"

namespace minke::software {

namespace {

// The reports are GLOST's, which scripts read.
constexpr char kScript[] = R"sh(#!/bin/bash
# Runs the commands of a list, a line each, on whichever task is free. Made by minke software scan.
case "${1:-}" in
  -h) echo 'usage: srun glost_launch LIST, or mpirun glost_launch LIST'; exit 0 ;;
  -v) echo 'glost_launch of Minke'; exit 0 ;;
  '' | -*) echo 'usage: srun glost_launch LIST; options other than -h and -v are not done here' >&2; exit 2 ;;
esac
[ -r "$1" ] && [ ! -d "$1" ] || { echo "glost_launch: $1: it cannot be read" >&2; exit 1; }
[ -d "${SLURM_TMPDIR:-}" ] || { echo 'glost_launch: it runs in a job' >&2; exit 1; }
rank=${PMIX_RANK:-${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-${SLURM_PROCID:-0}}}}
# All tasks of one start have this in common, and no others.
step=${SLURM_STEP_ID-}
step=${step#-5}  # which a batch script has
taken=$SLURM_TMPDIR/.glost.${PMIX_NAMESPACE:-${step:-p$PPID}}
stop=
trap 'stop=1; [ "$rank" != 0 ] || echo "#signal received: no new task will be submitted" >&2' USR1
mapfile -t lines <"$1"
while [ -z "$stop" ]; do
  exec {lock}>>"$taken"
  flock "$lock"
  number=$(stat -c %s "$taken")  # a byte for each line that somebody has taken
  printf . >&"$lock"
  exec {lock}>&-
  [ "$number" -lt ${#lines[@]} ] || break
  command=${lines[number]}
  [ -n "${command//[[:space:]]/}" ] || continue
  begin=${EPOCHREALTIME/[.,]/}
  bash -c "$command"
  status=$?
  time=$((${EPOCHREALTIME/[.,]/} - begin))
  end="with status	$status"
  [ $status -le 128 ] || end="killed by signal	$((status - 128))"
  printf '#executed by process\t%s in %d.%02ds\t%s : %s\n' "$rank" $((time / 1000000)) $((time / 10000 % 100)) "$end" \
    "$command" >&2
done
exit 0
)sh";

}  // namespace

Found glost() {
  Found one;
  one.name = "glost";
  one.version = "0.3.1";
  one.description = "glost_launch, Minke's own: the commands of a list on whichever task of srun is free";
  one.property = "tools";
  one.links["glost_launch"] = kScript;
  return one;
}

}  // namespace minke::software
