#include "cli/scontrol/resize_scripts.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "api/job_filter.pb.h"
#include "api/updates.pb.h"
#include "engine/fetch.h"
#include "environment/job_environment.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "os/fd.h"
#include "text/job_id.h"
#include "view/output.h"

namespace minke::cli {
namespace {

void write_script(const std::string& path, const std::string& text) {
  const os::UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0700));
  const bool written =
      file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (!written) std::fprintf(stderr, "Could not create file %s: %s\n", path.c_str(), std::strerror(errno));
}

}  // namespace

bool changes_nodes(const api::UpdateJobRequest& update) {
  return !update.steps() &&
         std::any_of(update.fields().begin(), update.fields().end(), [](const auto& field) {
           return field.name() == "NumNodes" || field.name() == "ReqNodes" || field.name() == "NodeList" ||
                  field.name() == "ReqNodeList";
         });
}

void write_resize_scripts(engine::Engine& cluster, const std::string& job) {
  if (std::getenv("SLURM_JOBID") == nullptr && std::getenv("SLURM_JOB_ID") == nullptr) return;
  const auto reference = text::parse_job_id(job);
  if (!reference) return;
  api::JobFilter filter;
  *filter.add_jobs() = engine::selector_of(*reference);
  const auto jobs = engine::fetch_jobs(cluster, std::move(filter));
  if (!jobs || jobs->records.size() != 1 || jobs->records[0]->state() != model::JOB_RUNNING) return;
  const model::JobRecord& record = *jobs->records[0];
  std::vector<uint32_t> cpus;
  for (const model::NodeAllocation& node : record.nodes()) cpus.push_back(node.cpus());
  const std::string nodes = std::to_string(record.num_nodes());
  const std::pair<const char*, std::string> set[] = {
      {"SLURM_NODELIST", '"' + record.node_list() + '"'},
      {"SLURM_JOB_NODELIST", '"' + record.node_list() + '"'},
      {"SLURM_NNODES", nodes},
      {"SLURM_JOB_NUM_NODES", nodes},
      {"SLURM_JOB_CPUS_PER_NODE", '"' + environment::counts_per_node(cpus) + '"'}};
  std::string sh, csh;
  for (const auto& [name, value] : set) {
    sh.append("export ").append(name).append("=").append(value) += '\n';
    csh.append("setenv ").append(name).append(" ").append(value) += '\n';
  }
  for (const char* name : {"SLURM_NPROCS", "SLURM_NTASKS", "SLURM_TASKS_PER_NODE"}) {
    sh.append("unset ").append(name) += '\n';
    csh.append("unsetenv ").append(name) += '\n';
  }
  const std::string path = "slurm_job_" + std::to_string(record.job_id()) + "_resize";
  write_script(path + ".sh", sh);
  write_script(path + ".csh", csh);
  view::write_out("To reset Slurm environment variables, execute\n  For bash or sh shells:  . ./" + path +
                  ".sh\n  For csh shells:         source ./" + path + ".csh\n");
}

}  // namespace minke::cli
