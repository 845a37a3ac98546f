#include "cli/portal.h"

#include "cli/complain.h"
#include "cli/systemd_units.h"
#include "engine/open.h"
#include "portal/pam_login.h"
#include "portal/portal.h"
#include "portal/worker_process.h"

namespace minke::cli {
namespace {

constexpr char kUnit[] = R"(# /etc/systemd/system/minke-portal.service
[Unit]
Description=Minke's portal: the cluster in a browser
After=network.target remote-fs.target nss-user-lookup.target minke.service

[Service]
ExecStartPre=-systemd-sysusers --inline "u minke-portal - \"Minke's portal\""
ExecStart={program} portal --shared
Restart=always
TasksMax=32768
LimitNOFILE=65536
UMask=0077
KeyringMode=private
ProtectSystem=full
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectControlGroups=yes
ProtectClock=yes
RestrictNamespaces=yes
RestrictRealtime=yes
LockPersonality=yes
SystemCallArchitectures=native
CapabilityBoundingSet=CAP_SETUID CAP_SETGID CAP_SETPCAP CAP_CHOWN CAP_DAC_OVERRIDE CAP_DAC_READ_SEARCH CAP_FOWNER CAP_KILL CAP_NET_BIND_SERVICE CAP_AUDIT_WRITE

[Install]
WantedBy=multi-user.target
)";

constexpr int kFirst = 3, kSecond = 4;  // the sockets that the door gives its children

}  // namespace

int portal_command(const PortalCommand& options) {
  if (options.is_worker) return portal::run_worker(kFirst);
  if (options.is_oidc_login) return portal::oidc_login(options.shared.oidc, kFirst, kSecond);
  if (!options.login_name.empty())
    return portal::pam_login(options.login_service, options.login_name, options.login_address, kFirst,
                             kSecond);
  if (options.prints_unit) return print_unit(kUnit);
  if (options.is_shared) {
    portal::SharedOptions shared = options.shared;
    if (options.port >= 0) shared.port = static_cast<uint16_t>(options.port);
    const Status ran = portal::run_shared_portal(shared);
    return ran ? 0 : complain(ran.error());
  }
  // A cluster that is not there is said here, before anything listens.
  if (const auto cluster = engine::open(); !cluster) return complain(cluster.error());
  portal::PortalOptions wanted;
  if (options.port >= 0) wanted.port = static_cast<uint16_t>(options.port);
  wanted.open_browser = options.open;
  wanted.token_file = options.token_file;
  wanted.unused = std::chrono::minutes(options.unused_minutes);
  const Status ran = portal::run_portal(wanted);
  return ran ? 0 : complain(ran.error());
}

}  // namespace minke::cli
