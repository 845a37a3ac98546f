#include "engine/embedded/steps/steps.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "api/steps.pb.h"
#include "engine/embedded/accounts/rights.h"
#include "engine/embedded/accounts/users.h"
#include "engine/embedded/answers/queries.h"
#include "engine/embedded/core.h"
#include "engine/embedded/launching/confining.h"
#include "engine/embedded/launching/launching.h"
#include "engine/embedded/launching/prologs.h"
#include "engine/embedded/state/tags.pb.h"
#include "environment/job_environment.h"
#include "environment/job_paths.h"
#include "environment/step_gpus.h"
#include "model/error.h"
#include "model/interactive_step.h"
#include "node/launch.pb.h"
#include "rpc/frame.h"
#include "submit/text_limits.h"
#include "text/file_pattern.h"
#include "text/gres_count.h"
#include "text/hostlist.h"
#include "text/number.h"
#include "text/state.h"

namespace minke::engine {

using namespace model;

namespace {

constexpr size_t kMostOrderBytes = rpc::kMaxReplyBytes / 2;  // the launcher takes no longer frames

// Checks the texts of a step that are stored and shown to others.
Status check_step_texts(const api::StepSpec& spec) {
  using namespace submit;
  struct Text {
    const char* name;
    const std::string& text;
    size_t most;
  };
  for (const Text& one : {Text{"--job-name", spec.name(), kMostNameBytes},
                          Text{"the program's path", spec.argv(0), kMostPathBytes},
                          Text{"--chdir", spec.work_dir(), kMostPathBytes},
                          Text{"--nodelist", spec.node_list(), kMostListBytes},
                          Text{"--exclude", spec.exclude(), kMostListBytes},
                          Text{"--distribution", spec.distribution(), kMostNameBytes},
                          Text{"--gpu-bind", spec.gpu_bind(), kMostListBytes},
                          Text{"--cpu-bind", spec.cpu_bind(), kMostListBytes},
                          Text{"the command line", spec.submit_line(), kMostLineBytes},
                          Text{"--container-id", spec.container_id(), kMostNameBytes},
                          Text{"--input", spec.stdin_path(), kMostPathBytes},
                          Text{"--output", spec.stdout_path(), kMostPathBytes},
                          Text{"--error", spec.stderr_path(), kMostPathBytes},
                          Text{"--input", spec.stdin().path(), kMostPathBytes},
                          Text{"--output", spec.stdout().path(), kMostPathBytes},
                          Text{"--error", spec.stderr().path(), kMostPathBytes},
                          Text{"the step's nodes", spec.het().node_list(), kMostListBytes},
                          Text{"the step's tasks", spec.het().tasks_per_node(), kMostListBytes}}) {
    if (const Status fit = check_text(one.name, one.text, one.most); !fit) return fit;
  }
  return {};
}

// The wrapper is put before each task's program, so
// each task multiplies its size.
Status check_wrapper(const api::StepSpec& spec) {
  uint64_t bytes = 0;
  for (const std::string& word : spec.wrapper()) bytes += word.size() + sizeof(std::string);
  const uint64_t all = bytes * static_cast<uint64_t>(spec.programs_size());
  if (all <= kMostOrderBytes) return {};
  return failure("the words in front of its programs have " + std::to_string(all) +
                     " bytes for all tasks together, at most " + std::to_string(kMostOrderBytes) +
                     " are allowed",
                 kPathnameTooLong);
}

// Under which a step's tag has what it holds of a GRES on a node.
std::string held_key(const std::string& node, const StepGres& gres) {
  return node + "/" + gres.name + ":" + gres.type;
}

// What the job has on the node beside GPUs.
std::vector<StepGres> counted_gres(const NodeAllocation& allocation) {
  std::vector<StepGres> counted;
  for (const auto& gres : allocation.gres())
    if (gres.name() != "gpu") counted.push_back({gres.name(), gres.type(), text::units_of(gres), 0});
  return counted;
}

// A type of GPU that the step names must be one of the job's.
Status check_gpu_types(const api::StepSpec& spec, const Job& job) {
  for (const auto* list :
       {&spec.gres_per_node(), &spec.gpus_per_socket(), &spec.gpus_per_task(), &spec.gpus()}) {
    for (const Gres& asked : *list) {
      if (!text::is_gpu(asked) || asked.type().empty() || asked.count() == 0) continue;
      bool there = false;
      for (const NodeAllocation& node : job.details->nodes)
        for (const GresAllocation& held : node.gres())
          there |= text::is_gpu(held) && held.type() == asked.type();
      if (!there) return failure("the job has no gpu:" + asked.type(), kInvalidGres);
    }
  }
  return {};
}

}  // namespace

// Resources that a step holds on a node are not available to the next step.
void Steps::add_held(const StepTag& tag, StepNode& node) {
  const auto held = tag.cpus().find(node.name);
  if (held != tag.cpus().end()) node.cpus_used += held->second;
  const auto memory = tag.memory_mib().find(node.name);
  if (memory != tag.memory_mib().end()) node.memory_used_mib += memory->second;
  for (StepGres& gres : node.gres) {
    const auto units = tag.gres().find(held_key(node.name, gres));
    if (units != tag.gres().end()) gres.used += units->second;
  }
  const auto gpus = tag.gpus().find(node.name);
  if (gpus == tag.gpus().end()) return;
  node.gpus_used.insert(node.gpus_used.end(), gpus->second.indices().begin(), gpus->second.indices().end());
}

std::vector<StepNode> Steps::nodes_of(const Job& job, const JobSteps& steps) const {
  std::vector<StepNode> nodes;
  std::vector<uint32_t> by_default;
  if (job.submission->brief_spec().exclusive)
    by_default = environment::gpus_by_default(job.submission->spec(), job.details->nodes);
  for (const NodeAllocation& allocation : job.details->nodes) {
    StepNode node{allocation.node(),
                  allocation.cpus(),
                  0,
                  allocation.tasks(),
                  allocation.memory_mib(),
                  0,
                  environment::shard_count(allocation) > 0 ? std::vector<uint32_t>()
                                                           : environment::gpu_numbers(allocation),
                  {}};
    node.gres = counted_gres(allocation);
    for (const auto& [id, step] : steps.running) add_held(step.tag, node);
    if (!by_default.empty()) node.gpus_by_default = by_default[nodes.size()];
    nodes.push_back(std::move(node));
  }
  return nodes;
}

Status Steps::create(const api::CreateStepRequest& request, std::vector<os::UniqueFd> descriptors,
                     const Owner& owner, Report report) {
  Job* job = core_.state.find(request.job_id());
  if (job == nullptr || job->state == JOB_PENDING) return failure("", kInvalidJobId);
  JobSteps& steps = jobs_[job->id];
  for (auto& [id, step] : steps.running) {
    if (step.tag.record().key() != request.key()) continue;
    // A repetition after a lost connection: the first request's descriptors are in use.
    step.report = std::move(report);
    if (step.started) step.report(started_event(step));
    return {};
  }
  auto charges = charges_for(job->uid, request, descriptors.size());
  if (charges) {
    Waiting waiting{request, std::move(descriptors), owner, std::move(report), std::move(*charges)};
    if (!request.resent()) return create_new(*job, std::move(waiting));
    find_ended(job->uid, std::move(waiting));
    return {};
  }
  if (!request.resent()) return failure(charges.error());
  // The client still learns how the step ended: that needs only room for its name.
  auto place = core_.rights->budgets().take(job->uid, config::Budget::kSteps, 1);
  if (!place) return failure(place.error());
  Waiting waiting{.owner = owner, .report = std::move(report), .refused = failure(charges.error())};
  waiting.request.set_key(request.key());
  waiting.request.set_job_id(request.job_id());
  waiting.charges.step = std::move(*place);
  find_ended(job->uid, std::move(waiting));
  return {};
}

Status Steps::create_new(Job& running, Waiting waiting) {
  Job* job = &running;
  const api::CreateStepRequest& request = waiting.request;
  JobSteps& steps = jobs_[job->id];
  if (job->state == JOB_SUSPENDED) return failure("", kJobSuspended);
  if (job->state != JOB_RUNNING) return failure("", kAlreadyDone);
  const auto& programs = request.spec().programs();
  const bool nothing =
      std::any_of(programs.begin(), programs.end(), [](const auto& one) { return one.argv().empty(); });
  if (request.spec().argv().empty() || nothing) return failure("no command", kInternal);
  if (const Status fit = check_step_texts(request.spec()); !fit) return fit;
  if (job->submission->interactive && job->submission->spec().external())
    return failure("an external job has no steps: others fill it", kNotSupported);
  for (const api::StepStream* stream :
       {&request.spec().stdin(), &request.spec().stdout(), &request.spec().stderr()}) {
    if (uint64_t{stream->first_descriptor()} + stream->descriptors() > waiting.descriptors.size()) {
      return failure("a stream names a descriptor that was not sent", kInternal);
    }
  }
  if (request.spec().het().has_step_id() && steps.running.count(request.spec().het().step_id()) != 0)
    return failure("a step of this number runs already", kInternal);
  if (request.spec().interactive() && steps.running.count(kInteractiveStep) != 0)
    return failure("the job has an interactive step already", kInternal);
  if (const Status fit = check_wrapper(request.spec()); !fit) return fit;
  if (const Status there = check_gpu_types(request.spec(), *job); !there) return there;
  const auto layout = lay_out_step(request.spec(), nodes_of(*job, steps));
  if (layout && !programs.empty() && static_cast<size_t>(programs.size()) != layout->task_nodes.size())
    return failure("a program for each task is needed", kBadTaskCount);
  if (!layout && (layout.error().code != kNodesBusy || request.spec().immediate()))
    return failure(layout.error());
  if (!layout || !steps.waiting.empty()) {
    api::StepEvent event;
    event.set_waiting(std::string(slurm_error_text(kNodesBusy)));
    waiting.report(event);
    steps.waiting.push_back(std::move(waiting));
    return {};
  }
  start(*job, std::move(waiting), *layout);
  return {};
}

namespace {

// The name for listings. By default, tasks are dealt out if there are no more of them than nodes.
std::string distribution_name(const api::StepSpec& spec, const StepRecord& record) {
  for (const char* name : {"Block", "Cyclic", "Plane", "Arbitrary"})
    if (text::starts_with_ignoring_case(spec.distribution(), name)) return name;
  return record.num_tasks() <= record.num_nodes() ? "Cyclic" : "Block";
}

std::string own_host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  (void)::gethostname(name, sizeof(name) - 1);
  return std::string(std::string_view(name).substr(0, std::string_view(name).find('.')));
}

}  // namespace

// The components of a heterogeneous job share one counter.
uint32_t Steps::take_step_id(Job& job, const api::StepSpec& spec) {
  if (spec.interactive()) return kInteractiveStep;
  Job* leader = job.het_job_id == 0 ? nullptr : core_.state.find(job.het_job_id);
  Job& counting = leader != nullptr && leader->details ? *leader : job;
  const uint32_t step_id = spec.het().has_step_id() ? spec.het().step_id() : counting.details->next_step_id++;
  job.details->next_step_id = std::max(job.details->next_step_id, step_id + 1);
  return step_id;
}

// Writes what the step holds, by node and in total. Returns its nodes.
std::vector<std::string> Steps::write_holdings(const Job& job, const api::StepSpec& spec,
                                               const StepLayout& layout, StepTag& tag) {
  StepRecord& record = *tag.mutable_record();
  std::vector<std::string> names;
  uint32_t cpus = 0;
  uint64_t memory = 0, of_job_mib = 0;
  size_t gpus = 0;
  for (size_t i = 0; i < layout.tasks.size(); ++i) {
    if (layout.tasks[i] == 0) continue;
    const NodeAllocation& node = job.details->nodes.Get(static_cast<int>(i));
    const std::string& name = names.emplace_back(node.node());
    cpus += layout.cpus[i];
    if (layout.cpus[i] != 0 && !spec.interactive()) (*tag.mutable_cpus())[name] = layout.cpus[i];
    // What steps share is told, and taken from nobody.
    if (layout.memory_mib[i] != 0 && !spec.overlap())
      (*tag.mutable_memory_mib())[name] = layout.memory_mib[i];
    memory += layout.memory_mib[i];
    of_job_mib += node.memory_mib();
    gpus += layout.gpus[i].size();
    for (const StepGres& gres : layout.gres[i]) {
      add_gres(*record.mutable_tres_gres(), gres.name, gres.type, gres.count);
      if (!spec.overlap()) (*tag.mutable_gres())[held_key(name, gres)] = gres.count;
    }
    if (!layout.holds_gpus) continue;
    StepGpus& held = (*tag.mutable_gpus())[name];
    for (const uint32_t gpu : layout.gpus[i]) held.add_indices(gpu);
  }
  for (const size_t node : layout.task_nodes)
    tag.add_node_of_task(job.details->nodes.Get(static_cast<int>(node)).node());
  record.set_node_list(text::compress_hostlist_sorted(names));
  record.set_num_nodes(static_cast<uint32_t>(names.size()));
  record.set_num_tasks(static_cast<uint32_t>(layout.task_nodes.size()));
  record.set_num_cpus(std::max(cpus, record.num_tasks()));
  // A step without a memory request has its job's memory.
  record.set_memory_mib(memory != 0 ? memory : of_job_mib);
  if (gpus != 0) {
    Gres& gres = *record.add_tres_gres();
    gres.set_name("gpu");
    gres.set_count(static_cast<uint32_t>(gpus));
  }
  return names;
}

Steps::Step& Steps::start(Job& job, Waiting waiting, const StepLayout& layout) {
  const api::StepSpec& spec = waiting.request.spec();
  const uint32_t step_id = take_step_id(job, spec);
  Step& step = jobs_[job.id].running[step_id];
  step.report = std::move(waiting.report);
  step.charges = std::move(waiting.charges);

  StepRecord& record = *step.tag.mutable_record();
  record.set_job_id(job.id);
  record.set_kind(spec.interactive() ? STEP_INTERACTIVE : STEP_NORMAL);
  record.set_step_id(step_id);
  record.set_restarts(job.restarts);
  record.set_name(!spec.name().empty() ? spec.name()
                  : spec.interactive() ? std::string("interactive")
                                       : spec.argv(0).substr(spec.argv(0).rfind('/') + 1));
  record.set_command(spec.argv(0));
  record.set_state(JOB_RUNNING);
  record.set_start_time(core_.now());
  record.set_array_job_id(job.array_job_id);
  if (job.array_task != kNoTask) record.set_array_task_id(job.array_task);
  const std::vector<std::string> nodes = write_holdings(job, spec, layout, step.tag);
  if (spec.has_time_limit_minutes()) record.set_time_limit_minutes(spec.time_limit_minutes());
  record.set_key(waiting.request.key());
  record.set_submit_line(spec.submit_line());
  record.set_container(spec.container());
  record.set_container_id(spec.container_id());
  record.set_stdin_path(spec.stdin_path());
  record.set_stdout_path(spec.stdout_path());
  record.set_stderr_path(spec.stderr_path());
  record.set_distribution(distribution_name(spec, record));
  record.set_srun_host(own_host_name());
  record.set_srun_pid(static_cast<uint32_t>(waiting.owner.pid));
  step.tag.set_owner(format_owner(waiting.owner));
  if (!layout.note.empty()) {
    api::StepEvent event;
    event.set_note(layout.note);
    report(step, event);
  }
  watch_owner(step);
  watch_time_limit(step);
  launch_after_prolog(job, nodes, order_of(job, spec, step, layout), std::move(waiting.descriptors));
  return step;
}

// Everything in the order remains valid until Prologs have ended on nodes that had none.
void Steps::launch_after_prolog(Job& job, const std::vector<std::string>& nodes, node::LaunchOrder made,
                                std::vector<os::UniqueFd> with) {
  auto order = std::make_shared<node::LaunchOrder>(std::move(made));
  auto descriptors = std::make_shared<std::vector<os::UniqueFd>>(std::move(with));
  core_.prologs->before_step(job, nodes, [this, order, descriptors](bool ready) {
    const Step* found = find(order->id());
    if (found == nullptr) return;  // ended with its job
    const size_t size = order->ByteSizeLong();
    const bool fits = size <= kMostOrderBytes;
    if (ready && fits && !found->killed)
      return core_.launcher->launch(std::move(*order), std::move(*descriptors));
    node::Launch never;
    *never.mutable_id() = order->id();
    never.set_launch_error(!ready ? "Job prolog failed"
                           : fits ? "killed while its nodes were made ready"
                                  : "its environment and arguments have " + std::to_string(size) +
                                        " bytes for all tasks together, at most " +
                                        std::to_string(kMostOrderBytes) + " are allowed");
    never.set_end_time(core_.now());
    // Not at once, because the caller iterates over the job's steps.
    core_.loop.post([this, never] { step_ended(never); });
  });
}

void Steps::watch_owner(Step& step) {
  const Owner owner = parse_owner(step.tag.owner());
  step.owner_watch = std::make_unique<OwnerWatch>(
      core_.loop, owner, [this, job = step.tag.record().job_id(), id = step.tag.record().step_id()] {
        if (const Job* found = core_.state.find(job)) signal(*found, id, SIGKILL);
      });
}

void Steps::report(Step& step, const api::StepEvent& event) {
  step.report(event);
}

void Steps::forget_report(uint32_t job_id, const std::string& key, const void* client) {
  const auto steps = jobs_.find(job_id);
  if (steps == jobs_.end()) return;
  for (auto& [id, step] : steps->second.running) {
    if (step.report.client == client && step.tag.record().key() == key) step.report = {};
  }
  std::erase_if(steps->second.waiting, [&](const Waiting& waiting) {
    return waiting.report.client == client && waiting.request.key() == key;
  });
}

Steps::Step* Steps::find(const node::LaunchId& id) {
  const auto steps = jobs_.find(id.job_id());
  if (steps == jobs_.end()) return nullptr;
  const auto step = steps->second.running.find(id.step_id());
  if (step == steps->second.running.end() || step->second.tag.record().restarts() != id.run()) return nullptr;
  return &step->second;
}

api::StepEvent Steps::started_event(const Step& step) {
  api::StepEvent event;
  api::StepStarted& started = *event.mutable_started();
  started.set_step_id(step.tag.record().step_id());
  *started.mutable_step() = step.tag.record();
  for (const pid_t pid : step.pids) started.add_pids(static_cast<uint32_t>(pid));
  *started.mutable_node_of_task() = step.tag.node_of_task();
  return event;
}

void Steps::step_launched(const node::Launch& launch) {
  Step* step = find(launch.id());
  if (step == nullptr) return;
  step->started = true;
  step->charges.bytes = {};
  step->charges.descriptors = {};
  step->pids.assign(launch.pids().begin(), launch.pids().end());
  report(*step, started_event(*step));
}

void Steps::step_task_ended(const node::Launch& launch) {
  Step* step = find(launch.id());
  if (step == nullptr) return;
  for (const node::TaskEnd& end : launch.ended_tasks()) {
    api::StepEvent event;
    if (end.oom_kills() != 0 && !std::exchange(step->out_of_memory, true)) {
      event.set_note(
          kErrorPrefix + ("Detected " + std::to_string(end.oom_kills())) + " oom_kill " +
          (end.oom_kills() == 1 ? "event" : "events") + " in StepId=" + std::to_string(launch.id().job_id()) +
          "." + std::to_string(launch.id().step_id()) + ". Some of the step tasks have been OOM Killed.");
      report(*step, event);
    }
    if (end.rank() < step->pids.size()) step->pids[end.rank()] = 0;
    event.mutable_task_exit()->set_rank(end.rank());
    event.mutable_task_exit()->set_status(step->out_of_memory && end.status() != 0 ? text::kOutOfMemory
                                                                                   : end.status());
    if (static_cast<int>(end.rank()) < step->tag.node_of_task_size()) {
      event.mutable_task_exit()->set_node(step->tag.node_of_task(static_cast<int>(end.rank())));
    }
    report(*step, event);
  }
}

void Steps::collect(const node::LaunchId& id) {
  core_.committer.when_durable([this, id] {
    node::CollectOrder order;
    *order.add_ids() = id;
    core_.launcher->collect(std::move(order));
  });
}

}  // namespace minke::engine
