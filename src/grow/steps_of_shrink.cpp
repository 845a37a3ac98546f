// The steps from many machines back to one: Slurm is closed and empties, and what it knows is kept in files.
// Then the plan is undone, and Minke takes the files in.
#include "grow/steps.h"
#include "text/shell_quote.h"

namespace minke::grow {
namespace {

Step shrink_step(const std::string& name, const std::string& what, const std::string& why) {
  return {.id = "shrink: " + name,
          .what = what,
          .why = why,
          .undone = "nothing is to be undone: scontrol update PartitionName=NAME State=UP opens Slurm again",
          .seconds = 0};
}

}  // namespace

std::vector<Step> shrink_steps(const std::string& cluster) {
  Step close = shrink_step("close", "close Slurm's partitions", "what waits is to wait in Minke");
  close.checked = "each is INACTIVE";
  close.script = R"sh(
for partition in $(scontrol -o show partition | sed -n 's/^PartitionName=\([^ ]*\) .*/\1/p'); do
  scontrol update PartitionName="$partition" State=INACTIVE || exit 1
done)sh";
  close.check = "! scontrol -o show partition | grep -qv ' State=INACTIVE '";
  Step drain =
      shrink_step("drain", "wait until running jobs have ended", "a running job cannot change its engine");
  drain.checked = "nothing runs";
  drain.script = R"sh(
while [ -n "$(squeue -h -a -t running,completing,suspended,configuring,stopped,signaling,stage_out -o %i)" ]; do sleep 2; done)sh";
  drain.check = "[ -z \"$(squeue -h -a -t running,suspended,completing -o %i)\" ]";
  Step keep = shrink_step("keep", "write accounts, the record and the scripts of waiting jobs into files",
                          "Minke takes them in");
  keep.checked = "the files are whole";
  keep.script = "cluster=" + text::shell_quoted(cluster) + R"sh(
to="$home/grow/back"; rm -rf "$to"; mkdir -p -m 0700 "$to" || exit 1
sacctmgr dump "$cluster" file="$to/accounts.cfg" >/dev/null || die "sacctmgr cannot write the accounts"
sed -i "/^User - 'removed-people'/d" "$to/accounts.cfg"
sacct -a -D -P --delimiter="$(printf '\037')" --noconvert -S 1970-01-02 -E now --format=ALL >"$to/record" || die "slurmdbd does not answer"
first=$(sed -n 's/^FirstJobId=//p' /etc/slurm/slurm.conf)
squeue -h -a -t PD -S i -o %F | sort -nu | while read -r id; do
  [ "$id" -ge "${first:-1}" ] || continue
  scontrol -o show job "$id" | head -n 1 >>"$to/jobs"
  scontrol write batch_script "$id" "$to/$id.sh" >/dev/null 2>&1 || echo "job $id has no script: it cannot be submitted again" >&2
done
sync; : >"$to/ready")sh";
  keep.check = "[ -e \"$home/grow/back/ready\" ] && [ -s \"$home/grow/back/accounts.cfg\" ]";
  return {close, drain, keep};
}

std::string take_back_script(const std::string& program) {
  return "program=" + text::shell_quoted(program) + R"sh(
minke() { MINKE_HOME="$home" MINKE_CLUSTER=embedded "$program" "$@"; }
from="$home/grow/back"
[ -e "$from/ready" ] || die "there is nothing to take back"
# Running jobs go on under the launcher.
if has_systemd && systemctl is-active -q minke.service; then service=systemd; systemctl stop minke.service
else service=; minke status >/dev/null 2>&1; [ $? = 3 ] || minke down --keep-jobs >/dev/null || exit 1; fi
minke accounting import "$from/record"; imported=$?
if [ "$service" = systemd ]; then systemctl start minke.service; else minke up >/dev/null; fi || exit 1
until_true 30 minke status || die "Minke's daemon does not start"
[ $imported = 0 ] || echo "a part of the record could not be taken in: $from/record"
minke sacctmgr -i load file="$from/accounts.cfg" >/dev/null 2>"$from/accounts.errors" ||
  echo "accounts: $(tail -n 1 "$from/accounts.errors")"
[ ! -e "$from/jobs" ] || while read -r line; do
  field() { printf '%s\n' "$line" | tr ' ' '\n' | sed -n "s|^$1=||p" | head -n 1; }
  id=$(field JobId); user=$(field UserId); user=${user%%(*}
  [ -e "$from/$id.sh" ] && [ ! -e "$from/$id.submitted" ] || continue
  set -- --chdir="$(field WorkDir)" --account="$(field Account)" --partition="$(field Partition)" --job-name="$(field JobName)" \
    --time="$(field TimeLimit)" --ntasks="$(field NumTasks)" --cpus-per-task="$(field CPUs/Task)" \
    --output="$(field StdOut)" --error="$(field StdErr)"
  [ "$(field Priority)" != 0 ] || set -- "$@" --hold
  script=$(mktemp) && cat "$from/$id.sh" >"$script" && chmod 500 "$script" && chown "$user" "$script"
  if number=$(runuser -u "$user" -- env MINKE_HOME="$home" MINKE_CLUSTER=embedded "$program" sbatch --parsable "$@" "$script" 2>&1); then
    : >"$from/$id.submitted"; echo "job $id of $user is job $number now"
  else echo "job $id of $user could not be submitted: $(printf '%s' "$number" | tail -n 1)"; fi
  rm -f "$script"
done <"$from/jobs"
mv "$from" "$home/grow/back.$(date +%Y%m%d%H%M%S)")sh";
}

}  // namespace minke::grow
