// What all scripts of a plan share: to save and put back files, and to speak with the service manager.
#include "grow/plan.h"

namespace minke::grow {

std::string_view script_prelude() {
  static constexpr std::string_view kPrelude = R"sh(
LC_ALL=C; PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin; DEBIAN_FRONTEND=noninteractive
export LC_ALL PATH DEBIAN_FRONTEND
umask 022
tab=$(printf '\t')
die() { echo "$*" >&2; exit 1; }
# put FILE MODE OWNER: its content comes as base64; whoever reads sees the old file or the new one.
put() {
  mkdir -p "${1%/*}" && (umask 077 && base64 -d >"$1.minke-grow") && chmod "$2" "$1.minke-grow" && chown "$3" "$1.minke-grow" &&
    sync "$1.minke-grow" && mv -f "$1.minke-grow" "$1"
}
# save FILE...: prints them, for restore.
save() {
  for file; do
    if [ -e "$file" ]; then
      printf 'file\t%s\t%s\t' "$file" "$(stat -c '%a	%u:%g' "$file")"; base64 -w0 "$file"; echo
    else printf 'none\t%s\n' "$file"; fi
  done
}
restore() {
  printf '%s\n' "$before" | while IFS="$tab" read -r kind file mode owner content; do
    case $kind in
      none) rm -f -- "$file" ;;
      file) printf %s "$content" | put "$file" "$mode" "$owner" || exit 1 ;;
    esac
  done
}
# numbers NAME: of the processes that run and have not ended. pgrep is not on every host.
numbers() {
  for comm in /proc/[0-9]*/comm; do
    read -r its_name 2>/dev/null <"$comm" && [ "$its_name" = "$1" ] && ! grep -q '^State:.Z' "${comm%comm}status" 2>/dev/null || continue
    its_number=${comm#/proc/}
    echo "${its_number%/comm}"
  done
}
process() { [ -n "$(numbers "$1")" ]; }
has_systemd() { [ -d /run/systemd/system ]; }
runs() { if has_systemd; then systemctl is-active -q "$1"; else process "${2:-$1}"; fi; }
start() {
  if has_systemd; then systemctl enable -q "$1" && systemctl restart "$1"
  else service "$1" stop >/dev/null 2>&1; gone "${2:-$1}"; service "$1" start; fi
}
# gone NAME: waits for its end. One that takes longer than 90 s is killed, as systemd does it.
gone() {
  n=0
  while process "$1" && [ $n -lt 950 ]; do
    [ $n -ne 900 ] || kill -KILL $(numbers "$1")
    n=$((n + 1))
    sleep 0.1
  done
}
halt() {
  if has_systemd; then systemctl stop "$1" 2>/dev/null; else service "$1" stop >/dev/null 2>&1; gone "${2:-$1}"; fi
  ! process "${2:-$1}" || die "$1 does not end"
}
# Where systemd is, slurmd keeps a process in the control group of its jobs, which outlives it.
end_scope() { ! has_systemd || process slurmd || systemctl stop '*slurmstepd.scope' 2>/dev/null || :; }
# service_state NAME PROCESS: prints it, for put_back.
service_state() {
  if has_systemd; then enabled=$(systemctl is-enabled "$1" 2>/dev/null); else enabled=; fi
  printf 'service\t%s\t%s\t%s\t%s\n' "$1" "${2:-$1}" "$enabled" "$(runs "$1" "${2:-$1}" && echo runs)"
}
put_back() {
  printf '%s\n' "$before" | while IFS="$tab" read -r kind name process rest; do
    [ "$kind" = service ] || continue
    case $rest in *runs) start "$name" "$process" || exit 1 ;; *) halt "$name" "$process" || exit 1 ;; esac
    has_systemd || continue
    case $rest in enabled*) ;; *) systemctl disable -q "$name" 2>/dev/null || : ;; esac
  done
}
# last_error NAME: the last words of a daemon of Slurm's about what is wrong.
last_error() { echo "$(grep -iE 'error|fatal' "/var/log/slurm/$1.log" 2>/dev/null | tail -n 1) (/var/log/slurm/$1.log)"; }
# last_lines NAME: its last lines, in one.
last_lines() { echo "$(tail -n 4 "/var/log/slurm/$1.log" 2>/dev/null | tr '\n' ';') (/var/log/slurm/$1.log)"; }
slurmctld_answers() { scontrol ping 2>/dev/null | grep -q 'is UP'; }
until_true() {  # SECONDS COMMAND...
  left=$(($1 * 5)); shift
  until "$@" >/dev/null 2>&1; do left=$((left - 1)); [ $left -gt 0 ] || return 1; sleep 0.2; done
}
)sh";
  return kPrelude;
}

}  // namespace minke::grow
