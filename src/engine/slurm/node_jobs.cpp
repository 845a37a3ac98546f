#include "engine/slurm/node_jobs.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <map>
#include <string_view>
#include <utility>

#include "model/job_terms.pb.h"
#include "node/launch.pb.h"
#include "node/process_tree.h"
#include "os/files.h"
#include "text/array_spec.h"
#include "text/number.h"

namespace minke::engine::slurm {
namespace {

constexpr size_t kMostJobs = 4096;  // on one node
constexpr size_t kMostGpus = 64;
constexpr size_t kMostCpus = 65536;
constexpr size_t kLongestTitle = 4096;

std::vector<std::string> directories_in(const std::string& above) {
  std::vector<std::string> names;
  DIR* listing = ::opendir(above.c_str());
  if (listing == nullptr) return names;
  while (const dirent* entry = ::readdir(listing)) {
    if (entry->d_type == DT_DIR && entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  ::closedir(listing);
  return names;
}

std::optional<uint32_t> number_behind(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  const auto value = text::parse_unsigned(name.substr(prefix.size()), 0xfffffffe);
  if (!value) return std::nullopt;
  return static_cast<uint32_t>(*value);
}

// Where the groups of jobs are: a directory, and the job's own below it.
struct Group {
  uint32_t version = 2;
  std::string base, name;
  std::optional<uint32_t> uid;
};

void add_groups(const std::string& root, std::map<uint32_t, Group>& groups) {
  const std::string mount = root + "/sys/fs/cgroup";
  const auto add = [&](const std::string& name, Group group) {
    const auto job = number_behind(name, "job_");
    if (job && groups.size() < kMostJobs) groups.try_emplace(*job, std::move(group));
  };
  // Where several slurmd share a machine, the node's name stands in front.
  for (const std::string& scope : directories_in(mount + "/system.slice")) {
    if (!scope.ends_with("slurmstepd.scope")) continue;
    const std::string base = mount + "/system.slice/" + scope;
    for (const std::string& job : directories_in(base))
      add(job, {.version = 2, .base = base, .name = job, .uid = {}});
  }
  for (const std::string& slurm : directories_in(mount + "/memory")) {
    if (!slurm.starts_with("slurm")) continue;
    const std::string base = mount + "/memory/" + slurm;
    for (const std::string& user : directories_in(base)) {
      const auto uid = number_behind(user, "uid_");
      if (!uid) continue;
      for (const std::string& job : directories_in(base + "/" + user))
        add(job, {.version = 1, .base = base, .name = user + "/" + job, .uid = uid});
    }
  }
}

std::optional<uint32_t> owner_of(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return std::nullopt;
  return info.st_uid;
}

// A slurmstepd that is believed.
std::optional<uint32_t> job_of_process(pid_t pid) {
  const std::string directory = "/proc/" + std::to_string(pid);
  const auto title = os::read_file(directory + "/cmdline", kLongestTitle);
  if (!title || !title->starts_with("slurmstepd: [")) return std::nullopt;
  const auto owner = owner_of(directory);
  if (!owner || (*owner != 0 && *owner != ::geteuid())) return std::nullopt;
  char target[PATH_MAX];
  const ssize_t length = ::readlink((directory + "/exe").c_str(), target, sizeof target);
  if (length <= 0) return std::nullopt;
  const std::string_view program(target, static_cast<size_t>(length));
  // "slurmstepd (deleted)" after an update.
  if (!program.substr(program.rfind('/') + 1).starts_with("slurmstepd")) return std::nullopt;
  return job_of_stepd(title->c_str());
}

struct Started {
  std::vector<pid_t> tasks;
  std::optional<uint32_t> uid;
  std::vector<uint32_t> gpus;
  size_t cpus = 0;
};

// What each job's slurmstepds have started here.
std::map<uint32_t, Started> started_jobs() {
  std::map<uint32_t, Started> jobs;
  std::map<pid_t, uint32_t> stepds;
  const std::vector<node::Process> processes = node::read_all_processes();
  for (const node::Process& process : processes) {
    if (jobs.size() == kMostJobs) break;
    const auto job = job_of_process(process.pid);
    if (!job) continue;
    stepds.emplace(process.pid, *job);
    jobs.try_emplace(*job);
  }
  for (const node::Process& process : processes) {
    const auto stepd = stepds.find(process.parent);
    if (stepd == stepds.end() || stepds.contains(process.pid)) continue;
    Started& job = jobs[stepd->second];
    job.tasks.push_back(process.pid);
    if (!job.uid) job.uid = owner_of("/proc/" + std::to_string(process.pid));
    if (!job.gpus.empty()) continue;
    const node::InitialEnvironment environment(process.pid);
    if (const auto cpus = environment.get("SLURM_CPUS_ON_NODE"); cpus && job.cpus == 0)
      job.cpus = text::parse_unsigned(*cpus, kMostCpus).value_or(0);
    for (const char* name : {"SLURM_JOB_GPUS", "SLURM_STEP_GPUS"}) {
      if (const auto list = environment.get(name); list && job.gpus.empty())
        job.gpus = gpu_numbers(std::string(*list));
    }
  }
  return jobs;
}

node::JobUse use_of(const Group& group) {
  node::Inventory where;
  where.set_groups_version(group.version);
  node::GroupBase& base = *where.add_group_bases();
  base.set_controller("memory");
  base.set_directory(group.base);
  return node::JobSampler(where).read_group(group.name);
}

}  // namespace

std::optional<uint32_t> job_of_stepd(const std::string& title) {
  constexpr std::string_view kBefore = "slurmstepd: [";
  if (!title.starts_with(kBefore)) return std::nullopt;
  const size_t dot = title.find('.', kBefore.size()), end = title.find(']', kBefore.size());
  if (dot == std::string::npos || end == std::string::npos || dot > end) return std::nullopt;
  if (std::string_view(title).substr(dot + 1, end - dot - 1) == "extern") return std::nullopt;
  const auto id =
      text::parse_unsigned(std::string_view(title).substr(kBefore.size(), dot - kBefore.size()), 0xfffffffe);
  if (!id || *id == 0) return std::nullopt;
  return static_cast<uint32_t>(*id);
}

std::vector<uint32_t> gpu_numbers(const std::string& list) {
  std::vector<uint32_t> numbers;
  const auto parsed = text::parse_index_list(list);
  if (!parsed) return numbers;
  for (const model::IndexRange& range : parsed->ranges()) {
    for (uint32_t i = range.first(); i <= range.last() && numbers.size() < kMostGpus; ++i)
      numbers.push_back(i);
  }
  return numbers;
}

std::vector<NodeJob> NodeJobs::read() const {
  std::map<uint32_t, Group> groups;
  add_groups(root_, groups);
  std::map<uint32_t, Started> started = root_.empty() ? started_jobs() : std::map<uint32_t, Started>();
  std::vector<NodeJob> jobs;
  for (const auto& [id, group] : groups) {
    const auto processes = started.find(id);
    NodeJob job{.job_id = id, .uid = group.uid, .use = use_of(group), .gpus = {}, .cpus = 0};
    if (processes != started.end()) {
      if (!job.uid) job.uid = processes->second.uid;
      job.gpus = processes->second.gpus;
      job.cpus = processes->second.cpus;
      started.erase(processes);
    }
    jobs.push_back(std::move(job));
  }
  // Those without groups.
  std::vector<node::SampledJob> sampled;
  for (const auto& [id, job] : started) sampled.push_back({.job_id = id, .run = 0, .roots = job.tasks});
  const std::vector<node::JobUse> uses = node::JobSampler(node::Inventory()).read(sampled);
  size_t i = 0;
  for (const auto& [id, job] : started)
    jobs.push_back({.job_id = id, .uid = job.uid, .use = uses[i++], .gpus = job.gpus, .cpus = job.cpus});
  return jobs;
}

}  // namespace minke::engine::slurm
