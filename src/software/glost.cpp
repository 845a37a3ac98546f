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
[ -n "${SLURM_JOB_ID:-}" ] || { echo 'glost_launch: it runs in a job' >&2; exit 1; }
rank=${PMIX_RANK:-${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-${SLURM_PROCID:-0}}}}
nodes=${SLURM_JOB_NUM_NODES:-${SLURM_NNODES:-1}}
# All tasks of one start have this in common, and no others.
step=${SLURM_STEP_ID-}
step=${step#-5}  # which a batch script has
[ "$step" != 4294967291 ] || step=
start=${PMIX_NAMESPACE:-${step:-p$PPID}}
tasks=${OMPI_COMM_WORLD_SIZE:-${PMI_SIZE:-${step:+${SLURM_STEP_NUM_TASKS:-${SLURM_NTASKS:-1}}}}}
# On one node in its own directory; else in the working directory, which all nodes share.
place=${SLURM_TMPDIR:-/tmp}
[ "$nodes" -le 1 ] && [ -d "$place" ] && [ -w "$place" ] || place=$PWD
case $(findmnt -no OPTIONS -T "$place" 2>/dev/null) in
  *localflock* | *local_lock=all* | *local_lock=flock* | *nolock*)
    [ "$nodes" -le 1 ] || {
      echo "glost_launch: $place is mounted with locks that count on one node alone; start it in another directory" >&2
      exit 1
    } ;;
esac
taken=$place/.glost.$SLURM_JOB_ID.${SLURM_RESTART_COUNT:-0}.${start//[!A-Za-z0-9_.-]/_}
stop=
trap 'stop=1; [ "$rank" != 0 ] || echo "#signal received: no new task will be submitted" >&2' USR1
mapfile -t lines <"$1"
while [ -z "$stop" ]; do
  { exec {lock}>>"$taken" && flock "$lock"; } || { echo "glost_launch: $taken: no lock can be had" >&2; exit 1; }
  number=$(stat -c %s "$taken")  # a byte for each line that somebody has taken
  printf . >&"$lock" || { echo "glost_launch: $taken: it cannot be written" >&2; exit 1; }
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
# The last task to leave takes the files away.
exec {lock}>>"$taken.left" && flock "$lock" && printf . >&"$lock" &&
  [ "$(stat -c %s "$taken.left")" -lt "${tasks:-1}" ] || rm -f "$taken" "$taken.left"
exit 0
)sh";

// What a log of reports says of a list's commands. The options are GLOST's.
constexpr char kFilter[] = R"sh(#!/bin/bash
# The commands that glost_launch has reported, by how they ended; or those of a list that are left.
# Made by minke software scan.
usage() {
  echo 'usage: glost_filter.sh [-l|-H|-n|-s STATUS] [-A|-X] [-C] [-R LIST] LOG...
  -l  all commands that were executed (the default)
  -H  all, with those that failed highlighted
  -n  those whose status is not 0
  -s  those with this status, a regular expression
  -A  the whole report; -X  the command alone (the default)
  -C  in colour
  -R  of this list, the commands that are not among them: what is left to do'
}
select=. whole= colour= list=
while getopts ahlHns:AXCR: option; do
  case $option in
    h) usage; exit 0 ;;
    a | l) select=. ;;
    H) select=. colour=failed ;;
    n) select='[1-9]|signal' ;;
    s) select="^($OPTARG)\$" ;;
    A) whole=1 ;;
    X) whole= ;;
    C) colour=${colour:-all} ;;
    R) list=$OPTARG ;;
    *) usage >&2; exit 2 ;;
  esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || { usage; exit 0; }
[ -z "$list" ] || [ -z "$whole" ] || { echo 'glost_filter.sh: -R shows commands alone: without -A' >&2; exit 1; }
for file in "$@" ${list:+"$list"}; do
  [ -r "$file" ] || { echo "glost_filter.sh: $file: it cannot be read" >&2; exit 1; }
done
export select whole colour list
exec awk '
  BEGIN { select = ENVIRON["select"]; list = ENVIRON["list"]; colour = ENVIRON["colour"] }
  FILENAME == list && list != "" { if (!($0 in done)) print; next }
  !/^#executed by process/ { next }
  {
    at = index($0, " : ")
    head = substr($0, 1, at - 1); command = substr($0, at + 3)
    status = head
    if (sub(/^.*killed by signal[ \t]*/, "", status)) status = "signal " status
    else sub(/^.*status[ \t]*/, "", status)
    if (status !~ select) next
    done[command] = 1
    if (list != "") next
    text = ENVIRON["whole"] ? $0 : command
    if (colour == "all" || (colour == "failed" && status != "0")) text = "\033[31m" text "\033[0m"
    print text
  }' "$@" ${list:+"$list"}
)sh";

}  // namespace

Found glost() {
  Found one;
  one.name = "glost";
  one.version = "0.3.1";
  one.description = "glost_launch, Minke's own: the commands of a list on whichever task of srun is free";
  one.property = "tools";
  one.links["glost_launch"] = kScript;
  one.links["glost_filter.sh"] = kFilter;
  return one;
}

}  // namespace minke::software
