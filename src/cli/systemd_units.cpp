#include "cli/systemd_units.h"

#include <cstdio>
#include <string>

#include "cli/complain.h"
#include "config/configuration.h"
#include "node/discovery.h"
#include "node/launcher.h"
#include "os/files.h"
#include "os/minke_home.h"
#include "os/this_program.h"

namespace minke::cli {

namespace {

// The launcher and the jobs have a unit of their own: the daemon can be restarted and upgraded while jobs
// run. Delegate=yes: the launcher makes control groups for the jobs.
//
// Jobs inherit the restrictions of a unit. So this one keeps everything that a user's programs may need,
// also setuid programs: no NoNewPrivileges, no filter of system calls, no private view of the files
// (logins must see what the launcher mounts for jobs, too). It drops only the rights to change the
// machine as a whole.
constexpr char kLauncherUnit[] = R"(# /etc/systemd/system/minke-launcher.service
[Unit]
Description=Minke's launcher and the jobs that run

[Service]
ExecStartPre={program} up --shared --prepare
ExecStart={program} launcher --home {home}
Delegate=yes
OOMPolicy=continue
TasksMax=infinity
LimitNOFILE=1048576
LimitMEMLOCK=infinity
Restart=on-failure
RestartPreventExitStatus={launcher_exists}
UMask=0077
KeyringMode=private
CapabilityBoundingSet=~CAP_SYS_BOOT CAP_SYS_TIME CAP_WAKE_ALARM CAP_BLOCK_SUSPEND CAP_SYS_PACCT CAP_SYS_TTY_CONFIG CAP_LINUX_IMMUTABLE CAP_LEASE CAP_MAC_ADMIN CAP_MAC_OVERRIDE CAP_AUDIT_READ
)";

// Helpers that act for users or touch their files: prologs, triggers, mail, the keeper of storage, the cache
// of data, /metrics. Those that read what strangers send give up root themselves (os/confine_self.h). The
// others run programs of the administrator and of users, which may need anything, as jobs do.
constexpr char kHelpersUnit[] = R"(# /etc/systemd/system/minke-helpers.service
[Unit]
Description=What Minke's daemon starts
PartOf=minke.service
After=minke-launcher.service network.target remote-fs.target nss-user-lookup.target

[Service]
Type=notify
ExecStartPre=-systemd-sysusers --inline "u minke-helper - \"Minke's helpers\""
ExecStart={program} helper-starter --home {home}
OOMPolicy=continue
TasksMax=4096
LimitNOFILE=1048576
Restart=on-failure
UMask=0077
KeyringMode=private
CapabilityBoundingSet=~CAP_SYS_BOOT CAP_SYS_TIME CAP_WAKE_ALARM CAP_BLOCK_SUSPEND CAP_SYS_PACCT CAP_SYS_TTY_CONFIG CAP_LINUX_IMMUTABLE CAP_LEASE CAP_MAC_ADMIN CAP_MAC_OVERRIDE CAP_AUDIT_READ
)";

// The daemon waits for systemd's launcher: one of its own would belong to this unit, and end with it. The
// daemon itself only answers, decides and keeps records: it needs its files and two sockets. The remaining
// rights let it give spooled scripts to their users (CHOWN, DAC_OVERRIDE, FOWNER), start children that
// become users, and end them (SETUID, SETGID, KILL), and look at processes that /proc hides (SYS_PTRACE).
// It has the devices, as one of its children asks the GPUs' driver. Users that come from the network by
// NIS need a drop-in (docs/security.md). A unit must not contain comments: a line that begins with "# "
// names the next file.
constexpr char kDaemonUnit[] = R"(# /etc/systemd/system/minke.service
[Unit]
Description=Minke, a research cluster on this machine
Wants=minke-launcher.service
Requires=minke-helpers.service
After=minke-launcher.service minke-helpers.service network.target remote-fs.target nss-user-lookup.target

[Service]
ExecStart={program} daemon --home {home} --await-launcher --ask-helper-starter
RuntimeDirectory=minke
RuntimeDirectoryMode=0755
LimitNOFILE=1048576
Restart=on-failure
OOMPolicy=continue
UMask=0077
KeyringMode=private
NoNewPrivileges=yes
CapabilityBoundingSet=CAP_CHOWN CAP_DAC_OVERRIDE CAP_FOWNER CAP_SETUID CAP_SETGID CAP_KILL CAP_SYS_PTRACE
ProtectSystem=strict
ReadWritePaths={home}{tmp_root}
ProtectHome={protect_home}
PrivateTmp={private_tmp}
PrivateMounts=yes
PrivateNetwork=yes
IPAddressDeny=any
RestrictAddressFamilies=AF_UNIX
ProtectProc=invisible
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectControlGroups=yes
ProtectHostname=yes
LockPersonality=yes
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallErrorNumber=EPERM
SystemCallFilter=@system-service
SystemCallFilter=~@mount @swap @reboot @module @clock @cpu-emulation @debug @obsolete @raw-io

[Install]
WantedBy=multi-user.target
)";

void replace_all(std::string& text, const std::string& name, const std::string& value) {
  for (size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += value.size())
    text.replace(at, name.size(), value);
}

// Returns nothing if it is in the home, or cannot be known.
std::string tmp_root_elsewhere() {
  constexpr size_t kMostBytes = size_t{4} << 20;
  const std::string path = os::configuration_path(os::kSharedHome);
  const auto text = path.empty() ? Result<std::string>(failure("none")) : os::read_file(path, kMostBytes);
  if (!text) return "";
  const auto config = config::parse_configuration(*text, path, node::discover_machine());
  return config ? config->tmp_root : "";
}

bool is_below(const std::string& path, const std::string& directory) {
  return (path + "/").starts_with(directory + "/");
}

}  // namespace

int print_unit(std::string text) {
  const auto self = os::this_program();
  if (!self) return complain(self.error());
  replace_all(text, "{program}", *self);
  std::fputs(text.c_str(), stdout);
  return 0;
}

int print_systemd_units() {
  const std::string tmp_root = tmp_root_elsewhere();
  const bool in_tmp = is_below(tmp_root, "/tmp") || is_below(tmp_root, "/var/tmp");
  const bool in_homes = is_below(tmp_root, "/home") || is_below(tmp_root, "/root");
  std::string text = std::string(kLauncherUnit) + "\n" + kHelpersUnit + "\n" + kDaemonUnit;
  replace_all(text, "{home}", os::kSharedHome);
  replace_all(text, "{launcher_exists}", std::to_string(node::kLauncherExists));
  replace_all(text, "{tmp_root}", tmp_root.empty() ? "" : " " + tmp_root);
  replace_all(text, "{protect_home}", in_homes ? "read-only" : "yes");
  replace_all(text, "{private_tmp}", in_tmp ? "no" : "yes");
  return print_unit(std::move(text));
}

}  // namespace minke::cli
