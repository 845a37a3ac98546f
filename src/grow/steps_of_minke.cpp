// The steps about Minke's own daemon. This program does them itself, by the engine's interface.
#include <fmt/format.h>

#include "grow/steps.h"
#include "text/shell_quote.h"

namespace minke::grow {

namespace {

// minke's commands, of the old cluster whatever minke.toml says by now.
std::string minke(const Wishes& wishes) {
  return "minke() { MINKE_HOME=" + text::shell_quoted(wishes.home) + " MINKE_CLUSTER=embedded " +
         text::shell_quoted(wishes.program) + " \"$@\"; }\n";
}

}  // namespace

Step close_step(const Wishes& wishes) {
  const std::string partitions = R"sh(
partitions() { minke scontrol -o show partition | sed -n 's/^PartitionName=\([^ ]*\) .* State=\([A-Z]*\).*/\1 \2/p'; })sh";
  return {.id = "close",
          .what = "close Minke's partitions: no job is submitted, none starts",
          .why = "what waits is to wait in Slurm, and under no two engines at once",
          .checked = "each partition is INACTIVE",
          .undone =
              "jobs that Slurm has started are cancelled here, and do not run twice; each gets the state "
              "that it had",
          .capture = minke(wishes) + partitions + "\npartitions",
          .script = minke(wishes) + partitions + R"sh(
partitions | while read -r name state; do
  [ "$state" = INACTIVE ] || minke scontrol update PartitionName="$name" State=INACTIVE || exit 1
done)sh",
          .check = minke(wishes) + partitions + R"sh(
[ -z "$(partitions | grep -v ' INACTIVE$')" ] && [ -n "$(partitions)" ] || die "a partition is still open")sh",
          // While it is closed: what Slurm has started does not run here as well.
          .undo = minke(wishes) + "file=" + text::shell_quoted(wishes.home + "/grow/started") + R"sh(
if [ -s "$file" ]; then minke scancel --quiet $(cat "$file") || :; fi
printf '%s\n' "$before" | while read -r name state; do
  [ -z "$name" ] || minke scontrol update PartitionName="$name" State="$state" || exit 1
done)sh"};
}

Step drain_step() {
  return {.id = "drain",
          .what = "wait until running jobs have ended",
          .why = "a running job cannot change its engine",
          .checked = "nothing runs",
          .undone = "nothing is to be undone",
          .action = "drain"};
}

Step snapshot_step() {
  return {.id = "snapshot",
          .what = "keep a copy of accounts, usage, the record and waiting jobs",
          .why = "all of it is brought over from there, and compared with it",
          .checked = "the copy can be read",
          .undone = "the copy is removed",
          .action = "snapshot",
          .undo = "rm -rf \"$home/grow/snapshot\" \"$home/grow/first_job_id\""};
}

Step stop_step(const Wishes& wishes) {
  return {
      .id = "stop",
      .what = "stop Minke's daemon of " + wishes.home + "; its data base stays as it is",
      .why = "two engines would give out the same processors",
      .checked = "nobody answers at its socket",
      .undone = "it is started again",
      .capture =
          "if has_systemd && systemctl is-active -q minke.service; then echo systemd; else echo alone; fi",
      .script = minke(wishes) + R"sh(
if has_systemd && systemctl is-active -q minke.service; then
  systemctl disable -q --now minke.service minke-launcher.service minke-helpers.service || exit 1
fi
minke status >/dev/null 2>&1; [ $? = 3 ] || minke down)sh",
      .check =
          minke(wishes) + "minke status >/dev/null 2>&1; [ $? = 3 ] || die \"Minke's daemon still runs\"",
      .undo = minke(wishes) + R"sh(
case $before in systemd*) systemctl enable -q --now minke.service ;; *) minke up >/dev/null ;; esac || exit 1
until_true 30 minke status || die "Minke's daemon does not start")sh"};
}

Step waiting_step() {
  return {.id = "waiting",
          .what = "waiting jobs, with their order, holds, dependencies and numbers",
          .why = "nobody submits again",
          .checked = "each is in Slurm's queue",
          .undone =
              "Slurm is closed; what it has started of them, or users have cancelled there, is noted, so "
              "that it does not run again",
          .action = "waiting",
          .capture = "date +%FT%T; grep -x 'FirstJobId=[0-9]*' /etc/slurm/slurm.conf",
          .undo = R"sh(
since=$(printf '%s\n' "$before" | head -n 1); first=${before##*=}
until_true 10 slurmctld_answers || die "slurmctld does not answer: start it, so that what it has started is known"
for name in $(scontrol -o show partition | sed -n 's/^PartitionName=\([^ ]*\) .*/\1/p'); do
  scontrol update PartitionName="$name" State=INACTIVE || exit 1
done
running=$(squeue -h -a -t running,completing,suspended,configuring,stopped -o %i | tr '\n' ' ')
[ -z "$running" ] || die "jobs run in Slurm: $running: wait for their end, or scancel them; then undo again"
sacct -n -P -a -X -S "$since" -o JobID,State >"$home/grow/seen" || die "slurmdbd does not answer: what Slurm has started is not known"
new=$(awk -F'[|_]' -v first="$first" '$1 + 0 >= first + 0 { print $1 }' "$home/grow/seen" | sort -u | wc -l)
[ "$new" = 0 ] || [ "$discard" = yes ] ||
  die "$new jobs were submitted to Slurm since; Minke knows nothing of them: minke grow shrink keeps them, undo --discard does not"
# Those that were cancelled before they could have started are shown by their state alone.
sacct -n -P -a -X -S "$since" -E now -s CA -o JobID,State | sed 's/%[0-9]*\]/]/' >>"$home/grow/seen" || exit 1
awk -F'|' -v first="$first" '$1 + 0 < first + 0 && $2 !~ /^PENDING/ { print $1 }' "$home/grow/seen" | sort -u >"$home/grow/started.new" &&
  sync "$home/grow/started.new" && mv "$home/grow/started.new" "$home/grow/started")sh",
          .seconds = 0};
}

// [cluster] engine = "slurm" in minke.toml, whatever else is there.
Step choice_step(const std::string& configuration_path) {
  const std::string path = text::shell_quoted(configuration_path);
  return {.id = "choice",
          .what = "[cluster] engine = \"slurm\" in " + configuration_path,
          .why = "minke's commands speak with the new cluster; Slurm's own are on PATH",
          .checked = "the line is there",
          .undone = "the file is put back",
          .capture = "save " + path,
          .script = "file=" + path + R"sh(
[ -e "$file" ] || { echo | base64 | put "$file" 0644 root:root || exit 1; }
awk '
  /^[ \t]*\[/ { inside = ($0 ~ /^[ \t]*\[cluster\][ \t]*(#.*)?$/) }
  inside && /^[ \t]*engine[ \t]*=/ { next }
  { print }
  inside && /^[ \t]*\[cluster\]/ { print "engine = \"slurm\""; done = 1 }
  END { if (!done) print "\n[cluster]\nengine = \"slurm\"" }' "$file" | base64 -w0 |
  put "$file" "$(stat -c %a "$file")" "$(stat -c %u:%g "$file")")sh",
          .check = "grep -qx 'engine = \"slurm\"' " + path,
          .undo = "restore"};
}

Step carry_step(const std::string& name, const std::string& what, const std::string& why) {
  return {.id = name,
          .what = what,
          .why = why,
          .checked = "by counting and comparing",
          .undone = "with the data base",
          .action = name,
          .seconds = 0};
}

}  // namespace minke::grow
