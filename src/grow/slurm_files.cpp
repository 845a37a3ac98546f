// The files beside slurm.conf: prolog and epilog, slurmdbd.conf, cgroup.conf and the rest.
#include "grow/slurm_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "grow/offline.h"
#include "text/hostlist.h"
#include "text/shell_quote.h"

namespace minke::grow {
namespace {

using config::Configuration;

constexpr SlurmVersion kGroupsCanBeOff{23, 2};  // CgroupPlugin=disabled

std::string tmp_root(const Configuration& config) {
  const bool own = !config.tmp_root.empty() && config.tmp_root.front() == '/' &&
                   !config.tmp_root.starts_with(config.home + "/");
  return own ? config.tmp_root : "/var/lib/slurm/tmp";
}

// Runs programs and patterns of programs in their order; none after one that fails.
std::string site_programs(const std::vector<std::string>& programs) {
  std::string out;
  for (const std::string& program : programs)
    out += fmt::format("for program in {}; do\n  [ ! -x \"$program\" ] || \"$program\" || exit 1\ndone\n",
                       program);
  return out;
}

// A pattern of glob(7) as it stands in a script: nothing but the pattern's own signs means anything.
std::vector<std::string> safe_patterns(const std::vector<std::string>& patterns, Notes& notes) {
  std::vector<std::string> good;
  for (const std::string& pattern : patterns) {
    const bool plain = std::all_of(pattern.begin(), pattern.end(), [](unsigned char c) {
      return std::isalnum(c) != 0 ||
             std::string_view("/._-+*?[]@:,").find(static_cast<char>(c)) != std::string_view::npos;
    });
    if (plain) {
      good.push_back(pattern);
    } else {
      notes.push_back("the prolog or epilog " + pattern +
                      " has signs in its name that are not carried: call it from another");
    }
  }
  return good;
}

std::string prolog(const Configuration& config, const Grown& grown, Notes& notes) {
  return fmt::format(R"({}: before a job, on each of its nodes, as root: makes $SLURM_TMPDIR, and
# the user's cache of staged data beside it.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
root={}
case $SLURM_JOB_ID in ''|*[!0-9]*) exit 1 ;; esac
mkdir -p -m 0755 "$root" || exit 1
[ -d "$root/$SLURM_JOB_ID" ] || mkdir -m 0700 "$root/$SLURM_JOB_ID" || exit 1
chown -h "$SLURM_JOB_UID:${{SLURM_JOB_GID:-}}" "$root/$SLURM_JOB_ID" || exit 1
cache=$root/stage-cache-$SLURM_JOB_UID
if mkdir -m 0700 "$cache" 2>/dev/null; then chown -h "$SLURM_JOB_UID" "$cache"; fi
)",
                     kMark, text::shell_quoted(tmp_root(config))) +
         offline_prolog(grown) + site_programs(safe_patterns(config.prologs.prolog, notes)) + "exit 0\n";
}

std::string epilog(const Configuration& config, const Grown& grown, Notes& notes) {
  return fmt::format(
             "{}: after a job, on each of its nodes, as root: removes $SLURM_TMPDIR.\n"
             "PATH=/usr/sbin:/usr/bin:/sbin:/bin\nroot={}\n"
             "case $SLURM_JOB_ID in ''|*[!0-9]*) exit 1 ;; esac\n",
             kMark, text::shell_quoted(tmp_root(config))) +
         offline_epilog(grown) + site_programs(safe_patterns(config.prologs.epilog, notes)) +
         "rm -rf --one-file-system -- \"$root/$SLURM_JOB_ID\"\nexit 0\n";
}

std::string task_prolog(const Configuration& config, const Grown& grown) {
  std::string out = fmt::format(
      "{}: before each task, as the job's user; Slurm takes what it prints.\nroot={}\n"
      "[ ! -d \"$root/$SLURM_JOB_ID\" ] || echo \"export SLURM_TMPDIR=$root/$SLURM_JOB_ID\"\n",
      kMark, text::shell_quoted(tmp_root(config)));
  out += offline_task_prolog(config, grown);
  if (!config.prologs.task_prolog.empty()) {
    const std::string program = text::shell_quoted(config.prologs.task_prolog);
    out += fmt::format("[ ! -x {0} ] || {0}\n", program);
  }
  return out + "exit 0\n";
}

std::string cgroup_conf(const Configuration& config, const Grown& grown) {
  std::string out = fmt::format("{}: cgroup.conf. The same on all machines.\n", kMark);
  if (!grown.control_groups) {
    // 22.05 has no such word: there no plugin asks for control groups.
    return out + (grown.version() < kGroupsCanBeOff ? "CgroupAutomount=no\n" : "CgroupPlugin=disabled\n");
  }
  out += config.bind_cpus ? "ConstrainCores=yes\n" : "ConstrainCores=no\n";
  out +=
      config.constrain_memory ? "ConstrainRAMSpace=yes\nConstrainSwapSpace=yes\n" : "ConstrainRAMSpace=no\n";
  return out + "ConstrainDevices=yes\n";
}

std::string slurmdbd_conf(const Configuration& config, const Grown& grown) {
  const Machine& head = grown.machines.front();
  std::string out = fmt::format("{}: slurmdbd.conf. On the head alone; it has a password.\n", kMark);
  const auto set = [&](std::string_view name, std::string_view value) {
    out += fmt::format("{}={}\n", name, value);
  };
  set("AuthType", "auth/munge");
  set("AuthAltTypes", "auth/jwt");
  set("AuthAltParameters", std::string("jwt_key=") + kTokenKey);
  set("DbdHost", head.name);
  if (!head.address.empty()) set("DbdAddr", head.address);
  set("SlurmUser", "slurm");
  set("StorageType", "accounting_storage/mysql");
  set("StorageHost", "localhost");
  set("StorageUser", "slurm");
  set("StoragePass", grown.password);
  set("StorageLoc", "slurm_acct_db");
  set("LogFile", "/var/log/slurm/slurmdbd.log");
  set("PidFile", head.services == "systemd" ? "/run/slurmdbd/slurmdbd.pid" : "/run/slurmdbd.pid");
  if (config.private_jobs) set("PrivateData", "jobs");
  if (config.accounting.purge_jobs_after != 0)
    set("PurgeJobAfter",
        fmt::format("{}hours", std::max<int64_t>(1, config.accounting.purge_jobs_after / 3600)));
  return out;
}

std::string mail_script(const Configuration& config) {
  // Slurm calls MailProg as: MailProg -s SUBJECT ADDRESS, with the text on standard input.
  return fmt::format(
      "{}: gives Slurm's mail to the site's sendmail.\n"
      "printf 'To: %s\\nSubject: %s\\n\\n' \"$3\" \"$2\" | {} -t\n",
      kMark, text::shell_quoted(config.mail->settings.program()));
}

std::string shell(const std::string& text) {
  return "#!/bin/sh\n" + text;
}

void note_what_is_left(const Configuration& config, const Grown& grown, Notes& notes) {
  if (!config.prologs.prolog_slurmctld.empty() || !config.prologs.epilog_slurmctld.empty())
    notes.push_back(
        "prolog_slurmctld and epilog_slurmctld run as root in Minke and as slurm in Slurm: they are not "
        "carried");
  if (!config.proxy.allowed().empty() && !has_proxy(config, grown))
    notes.push_back("the proxy of offline jobs is not carried: no partition here is without a network");
}

}  // namespace

std::vector<File> slurm_files(const Configuration& config, const Grown& grown, Notes& notes) {
  std::vector<File> files;
  files.push_back(
      {.path = "/etc/slurm/slurm.conf", .content = slurm_conf(config, grown, notes), .why = "the cluster"});
  files.push_back({.path = "/etc/slurm/cgroup.conf",
                   .content = cgroup_conf(config, grown),
                   .why = "what holds jobs to what they asked for"});
  Notes told;  // with slurm.conf
  if (const std::string text = topology_conf(grown, told); !text.empty())
    files.push_back({.path = "/etc/slurm/topology.conf",
                     .content = text,
                     .why = "which machines are near to each other"});
  if (const std::string text = gres_conf(grown); !text.empty())
    files.push_back({.path = "/etc/slurm/gres.conf", .content = text, .why = "the GPUs' device files"});
  if (config.private_tmp && grown.control_groups)
    files.push_back({.path = "/etc/slurm/job_container.conf",
                     .content = fmt::format("{}: a /tmp and a /dev/shm for each job.\nAutoBasePath=true\n"
                                            "BasePath=/var/lib/slurm/private\nDirs=/tmp,/dev/shm\n",
                                            kMark),
                     .why = "private_tmp: jobs have a /tmp of their own"});
  files.push_back({.path = "/etc/slurm/minke-prolog.sh",
                   .mode = "0755",
                   .content = shell(prolog(config, grown, notes)),
                   .why = "makes $SLURM_TMPDIR, and runs the site's prologs"});
  files.push_back({.path = "/etc/slurm/minke-epilog.sh",
                   .mode = "0755",
                   .content = shell(epilog(config, grown, notes)),
                   .why = "removes $SLURM_TMPDIR, after the site's epilogs"});
  files.push_back({.path = "/etc/slurm/minke-task-prolog.sh",
                   .mode = "0755",
                   .content = shell(task_prolog(config, grown)),
                   .why = "tells tasks where $SLURM_TMPDIR is"});
  if (has_proxy(config, grown))
    files.push_back({.path = kProxyScript,
                     .mode = "0755",
                     .content = proxy_script(config),
                     .why = "the way out of partitions without a network",
                     .head_only = true});
  if (config.mail && !config.mail->settings.program().empty())
    files.push_back({.path = "/etc/slurm/minke-mail.sh",
                     .mode = "0755",
                     .content = shell(mail_script(config)),
                     .why = "mail leaves by the same program",
                     .head_only = true});
  if (const std::string text = job_submit_lua(config, grown); !text.empty())
    files.push_back({.path = "/etc/slurm/job_submit.lua",
                     .content = text,
                     .why = "time classes: a job without a partition gets the one that serves it",
                     .head_only = true});
  files.push_back({.path = "/etc/slurm/slurmdbd.conf",
                   .mode = "0600",
                   .owner = "slurm:slurm",
                   .content = slurmdbd_conf(config, grown),
                   .why = "the accounting's daemon",
                   .head_only = true,
                   .secret = true});
  note_what_is_left(config, grown, notes);
  return files;
}

}  // namespace minke::grow
