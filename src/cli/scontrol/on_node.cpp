// scontrol's commands about a node's own steps (listjobs, liststeps, getent) and about addresses (getaddrs).
// Without a name it is the node that the command runs on; outside of a job, all of this machine. One thread;
// blocking.
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/job_filter.pb.h"
#include "cli/scontrol/commands.h"
#include "engine/fetch.h"
#include "model/cluster.pb.h"
#include "model/job_record.pb.h"
#include "model/step_record.pb.h"
#include "text/hostlist.h"
#include "text/state.h"
#include "view/output.h"
#include "view/text.h"

namespace minke::cli {
namespace {

// Words behind the command: at most the node's name.
std::string node_of(const std::vector<std::string>& words) {
  if (words.size() > 1) return words[1];
  const char* own = std::getenv("SLURMD_NODENAME");
  return own == nullptr ? "" : own;
}

bool runs_on(const model::StepRecord& step, const std::string& node) {
  if (node.empty()) return true;
  const auto hosts = text::expand_hostlist(step.node_list());
  return hosts && std::find(hosts->begin(), hosts->end(), node) != hosts->end();
}

// As `getent passwd` would print it, without a password.
std::string account_line(uint32_t uid) {
  char buffer[16384];
  passwd entry{}, *found = nullptr;
  if (::getpwuid_r(uid, &entry, buffer, sizeof buffer, &found) != 0 || found == nullptr) return "";
  return fmt::format("{}:*:{}:{}:{}:{}:{}\n", entry.pw_name, entry.pw_uid, entry.pw_gid, entry.pw_gecos,
                     entry.pw_dir, entry.pw_shell);
}

}  // namespace

Result<std::vector<model::StepRecord>> Scontrol::steps_on(const std::string& node) {
  const auto steps = engine::fetch_steps(*cluster_, api::JobFilter());
  if (!steps) return failure(steps.error());
  std::vector<model::StepRecord> found;
  for (const model::StepRecord* step : steps->records)
    if (runs_on(*step, node)) found.push_back(*step);
  const auto rank =
      [](const model::StepRecord& step) {  // the batch script first, in the order of their beginning
        return std::tuple(step.job_id(), step.kind() != model::STEP_BATCH, view::step_rank(step));
      };
  std::stable_sort(found.begin(), found.end(),
                   [&](const auto& left, const auto& right) { return rank(left) < rank(right); });
  return found;
}

int Scontrol::list_steps(const Words& words, bool jobs_only) {
  if (open_cluster() == nullptr) return 1;
  const auto steps = steps_on(node_of(words));
  if (!steps) return complain("scontrol: error: " + steps.error().message);
  if (steps->empty()) return complain("No slurmstepd's found on this node");
  std::string out = jobs_only ? "JOBID\n" : "JOBID    STEPID  \n";
  uint32_t last = 0;
  for (const model::StepRecord& step : *steps) {
    if (jobs_only && step.job_id() == last) continue;
    last = step.job_id();
    fmt::format_to(std::back_inserter(out), "{:<8}", last);
    if (!jobs_only)
      fmt::format_to(std::back_inserter(out), " {:<8}", text::step_name(step.kind(), step.step_id()));
    out += '\n';
  }
  view::write_out(out);
  return 0;
}

// Who each step runs as. The groups are those of the node's own directory, which steps see as well.
int Scontrol::list_accounts(const Words& words) {
  if (open_cluster() == nullptr) return 1;
  const auto steps = steps_on(node_of(words));
  if (!steps) return complain("scontrol: error: " + steps.error().message);
  const auto jobs = engine::fetch_jobs(*cluster_, api::JobFilter());
  if (!jobs) return complain("scontrol: error: " + jobs.error().message);
  std::unordered_map<uint32_t, uint32_t> owners;
  for (const model::JobRecord* job : jobs->records) owners.emplace(job->job_id(), job->uid());
  std::string out;
  for (const model::StepRecord& step : *steps) {
    const auto owner = owners.find(step.job_id());
    if (owner == owners.end()) continue;  // it has ended meanwhile
    fmt::format_to(std::back_inserter(out), "JobId={}.{}:\nUser:\n{}Groups:\n\n", step.job_id(),
                   text::step_name(step.kind(), step.step_id()), account_line(owner->second));
  }
  view::write_out(out);
  return 0;
}

int Scontrol::tell_addresses(const Words& words) {
  if (words.size() != 2) return complain("one argument required for keyword:" + words[0]);
  if (open_cluster() == nullptr) return 1;
  const auto wanted = text::expand_hostlist(words[1]);
  if (!wanted) return complain("scontrol: error: " + wanted.error().message);
  const auto nodes = engine::fetch_nodes(*cluster_);
  if (!nodes) return complain("slurm_load_node error: " + nodes.error().message);
  std::string out;
  for (const std::string& name : *wanted) {
    const auto found = std::find_if(nodes->records.begin(), nodes->records.end(),
                                    [&](const model::NodeRecord* node) { return node->name() == name; });
    if (found == nodes->records.end()) continue;
    const std::string& address = (*found)->address();
    out += name + ": " + (address.empty() ? name : address) + ":0\n";  // nodes here have no port of their own
  }
  view::write_out(out);
  return 0;
}

}  // namespace minke::cli
