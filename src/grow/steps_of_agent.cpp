// The steps that give every machine this program, and start minke agent there: it measures the jobs of its
// machine, and on the head it keeps the tiers of storage, which Minke's daemon did.
//
// A machine where the program does not run (another architecture, an older libc) is told of, and not
// measured: the cluster works without.
#include "grow/steps.h"
#include "text/shell_quote.h"

namespace minke::grow {
namespace {

using text::shell_quoted;

constexpr char kKept[] = "/var/lib/minke-grow/minke";  // the program that was there before

// It runs there, its port is open, and it is the program that is there now.
constexpr char kFunctions[] = R"sh(
runs_here() { "$program" --version >/dev/null 2>&1; }
agent_number() { if has_systemd; then systemctl show -p MainPID --value minke-agent; else cat /run/minke-agent.pid 2>/dev/null; fi; }
is_agent() { tr '\0' ' ' <"/proc/$1/cmdline" 2>/dev/null | grep -q ' agent '; }
is_current() { [ "$(stat -Lc %d:%i "/proc/$(agent_number)/exe")" = "$(stat -Lc %d:%i "$program")" ]; }
listens() { grep -qs ':1AAD 0*:0000 0A' /proc/net/tcp /proc/net/tcp6; }
measures() { is_agent "$(agent_number)" && is_current && listens; }
end_agent() {
  number=$(cat /run/minke-agent.pid 2>/dev/null); n=0
  [ -n "$number" ] && is_agent "$number" || return 0
  kill "$number"
  while is_agent "$number" && [ $n -lt 100 ]; do n=$((n + 1)); sleep 0.1; done
}
)sh";

}  // namespace

Step program_step(const Machine& machine, const std::string& program) {
  return {.id = "program " + machine.name,
          .host = machine.host,
          .what = "this program, as " + std::string(kProgramThere),
          .why = "minke agent measures jobs there, and jobs call minke stage",
          .checked = "it is the head's",
          .undone = "what was there before is put back",
          .capture = std::string("program=") + kProgramThere + "; kept=" + kKept + R"sh(
[ ! -e "$program" ] || { mkdir -p -m 0700 "${kept%/*}" && cp -p "$program" "$kept.new" && mv -f "$kept.new" "$kept" && echo there; })sh",
          .script = std::string("program=") + kProgramThere + R"sh(
said=$("$program" --version 2>&1) || echo "note: the head's program does not run there, so that jobs there are not measured: $(printf '%s' "$said" | tail -n 1)")sh",
          .check = std::string("program=") + kProgramThere + R"sh(
[ "$(sha256sum <"$program" | cut -c 1-64)" = "$sum" ] || die "$program is not the head's program")sh",
          .undo = std::string("program=") + kProgramThere + "; kept=" + kKept + R"sh(
case $before in
  there*) [ ! -e "$kept" ] || mv -f "$kept" "$program" || exit 1 ;;
  *) rm -f "$program" "$program.minke-grow" ;;
esac
rm -rf "${kept%/*}")sh",
          .send = program,
          .inputs = {{"sum", "sha256sum <" + shell_quoted(program) + " | cut -c 1-64"}},
          .again = true,
          .seconds = 600};
}

Step agent_step(const Machine& machine, const std::string& program) {
  // The head's keeps what all of them have measured.
  const std::string prelude = "program=" + shell_quoted(machine.is_head() ? program : kProgramThere) +
                              "; more=" + (machine.is_head() ? "' --collect'" : "") + kFunctions;
  return {
      .id = "agent " + machine.name,
      .host = machine.host,
      .what = machine.is_head() ? "start minke agent, which measures jobs, and keeps the tiers of storage"
                                : "start minke agent, which measures the jobs there",
      .why = "minke top, seff and right-sizing know what jobs use on each machine",
      .checked = "it listens",
      .undone = "it is ended, and its unit is as before",
      .capture = "save /etc/systemd/system/minke-agent.service; ! has_systemd || service_state minke-agent",
      .script = prelude + R"sh(
runs_here || exit 0
if has_systemd; then
  unit=$(MINKE_HOME="$home" "$program" agent --print-unit | sed "s|^ExecStart=.*|Environment=MINKE_HOME=$home MINKE_CLUSTER=slurm\n&$more|" | base64 -w0) || exit 1
  printf %s "$unit" | put /etc/systemd/system/minke-agent.service 0644 root:root && systemctl daemon-reload && start minke-agent
else
  end_agent
  MINKE_HOME="$home" MINKE_CLUSTER=slurm setsid "$program" agent $more </dev/null >>/var/log/minke-agent.log 2>&1 &
  echo $! >/run/minke-agent.pid
fi)sh",
      .check = prelude + R"sh(
! runs_here || until_true 10 measures ||
  die "minke agent does not listen: $(if has_systemd; then journalctl -q -n 1 -o cat -u minke-agent; else tail -n 1 /var/log/minke-agent.log; fi 2>/dev/null)")sh",
      .undo = prelude + R"sh(
if has_systemd; then halt minke-agent minke-no-process; systemctl disable -q minke-agent 2>/dev/null; restore; systemctl daemon-reload; put_back 2>/dev/null || :
else end_agent; rm -f /run/minke-agent.pid /var/log/minke-agent.log
fi
rm -rf /var/lib/minke-agent)sh",
      .again = true};
}

std::vector<Step> minke_steps(const Machine& machine, const Machine& head, const std::string& program) {
  if (machine.architecture != head.architecture) return {};
  if (machine.is_head()) return {agent_step(machine, program)};
  return {program_step(machine, program), agent_step(machine, program)};
}

}  // namespace minke::grow
