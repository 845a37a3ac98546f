#include "grow/offline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "text/base64.h"
#include "text/shell_quote.h"

namespace minke::grow {
namespace {

// The addresses of all machines that slurm.conf names, one a line: it is the same on all of them, and changes
// as machines come and go.
constexpr char kAddresses[] = R"sh(addresses() {
  grep -oE '^(NodeName|SlurmctldHost)=[^ (]*|NodeAddr=[^ ]*|\([^)]*\)$' /etc/slurm/slurm.conf | sed 's/^[A-Za-z]*=//; s/[()]//g' |
    grep -vix default | while read -r name; do
      for one in $(scontrol show hostnames "$name"); do getent ahosts "$one"; done
    done | awk '{ print $1 }' | grep -v '^127\.' | sort -u
}
)sh";

// The rules for all users who have such jobs here, each a directory of $held. In namespaces of users they may
// have other numbers, those of /etc/subuid.
constexpr char kRules[] = R"sh(held=/run/minke-offline
rules() {
  echo "add table inet minke_offline"
  echo "delete table inet minke_offline"
  numbers=
  for user in "$held"/*; do
    [ -d "$user" ] || continue
    user=${user##*/}
    numbers=$numbers,$user$(awk -F: -v number="$user" -v name="$(getent passwd "$user" | cut -d: -f1)" \
      '($1 == name || $1 == number) && $3 > 0 { printf ",%d-%d", $2, $2 + $3 - 1 }' /etc/subuid 2>/dev/null)
  done
  [ -n "$numbers" ] || return 0
  four=$(addresses | grep -v : | tr '\n' ,) six=$(addresses | grep : | tr '\n' ,)
  echo "add table inet minke_offline"
  echo "add chain inet minke_offline out { type filter hook output priority 0; }"
  echo 'add rule inet minke_offline out oifname "lo" accept'
  [ -z "$four" ] || echo "add rule inet minke_offline out ip daddr { ${four%,} } accept"
  [ -z "$six" ] || echo "add rule inet minke_offline out ip6 daddr { ${six%,} } accept"
  echo "add rule inet minke_offline out meta skuid { ${numbers#,} } reject"
}
)sh";

// How the proxy is begun and ended: by systemd, or as a process until the next reboot.
constexpr char kProxyFunctions[] = R"sh(
proxy_number() { if has_systemd; then systemctl show -p MainPID --value minke-proxy; else cat /run/minke-proxy.pid 2>/dev/null; fi; }
is_proxy() { tr '\0' ' ' <"/proc/$1/cmdline" 2>/dev/null | grep -q minke-proxy; }
serves() { is_proxy "$(proxy_number)" && grep -qs ":$(printf %04X "$port") 0*:0000 0A" /proc/net/tcp /proc/net/tcp6; }
end_proxy() {
  number=$(proxy_number); n=0
  [ -n "$number" ] && is_proxy "$number" || return 0
  kill "$number"
  while is_proxy "$number" && [ $n -lt 100 ]; do n=$((n + 1)); sleep 0.1; done
}
begin_proxy() {
  if has_systemd; then start minke-proxy; return; fi
  end_proxy
  setsid /etc/slurm/minke-proxy.sh </dev/null >>/var/log/minke-proxy.log 2>&1 &
  echo $! >/run/minke-proxy.pid
}
)sh";

std::string of_these(const std::vector<std::string>& partitions, const std::string& script) {
  return fmt::format("case {} in *,\"$SLURM_JOB_PARTITION\",*)\n{}  ;;\nesac\n",
                     text::shell_quoted(fmt::format(",{},", fmt::join(partitions, ","))), script);
}

// Regular expressions, one on each line.
std::string filter_of(const model::ProxySettings& proxy) {
  std::string text;
  for (const std::string& host : proxy.allowed()) {
    text += host.starts_with('.') ? "^(.*\\.)?" : "^";
    for (const char c : host.substr(host.starts_with('.') ? 1 : 0))
      text += c == '.' ? "\\." : std::string(1, c);
    text += "$\n";
  }
  return text;
}

std::string proxy_unit() {
  return fmt::format(
      "{}: the proxy of jobs without a network.\n"
      "[Unit]\nDescription=minke grow, the proxy of offline partitions\nAfter=network-online.target\n\n"
      "[Service]\nExecStart={}\nRestart=on-failure\nRestartSec=5\nProtectSystem=strict\nProtectHome=yes\n"
      "PrivateTmp=yes\nRuntimeDirectory=minke-proxy\n\n[Install]\nWantedBy=multi-user.target\n",
      kMark, kProxyScript);
}

}  // namespace

std::vector<std::string> offline_partitions(const Grown& grown) {
  std::vector<std::string> names;
  for (const model::PartitionRecord& partition : grown.partitions)
    if (partition.offline()) names.push_back(partition.name());
  return names;
}

bool has_proxy(const config::Configuration& config, const Grown& grown) {
  return !config.proxy.allowed().empty() && !offline_partitions(grown).empty();
}

std::string offline_prolog(const Grown& grown) {
  const std::vector<std::string> partitions = offline_partitions(grown);
  if (partitions.empty()) return {};
  return kAddresses + std::string(kRules) +
         of_these(
             partitions,
             R"sh(  # A partition without a network: who has a job of it here reaches the machines of slurm.conf, and no others.
  exec 9>/run/minke-offline.lock && flock 9 || exit 1
  mkdir -p "$held/$SLURM_JOB_UID" && : >"$held/$SLURM_JOB_UID/$SLURM_JOB_ID" && rules | nft -f - || exit 1
  exec 9>&-
)sh");
}

std::string offline_epilog(const Grown& grown) {
  const std::vector<std::string> partitions = offline_partitions(grown);
  if (partitions.empty()) return {};
  return kAddresses + std::string(kRules) +
         of_these(partitions, R"sh(  exec 9>/run/minke-offline.lock && flock 9
  rm -f "$held/$SLURM_JOB_UID/$SLURM_JOB_ID"
  rmdir "$held/$SLURM_JOB_UID" 2>/dev/null
  rules | nft -f -
  exec 9>&-
)sh");
}

std::string offline_task_prolog(const config::Configuration& config, const Grown& grown) {
  if (!has_proxy(config, grown)) return {};
  const Machine& head = grown.machines.front();
  return of_these(offline_partitions(grown),
                  fmt::format("  echo \"export MINKE_HTTP_PROXY=http://{}:{}\"\n",
                              head.address.empty() ? head.name : head.address, config.proxy.port()));
}

std::string proxy_script(const config::Configuration& config) {
  const model::ProxySettings& proxy = config.proxy;
  std::string settings = fmt::format(
      "User nobody\nGroup nogroup\nPort {}\nTimeout 600\nMaxClients 200\nLogLevel Warning\n"
      "DisableViaHeader Yes\nFilter \"/run/minke-proxy/hosts\"\nFilterExtended On\nFilterDefaultDeny Yes\n"
      "Allow 127.0.0.1\n",
      proxy.port());
  for (const uint32_t port : proxy.connect_ports()) settings += fmt::format("ConnectPort {}\n", port);
  if (!proxy.upstream().empty()) settings += "upstream http " + proxy.upstream() + "\n";
  return fmt::format(
             "#!/bin/sh\n{}: the proxy of jobs without a network. It serves the machines of slurm.conf.\n"
             "PATH=/usr/sbin:/usr/bin:/sbin:/bin\n",
             kMark) +
         kAddresses +
         fmt::format(
             "mkdir -p /run/minke-proxy || exit 1\ncat >/run/minke-proxy/hosts <<'END' || exit 1\n{}END\n"
             "{{\n  cat <<'END'\n{}END\n  addresses | sed 's/^/Allow /'\n}} >/run/minke-proxy/proxy.conf "
             "|| exit 1\nexec {} -d -c /run/minke-proxy/proxy.conf\n",
             filter_of(proxy), settings, text::shell_quoted(proxy.program()));
}

std::vector<std::string> offline_packages(const config::Configuration& config, const Grown& grown,
                                          bool is_head) {
  if (offline_partitions(grown).empty()) return {};
  if (is_head && has_proxy(config, grown) && config.proxy.program() == "/usr/bin/tinyproxy")
    return {"nftables", "tinyproxy-bin"};
  return {"nftables"};
}

Step offline_step(const Machine& machine) {
  return {.id = "offline " + machine.name,
          .host = machine.host,
          .what = "try whether nftables can tell a user's packets there",
          .why = "jobs of a partition without a network are held by it",
          .checked = "the kernel takes a rule about a user",
          .undone = "the rules are removed",
          .script = R"sh(
nft delete table inet minke_try 2>/dev/null
printf '%s\n' 'add table inet minke_try' 'add chain inet minke_try out { type filter hook output priority 0; }' \
  'add rule inet minke_try out meta skuid { 65534 } reject' | nft -f - ||
  die "the kernel cannot tell a user's packets (nf_tables): jobs of offline partitions would have a network; make them partitions like others, or give it another kernel"
nft delete table inet minke_try)sh",
          .check = "[ -x /usr/sbin/nft ]",
          .undo =
              "rm -rf /run/minke-offline /run/minke-offline.lock\n"
              "[ ! -x /usr/sbin/nft ] || nft delete table inet minke_offline 2>/dev/null || :"};
}

std::string restart_proxy_script(bool of_undo) {
  const std::string begin = std::string(kProxyFunctions) + "[ ! -x " + kProxyScript + " ] || begin_proxy";
  return of_undo ? "(" + begin + "\n) || :" : begin;
}

Step proxy_step(const Machine& head, uint32_t port) {
  const std::string prelude = "port=" + std::to_string(port) + kProxyFunctions;
  return {
      .id = "proxy " + head.name,
      .what =
          "start the proxy by which jobs of partitions without a network reach the hosts that are allowed",
      .why = "no other way leads out of them",
      .checked = "it listens",
      .undone = "it is ended, and its unit is as before",
      .capture = "save /etc/systemd/system/minke-proxy.service; ! has_systemd || service_state minke-proxy",
      .script = prelude + "unit=" + text::base64(proxy_unit()) + R"sh(
! has_systemd || { printf %s "$unit" | put /etc/systemd/system/minke-proxy.service 0644 root:root && systemctl daemon-reload; } || exit 1
begin_proxy)sh",
      .check = prelude + R"sh(
until_true 10 serves ||
  die "the proxy does not listen: $(if has_systemd; then journalctl -q -n 1 -o cat -u minke-proxy; else tail -n 1 /var/log/minke-proxy.log; fi 2>/dev/null)")sh",
      .undo = prelude + R"sh(
if has_systemd; then halt minke-proxy minke-no-process; systemctl disable -q minke-proxy 2>/dev/null; restore; systemctl daemon-reload; put_back 2>/dev/null || :
else end_proxy; rm -f /run/minke-proxy.pid /var/log/minke-proxy.log
fi
rm -rf /run/minke-proxy)sh",
      .again = true};
}

}  // namespace minke::grow
