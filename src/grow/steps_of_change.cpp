// The steps by which a machine joins a Slurm that runs, and leaves it.
#include <fmt/format.h>

#include "grow/offline.h"
#include "grow/steps.h"
#include "text/base64.h"
#include "text/shell_quote.h"

namespace minke::grow {
namespace {

using text::shell_quoted;

constexpr SlurmVersion kNodesComeAndGo{23, 11};  // before, slurmctld takes other nodes only at its start
// What all machines of a cluster have alike.
constexpr char kCommonFiles[] =
    "/etc/slurm/slurm.conf /etc/slurm/cgroup.conf /etc/slurm/gres.conf /etc/slurm/topology.conf "
    "/etc/slurm/job_container.conf "
    "/etc/slurm/minke-prolog.sh /etc/slurm/minke-epilog.sh /etc/slurm/minke-task-prolog.sh";

}  // namespace

Step new_conf_step(const std::string& about, const std::string& conf, const std::string& gres,
                   const std::string& topology) {
  Step step{.id = about + ": slurm.conf",
            .what =
                "change the head's slurm.conf, gres.conf where there are GPUs, topology.conf where "
                "there is one",
            .why = "the nodes of the cluster are named there",
            .checked = "the files have this content",
            .undone = "what was there before is put back",
            .capture = "save /etc/slurm/slurm.conf /etc/slurm/gres.conf /etc/slurm/topology.conf",
            .undo = "restore"};
  const auto add = [&](const std::string& path, const std::string& content) {
    const std::string text = text::base64(content);
    step.script += fmt::format("printf %s {} | put {} 0644 root:root || exit 1\n", text, path);
    step.check +=
        fmt::format("[ \"$(base64 -w0 {})\" = {} ] || die {} is not as planned\n", path, text, path);
  };
  add("/etc/slurm/slurm.conf", conf);
  if (!gres.empty()) add("/etc/slurm/gres.conf", gres);
  if (!topology.empty()) add("/etc/slurm/topology.conf", topology);
  return step;
}

Step same_files_step(const std::string& id, const std::string& host) {
  return {
      .id = id,
      .host = host,
      .what = "the head's files of Slurm",
      .why = "all machines of a Slurm have the same files",
      .checked = "they are the same",
      .undone = "what was there before is put back",
      .capture = std::string("save ") + kCommonFiles,
      .script =
          R"sh(before=$(printf %s "$files" | base64 -d); restore && mkdir -p /var/lib/slurm/slurmd /var/log/slurm &&
  chown slurm:slurm /var/lib/slurm /var/log/slurm)sh",
      .check = std::string("[ \"$(save ") + kCommonFiles +
               ")\" = \"$(printf %s \"$files\" | base64 -d)\" ] || die \"its files are not the head's\"",
      .undo = "restore",
      .inputs = {{"files", std::string("save ") + kCommonFiles + " | base64 -w0"}}};
}

Step take_notice_step(const std::string& about, SlurmVersion version) {
  const bool at_once = version >= kNodesComeAndGo;
  Step step{.id = about + ": slurmctld",
            .what = at_once ? "slurmctld reads its files again"
                            : "slurmctld starts again with its new files; running jobs go on",
            .why = "it has to know which nodes there are",
            .checked = "scontrol ping",
            .undone = "it reads its files once more",
            .script = at_once ? "scontrol reconfigure" : "start slurmctld && until_true 60 slurmctld_answers",
            .check = "until_true 30 slurmctld_answers"};
  const std::string answers = step.script;
  step.script += " || exit 1\n" + restart_proxy_script(false);
  step.undo = "{ " + answers + "; } || :\n" + restart_proxy_script(true);
  return step;
}

Step slurmd_again_step(const std::string& about, const std::string& name, const std::string& host) {
  return {.id = about + ": slurmd " + name,
          .host = host,
          .what = "slurmd starts again with its new files; running jobs go on",
          .why = "before 23.11 it knows other nodes only from then on",
          .checked = "it runs",
          .undone = "it stays",
          .script = "start slurmd",
          .check = "until_true 20 runs slurmd"};
}

Step drain_node_step(const std::string& name) {
  const std::string node = shell_quoted(name);
  return {.id = "remove " + name + ": drain",
          .what = "no job starts there; wait until those that run there have ended",
          .why = "no job is lost",
          .checked = "nothing runs there",
          .undone = "jobs start there again",
          .script = "scontrol update NodeName=" + node +
                    " State=DRAIN Reason='minke grow remove' || exit 1\n" +
                    "while [ -n \"$(squeue -h -a -w " + node +
                    " -t running,completing,suspended,configuring,stopped,signaling,stage_out -o %i)\" ]; do "
                    "sleep 2; done",
          .check = "[ -z \"$(squeue -h -a -w " + node + " -t running,suspended,completing -o %i)\" ]",
          .undo = "scontrol update NodeName=" + node + " State=RESUME || :",
          .seconds = 0};
}

Step halt_slurmd_step(const std::string& name, const std::string& host) {
  return {.id = "remove " + name + ": slurmd",
          .host = host,
          .what = "stop slurmd",
          .why = "it belongs to the cluster no more",
          .checked = "it does not run",
          .undone = "it is started again",
          .script = "halt slurmd; ! has_systemd || systemctl disable -q slurmd; end_scope",
          .check = "! process slurmd",
          .undo = "start slurmd"};
}

}  // namespace minke::grow
