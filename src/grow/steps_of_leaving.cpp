// The steps of a change that what runs does not have to wait for (--leave): it ends under Minke, whose daemon
// stays for it, closed; the head is drained in Slurm until then. A process of ours waits, and does the later
// steps: the record and the use of those jobs join Slurm's, Minke stops, and the head takes jobs.
#include <fmt/format.h>

#include "grow/steps.h"
#include "text/base64.h"
#include "text/shell_quote.h"

namespace minke::grow {
namespace {

using text::shell_quoted;

constexpr char kReason[] = "minke grow: jobs from before run here";

std::string unit(const Wishes& wishes) {
  return fmt::format(
      "{}: waits for the jobs that run under Minke, and ends the change to Slurm.\n"
      "[Unit]\nDescription=minke grow, until what runs under Minke has ended\n"
      "After=minke.service slurmctld.service slurmdbd.service\n\n"
      "[Service]\nEnvironment=MINKE_HOME={}\nExecStart={} grow settle\nRestart=on-failure\nRestartSec=30\n\n"
      "[Install]\nWantedBy=multi-user.target\n",
      kMark, wishes.home, wishes.program);
}

}  // namespace

Step keep_head_step(const Machine& head) {
  const std::string node = shell_quoted(head.name);
  return {.id = "keep " + head.name,
          .what = "drain " + head.name + " in Slurm",
          .why = "its processors and GPUs are Minke's until what runs there has ended",
          .checked = "its state",
          .undone = "with slurmctld's state",
          .script = "scontrol update NodeName=" + node + " State=DRAIN Reason=" + shell_quoted(kReason),
          .check = "sinfo -h -N -o %T -n " + node + " | grep -q '^drain'"};
}

Step settler_step(const Wishes& wishes) {
  const std::string unit_file = text::base64(unit(wishes));
  return {.id = "settler",
          .what = "start minke grow settle, which waits for the jobs that run under Minke",
          .why = "the head joins by itself when they have ended",
          .checked = "it runs, or has done its work",
          .undone = "it is ended",
          .script = "unit=" + unit_file + "\nhome=" + shell_quoted(wishes.home) +
                    "\nprogram=" + shell_quoted(wishes.program) + R"sh(
if has_systemd; then
  printf %s "$unit" | put /etc/systemd/system/minke-grow.service 0644 root:root && systemctl daemon-reload &&
    systemctl enable -q minke-grow.service && systemctl restart minke-grow.service
else
  MINKE_HOME="$home" setsid "$program" grow settle </dev/null >>"$home/grow/settle.log" 2>&1 &
  echo $! >"$home/grow/settle.pid"
fi)sh",
          .check = R"sh(
settles() { [ -s "$home/grow/settle.pid" ] && tr '\0' ' ' <"/proc/$(cat "$home/grow/settle.pid")/cmdline" | grep -q ' grow settle'; }
[ -e "$home/grow/settled" ] || settles 2>/dev/null || { has_systemd && systemctl is-active -q minke-grow.service; })sh",
          .undo = R"sh(
if [ -e /etc/systemd/system/minke-grow.service ]; then
  systemctl disable -q --now minke-grow.service; rm -f /etc/systemd/system/minke-grow.service; systemctl daemon-reload
fi
settler=$(cat "$home/grow/settle.pid" 2>/dev/null)
[ -z "$settler" ] || ! tr '\0' ' ' <"/proc/$settler/cmdline" 2>/dev/null | grep -q ' grow settle' || kill "$settler"
rm -f "$home/grow/settle.pid" "$home/grow/settle.log" "$home/grow/settled")sh",
          .again = true};
}

std::vector<Step> later_steps(const Wishes& wishes, const Machine& head, bool head_computes) {
  Step left{.id = "left",
            .what = "the record and the use of the jobs that have ended under Minke meanwhile",
            .why = "sacct and fair share know of them, too",
            .checked = "nothing runs under Minke; by counting",
            .undone = "with the data base",
            .action = "left",
            .undo = "rm -rf \"$home/grow/left\"",
            .seconds = 0};
  Step stop = stop_step(wishes);
  const std::string node = shell_quoted(head.name);
  Step open{
      .id = "open " + head.name,
      .what = head_computes ? "jobs of Slurm's start on " + head.name : "the change has ended",
      .why = "nothing of Minke's runs there any more",
      .checked = "its state",
      .undone = "with slurmctld's state",
      .script = std::string(head_computes ? "sinfo -h -N -o %E -n " + node + " | grep -q '^minke grow' && " +
                                                "scontrol update NodeName=" + node + " State=RESUME\n"
                                          : "") +
                R"sh(: >"$home/grow/settled"
if [ -e /etc/systemd/system/minke-grow.service ]; then
  systemctl disable -q minke-grow.service; rm -f /etc/systemd/system/minke-grow.service; systemctl daemon-reload
fi
:)sh",
      .check = "[ -e \"$home/grow/settled\" ]"};
  std::vector<Step> steps = {std::move(left), std::move(stop), std::move(open)};
  for (Step& step : steps) step.later = true;
  return steps;
}

}  // namespace minke::grow
