#include "engine/embedded/launching/launching.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>

#include "engine/embedded/accounts/rights.h"
#include "engine/embedded/core.h"
#include "engine/embedded/launching/confining.h"
#include "engine/embedded/launching/task_prologs.h"
#include "engine/embedded/scheduling/reservations.h"
#include "engine/embedded/state/tags.pb.h"
#include "environment/container_words.h"
#include "environment/job_environment.h"
#include "environment/job_paths.h"
#include "model/script_node.h"
#include "node/launch.pb.h"
#include "node/tmp_dir.h"
#include "os/files.h"
#include "os/helper_program.h"
#include "os/log.h"
#include "os/shortage.h"
#include "storage/project_groups.h"
#include "text/state.h"
#include "text/timestamp.h"

namespace minke::engine {

using namespace model;

node::LauncherClient::Callbacks Launching::callbacks() {
  const auto is_step = [](const node::Launch& launch) { return launch.id().kind() == STEP_NORMAL; };
  node::LauncherClient::Callbacks callbacks;
  callbacks.on_started = [this, is_step](const node::Launch& launch) {
    if (!is_step(launch)) return note_pid(launch);
    core_.run_events.tell(&RunListener::step_launched, launch);
  };
  callbacks.on_task_ended = [this](const node::Launch& launch) {
    core_.run_events.tell(&RunListener::step_task_ended, launch);
  };
  callbacks.on_ended = [this, is_step](const node::Launch& launch) {
    if (!is_step(launch)) return take_end(launch);
    core_.run_events.tell(&RunListener::step_ended, launch);
  };
  callbacks.on_job_ended = [this](const node::JobEnded& ended) { on_job_ended(ended); };
  return callbacks;
}

void Launching::set_machine(const node::Inventory& inventory) {
  machine_ = inventory;
  machine_.clear_launches();
}

std::string Launching::tmp_dir_of(const Job& job) const {
  return core_.config.tmp_root + "/job" + std::to_string(job.id);
}

environment::JobSurroundings Launching::surroundings(const Job& job, const JobSpec& spec) const {
  environment::JobSurroundings around{
      .cluster_name = core_.config.cluster_name,
      .home = core_.config.home,
      .config_path = core_.config.source_path,
      .tmp_dir = tmp_dir_of(job),
      .mpi_default = core_.config.mpi_default == "auto" ? "" : core_.config.mpi_default,
      .reservation = job.has_script() ? core_.reservations->name_for(job) : ""};
  around.release = core_.config.slurm_release;
  if (spec.has_array() && spec.array().ranges_size() > 0) {
    const TaskSet all(spec.array());
    around.array_count = static_cast<uint32_t>(all.size());
    around.array_min = all.first();
    around.array_step = std::max(1u, spec.array().ranges(0).step());
    for (const IndexRange& range : spec.array().ranges()) {
      const uint32_t step = std::max(1u, range.step());
      around.array_max =
          std::max(around.array_max, range.first() + (range.last() - range.first()) / step * step);
    }
  }
  return around;
}

// The job's project is that of its account, if its user is in the group of that name.
environment::Projects Launching::projects_of(const Job& job) const {
  const auto groups =
      storage::project_groups(core_.state.user_name(job.uid), job.gid, core_.rights->groups(job.uid, job.gid),
                              core_.config.storage.project_groups, [this](gid_t gid) -> std::string {
                                const std::string& name = core_.state.group_name(gid);
                                return name == std::to_string(gid) ? "" : name;  // it has none
                              });
  environment::Projects projects{groups.front().name, groups.front().name};
  const BriefSpec spec = job.submission->brief_spec();
  std::string_view account = spec.account;
  if (account.ends_with("_cpu") || account.ends_with("_gpu")) account.remove_suffix(4);
  for (const storage::ProjectGroup& group : groups) {
    if (group.name == account || group.name == spec.account) projects.of_job = group.name;
  }
  return projects;
}

void Launching::add_common(const Job& job, std::string_view block,
                           std::vector<std::string>& variables) const {
  for (std::string& variable : environment::virtual_node_environment(job.details->nodes.size(), block))
    variables.push_back(std::move(variable));
  if (!core_.config.storage.profile.empty()) {
    for (std::string& variable : environment::tier_environment(core_.config.storage.tiers(core_.config.home),
                                                               core_.state.user_name(job.uid),
                                                               projects_of(job), tmp_dir_of(job), block))
      variables.push_back(std::move(variable));
  }
  const config::ContainerConfiguration& containers = core_.config.containers;
  if (!containers.runtime.empty() && !environment::has_variable(block, "MINKE_CONTAINER_RUNTIME="))
    variables.push_back("MINKE_CONTAINER_RUNTIME=" + containers.runtime);
  if (!containers.mounts.empty()) variables.push_back("MINKE_CONTAINER_MOUNTS=" + containers.mounts);
  core_.software.add_to(variables, block);
  if (is_offline(core_, job))
    software::SoftwareEnvironment::add_offline(variables, block, core_.config.proxy);
}

std::vector<std::string> Launching::het_environment(const Job& job) const {
  std::vector<std::string> variables;
  if (job.het_job_id == 0) return variables;
  const std::vector<Job*> components = core_.state.components(job);
  for (const Job* component : components) {
    JobRecord record = core_.state.record_of(*component);
    *record.mutable_spec() = component->submission->spec();
    for (std::string& variable : environment::component_environment(
             record, surroundings(*component, record.spec()), component->het_offset)) {
      variables.push_back(std::move(variable));
    }
  }
  variables.push_back("SLURM_HET_SIZE=" + std::to_string(job.het_size));
  variables.push_back("SLURM_PACK_SIZE=" + std::to_string(job.het_size));
  return variables;
}

uint64_t Launching::memory_limit_of(const NodeAllocation& node) const {
  return core_.config.constrain_memory ? node.memory_mib() << 20 : 0;
}

uint64_t Launching::memory_limit_of(const Job& job) const {
  uint64_t bytes = 0;
  for (const NodeAllocation& node : job.details->nodes) {
    if (node.memory_mib() == 0) return 0;
    bytes += memory_limit_of(node);
  }
  return bytes;
}

void Launching::launch(Job& job) {
  // The task with its array's own number is the array's last one. If its launch is found after a restart, it
  // proves that all other tasks have left, so their leaving must be durable first.
  const bool closes_array = job.id == job.array_job_id || job.closes_record;
  // Only the store tells that the other components of a heterogeneous job have started,
  // or that an earlier run is over.
  if (job.requeue_allowed && job.restarts == 0 && !closes_array && job.het_job_id == 0) {
    send(job);
    return;
  }
  core_.committer.when_durable([this, id = job.id, run = job.restarts] {
    Job* found = core_.state.find(id);
    if (found == nullptr || found->restarts != run || !found->holds_nodes() || found->details->launched)
      return;
    // It was told to end while its start was being stored.
    if (found->completing) return core_.run_events.tell(&RunListener::nothing_left, *found, 0);
    send(*found);
  });
}

namespace {

// The files that the script reads and writes.
void write_streams(const JobRecord& record, node::TaskOrder& task) {
  const environment::JobPaths paths = environment::paths_of(record);
  const auto mode = record.spec().open_mode();
  const bool append =
      mode == OPEN_APPEND || (mode == OPEN_DEFAULT && record.restarts() > 0 && !record.spec().has_cron());
  task.mutable_stdin()->set_path(paths.in);
  task.mutable_stdout()->set_path(paths.out);
  task.mutable_stdout()->set_append(append);
  if (paths.error.empty() || paths.error == paths.out) {
    task.mutable_stderr()->set_same_as_stdout(true);
  } else {
    task.mutable_stderr()->set_path(paths.error);
    task.mutable_stderr()->set_append(append);
  }
}

}  // namespace

void Launching::send(Job& job) {
  job.details->launched = true;
  // The launcher's next inventory will show that it does not know this job; the job is sent then.
  if (!core_.launcher->connected()) return;
  const auto script = spooled_script(job);
  const auto environment = environment_of(job);
  if (script && environment) return core_.launcher->launch(order_of(job, *script, **environment), {});
  const Error problem = !script ? script.error() : environment.error();
  core_.loop.post([this, id = job.id, run = job.restarts, problem] {
    Job* found = core_.state.find(id);
    if (found != nullptr && found->restarts == run && found->holds_nodes() && found->details->launched)
      launch_failed(*found, problem, core_.now());
  });
}

// Makes the directory for a user's staged data between jobs; only root may add to its parent. It has no size
// limit, so it would undermine limited job directories.
void Launching::make_stage_cache(const Job& job) const {
  if (!core_.config.shared || core_.config.tmp_bytes != 0) return;
  const std::string cache = core_.config.tmp_root + "/stage-cache-" + std::to_string(job.uid);
  if (::mkdir(cache.c_str(), 0700) == 0 && ::lchown(cache.c_str(), job.uid, job.gid) != 0)
    (void)::rmdir(cache.c_str());
}

// `block`: the user's environment.
std::vector<std::string> Launching::script_variables(const Job& job, const JobRecord& record,
                                                     std::string_view block) const {
  environment::JobSurroundings around = surroundings(job, record.spec());
  if (environment::has_variable(block, "SLURM_MPI_TYPE=")) around.mpi_default.clear();
  std::vector<std::string> variables = environment::allocation_environment(record, around);
  environment::leave_submit_dir(block, variables);
  for (std::string& variable : het_environment(job)) variables.push_back(std::move(variable));
  const NodeAllocation& first = model::script_node(record);
  const environment::GpuVariables gpus =
      gpu_variables(core_, job, first.node(), environment::gpu_numbers(first));
  for (std::string& variable : environment::batch_environment(record, gpus, around.release))
    variables.push_back(std::move(variable));
  add_common(job, block, variables);
  return variables;
}

node::LaunchOrder Launching::order_of(const Job& job, const SpooledScript& script, const std::string& block) {
  node::LaunchOrder order;
  JobRecord record = core_.state.record_of(job);
  JobTag tag;
  *tag.mutable_record() = record;
  tag.set_spec_id(job.submission->spec_id);
  tag.SerializeToString(order.mutable_tag());

  *record.mutable_spec() = job.submission->spec();
  const JobSpec& spec = record.spec();
  order.mutable_id()->set_job_id(job.id);
  order.mutable_id()->set_run(job.restarts);
  order.mutable_id()->set_kind(STEP_BATCH);
  const bool staged = !script.data_lines.empty();
  if (staged) make_stage_cache(job);
  for (const std::string& word : task_prolog_words(core_.config.prologs, true)) order.add_argv(word);
  if (staged)
    for (const std::string& word : os::helper_command(os::Helper::kStagedScript, {script.data_lines}))
      order.add_argv(word);
  const auto container = environment::container_words(spec, true);
  if (!container.empty())
    for (const std::string& word : os::helper_command(os::Helper::kContainer, container))
      order.add_argv(word);
  order.add_argv(script.path);
  for (int i = 1; i < spec.arguments_size(); ++i) order.add_argv(spec.arguments(i));
  std::vector<std::string> variables = script_variables(job, record, block);
  if (staged) variables.push_back("MINKE_KILL_WAIT=" + std::to_string(core_.config.kill_wait_seconds));
  order.set_environment(environment::merge_environment(block, variables, core_.config.home + "/bin"));
  order.set_work_dir(spec.work_dir());
  order.set_umask(spec.umask());
  *order.mutable_resource_limits() = spec.resource_limits();
  confine(core_, job, order);
  const NodeAllocation& first = model::script_node(record);
  node::PlaceOrder& place = *order.add_places();
  place.set_memory_bytes(memory_limit_of(first));
  place.set_host_name(host_name_of(core_, first.node()));
  order.set_ends_job(true);
  order.set_script_error_prefix(kErrorPrefix);
  write_streams(record, *order.add_tasks());
  return order;
}

void Launching::begin_allocation(const Job& job) {
  // Its owner may use the directory before the first step, which would make it.
  std::optional<node::Owner> owner;
  if (core_.config.shared) owner = node::Owner{job.uid, job.gid};
  if (const Status made = node::make_tmp_dir(tmp_dir_of(job), owner); !made) {
    os::log_warning("job " + std::to_string(job.id) + ": " + made.error().message);
  }
}

void Launching::tell_processes(const Job& job, std::function<void()> order) {
  if (core_.committer.is_stored(job)) return order();
  core_.committer.when_tried(std::move(order));
}

void Launching::end_allocation(const Job& job) {
  node::EndJobOrder order;
  order.set_job_id(job.id);
  order.set_run(job.restarts);
  order.set_tmp_dir(tmp_dir_of(job));
  tell_processes(job, [this, order] { core_.launcher->end_job(order); });
}

void Launching::signal(const Job& job, node::SignalOrder order) {
  order.set_job_id(job.id);
  order.set_run(job.restarts);
  tell_processes(job, [this, order = std::move(order)] { core_.launcher->signal(order); });
}

void Launching::signal(const Job& job, uint32_t signal, node::SignalOrder::Target target, uint32_t step_id) {
  node::SignalOrder order;
  order.set_signal(signal);
  order.set_target(target);
  order.set_step_id(step_id);
  this->signal(job, std::move(order));
}

void Launching::kill_tasks(const Job& job, uint32_t step_id, const std::vector<uint32_t>& ranks) {
  node::SignalOrder order;
  order.set_signal(SIGKILL);
  order.set_target(node::SignalOrder::ONE_STEP);
  order.set_step_id(step_id);
  order.mutable_ranks()->Add(ranks.begin(), ranks.end());
  signal(job, std::move(order));
}

void Launching::say(const Job& job, const std::string& message) {
  node::SignalOrder order;
  order.set_target(node::SignalOrder::BATCH_SHELL);
  order.set_message(kErrorPrefix + message + "\n");
  signal(job, std::move(order));
}

void Launching::announce(Job& job, const std::string& why) {
  if (job.details->nodes.empty() || std::exchange(job.details->announced, true)) return;
  say(job, "*** JOB " + std::to_string(job.id) + " ON " +
               job.details->nodes.Get(job.details->script_node).node() + " CANCELLED AT " +
               text::format_time(core_.now()) + (why.empty() ? "" : " " + why) + " ***");
}

void Launching::note_pid(const node::Launch& launch) {
  Job* job = core_.state.find(launch.id().job_id());
  if (job == nullptr || job->restarts != launch.id().run() || !job->details) return;
  job->details->batch_pid = launch.pids_size() > 0 ? static_cast<int32_t>(launch.pids(0)) : 0;
}

void Launching::collect(const node::LaunchId& id) {
  core_.committer.when_durable([this, id] {
    node::CollectOrder order;
    *order.add_ids() = id;
    core_.launcher->collect(std::move(order));
  });
}

bool Launching::may_be_too_early(const Job& job, const std::string& launch_error) const {
  constexpr int64_t kGrace = 5;  // s
  return !job.completing && core_.now() - job.submit_time <= kGrace &&
         launch_error.ends_with(std::strerror(ENOENT));
}

void Launching::send_later(Job& job) {
  job.details->batch_pid = 0;
  // Not before the launcher was told to forget the launch with the same name.
  core_.committer.when_durable([this, id = job.id, run = job.restarts] {
    send_again_.emplace_back(id, run);
    if (!send_again_timer_) send_again_timer_ = core_.loop.make_timer([this] { send_again(); });
    send_again_timer_->set_after(std::chrono::milliseconds(100));
  });
}

void Launching::send_again() {
  for (const auto& [id, run] : std::exchange(send_again_, {})) {
    Job* job = core_.state.find(id);
    if (job == nullptr || job->restarts != run || (job->state != JOB_RUNNING && !job->completing)) continue;
    if (job->completing) {
      core_.run_events.tell(&RunListener::nothing_left, *job, SIGKILL);
    } else {
      send(*job);
    }
  }
}

void Launching::launch_failed(Job& job, const Error& error, int64_t time) {
  if (os::is_shortage(error.code) && !job.completing)
    return core_.run_events.tell(&RunListener::launch_lacked, job, error.message);
  os::log_warning("job " + std::to_string(job.id) + ": " + error.message);
  core_.run_events.tell(&RunListener::launch_failed, job, error.message, time);
}

void Launching::take_end(const node::Launch& launch) {
  collect(launch.id());
  Job* job = core_.state.find(launch.id().job_id());
  // The end was known already, but the launcher had not learnt that it is durable.
  if (job == nullptr || job->restarts != launch.id().run() || job->state == JOB_PENDING ||
      (job->ended() && !job->completing)) {
    return;
  }
  const int64_t end_time = launch.end_time() != 0 ? launch.end_time() : core_.now();
  if (launch.lost()) {
    os::log_warning("job " + std::to_string(job->id) + " was lost with the launcher; it " +
                    (job->completing        ? "was being stopped"
                     : job->requeue_allowed ? "goes back to the queue"
                                            : "ends as NODE_FAIL"));
    return core_.run_events.tell(&RunListener::run_lost, *job, "the launcher died", end_time);
  }
  if (!launch.launch_error().empty()) {
    if (may_be_too_early(*job, launch.launch_error())) return send_later(*job);
    return launch_failed(*job, Error{static_cast<int>(launch.error_number()), launch.launch_error()},
                         end_time);
  }
  const node::TaskEnd end = launch.ended_tasks_size() > 0 ? launch.ended_tasks(0) : node::TaskEnd();
  const int32_t status = end.oom_kills() != 0 ? text::kOutOfMemory : end.status();
  core_.run_events.tell(&RunListener::script_ended, *job, end, status, end_time);
}

void Launching::on_job_ended(const node::JobEnded& ended) {
  Job* job = core_.state.find(ended.job_id());
  if (job == nullptr || job->restarts != ended.run() || !job->completing) return;
  core_.run_events.tell(&RunListener::nothing_left, *job, job->exit_code);
}

}  // namespace minke::engine
