// Checks of what must hold during a simulation and at its end.
#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <future>
#include <tuple>
#include <utility>

#include "api/accounts.pb.h"
#include "engine/embedded/accounts/accounts.h"
#include "engine/embedded/simulation/simulation.h"
#include "engine/embedded/state/state.h"
#include "store/job_row.h"
#include "store/store.h"
#include "text/state.h"

namespace minke::engine::simulation {

using namespace model;

namespace {

std::string told(const JobRecord& record) {
  std::string text = "job " + std::to_string(record.job_id());
  if (record.array_job_id() != 0)
    text += " (" + std::to_string(record.array_job_id()) + "_" +
            (record.has_array_task_id() ? std::to_string(record.array_task_id()) : "[…]") + ")";
  return text + ", run " + std::to_string(record.restarts()) + ": state " + std::to_string(record.state()) +
         ", reason " + std::to_string(record.reason()) + ", exit " + std::to_string(record.exit_code()) +
         " " + record.reason_detail();
}

std::string told(const std::vector<Start>& starts) {
  std::string text;
  for (const Start& start : starts)
    text += (text.empty() ? " as run " : ", as run ") + std::to_string(start.launch.job.run) + " at " +
            std::to_string(start.time) + " in boot " + std::to_string(start.boot);
  return text;
}

uint32_t submission_of(const JobRecord& record) {
  return record.array_job_id() != 0 ? record.array_job_id() : record.job_id();
}

}  // namespace

const Simulation::Submitted* Simulation::submitted_as(uint32_t job_id) const {
  for (const auto& job : jobs_)
    if (job->job_id == job_id) return job.get();
  return nullptr;
}

bool Simulation::lost_between(int64_t from, int64_t until) const {
  const auto within = [&](int64_t time) { return time >= from - 1 && time <= until + 1; };
  return std::any_of(launcher_deaths_.begin(), launcher_deaths_.end(), within) ||
         std::any_of(boots_.begin(), boots_.end(), within);
}

bool Simulation::refused_before(int64_t time) const {
  constexpr int64_t kLongest = 100;  // longest time in s from an order to end until the end
  return std::any_of(refusals_.begin(), refusals_.end(),
                     [&](const auto& one) { return time >= one.first - 1 && time <= one.second + kLongest; });
}

void Simulation::check_now() {
  if (!engine_ || !engine_->ready()) {
    was_ready_ = false;
    return;
  }
  if (!std::exchange(was_ready_, true)) {
    say("daemon ready");
    check_acknowledged();
  }
  if (!over_limit_) check_limits();
}

// An ended job keeps its place until a new launcher or daemon has checked it; so do later launches in that
// place. None of its processes runs.
bool Simulation::is_being_cleared(const Job& job) const {
  const node::JobKey run{job.id, job.restarts};
  if (!machine_.pids_of(run).empty()) return false;
  // Given back or cancelled, which may not be stored yet: the user repeats the request.
  const Submitted* submitted = submitted_as(job.array_job_id != 0 ? job.array_job_id : job.id);
  if (job.completing || (submitted != nullptr && submitted->leaving)) return true;
  if (host_.launcher) {
    const auto& launches = host_.launcher->table().all();
    const auto launch = launches.find({run, STEP_BATCH, 0});
    if (launch != launches.end() && launch->second.ended()) return true;
  }
  return std::any_of(machine_.starts().begin(), machine_.starts().end(), [&](const Start& start) {
    return start.launch.job == run && start.launch.kind == STEP_BATCH;
  });
}

void Simulation::check_limits() {
  const Core& core = engine_->core();
  uint32_t used = 0;
  std::map<uint32_t, uint32_t> used_by;  // association
  const auto count = [&](auto&& counts) {
    used = 0;
    used_by.clear();
    for (const auto& [id, job] : core.state.jobs()) {
      // A resumed job takes its lent processors back, whoever uses them.
      if (!job->holds_nodes() || !job->details || job->details->suspend_time != 0 || !counts(*job)) continue;
      for (const NodeAllocation& node : job->details->nodes) {
        used += node.cpus();
        used_by[job->association] += node.cpus();
      }
    }
  };
  const auto limit_of = [&](uint32_t association) {
    const AssociationRecord* record = core.accounts->book().association(association);
    const auto limit = record == nullptr ? account_cpus_.end() : account_cpus_.find(record->account());
    return limit == account_cpus_.end() || limit->second == 0 ? kCpus : limit->second;
  };
  const auto is_over = [&] {
    return used > kCpus || std::any_of(used_by.begin(), used_by.end(),
                                       [&](const auto& one) { return one.second > limit_of(one.first); });
  };
  count([](const Job&) { return true; });
  if (!is_over()) return;
  count([this](const Job& job) { return !is_being_cleared(job); });
  if (!is_over()) return;
  over_limit_ = true;  // once is enough
  for (const auto& [id, job] : core.state.jobs()) {
    if (job->holds_nodes() && job->details && job->details->nodes.size() > 0)
      say("  " + std::to_string(job->details->nodes[0].cpus()) +
          " CPUs: " + told(engine_->core().state.record_of(*job)) +
          (is_being_cleared(*job) ? ", being cleared away" : ""));
  }
  if (used > kCpus) find("over-limit", std::to_string(used) + " CPUs of the node are in use");
  for (const auto& [association, cpus] : used_by) {
    if (cpus <= limit_of(association)) continue;
    find("over-limit", "account " + core.accounts->book().association(association)->account() + " uses " +
                           std::to_string(cpus) + " CPUs, and may use " +
                           std::to_string(limit_of(association)));
  }
}

void Simulation::check_acknowledged() {
  Core& core = engine_->core();
  for (const auto& job : jobs_) {
    if (job->job_id == 0 || core.state.find(job->job_id) != nullptr) continue;
    const auto stored = core.store.job(job->job_id);
    if (!stored) {
      say("the store cannot be read: " + stored.error().message);
    } else if (!*stored) {
      find("lost", "job " + std::to_string(job->job_id) + " was acknowledged, and nobody knows it");
    }
  }
}

void Simulation::check_drained() {
  if (drained()) return;
  if (!engine_ || !engine_->ready()) return find("waits", "the daemon does not come back");
  if (!host_.launcher) find("waits", "there is no launcher: " + host_.problem);
  if (!attempts_.empty()) find("waits", std::to_string(attempts_.size()) + " requests are not answered");
  int shown = 0;
  for (const auto& [id, job] : engine_->core().state.jobs()) {
    if (++shown > 3) break;
    find("waits", told(engine_->core().state.record_of(*job)) + (job->completing ? ", completing" : ""));
  }
  for (const auto& [pid, process] : machine_.processes()) {
    if (engine_->core().state.find(process.launch.job.job_id) == nullptr)
      find("orphan", "a process of job " + std::to_string(process.launch.job.job_id) + " is left");
  }
}

Simulation::Records Simulation::all_records() {
  Records all;
  store::AccountingQuery query;
  query.with_steps = query.duplicates = true;
  engine_->store().query(query, [&](auto chunk) {
    if (!chunk) return find("lost", "the accounting cannot be read: " + chunk.error().message);
    for (auto& one : *chunk) all.push_back(std::move(one));
  });
  return all;
}

void Simulation::check_end() {
  check_drained();
  if (!engine_ || !engine_->ready()) return;
  check_acknowledged();
  const Records all = all_records();
  for (const auto& job : jobs_)
    if (job->job_id != 0) check_job(*job, all);
  check_starts(all);
  check_steps(all);
  check_usage(all);
  check_directories();
  // Refused or unanswered submissions may exist only if the disk left that open.
  std::set<uint32_t> others;
  for (const auto& one : all)
    if (submitted_as(submission_of(one.job.record)) == nullptr) others.insert(submission_of(one.job.record));
  const auto open =
      std::count_if(jobs_.begin(), jobs_.end(), [](const auto& job) { return job->job_id == 0; });
  if (others.size() > static_cast<size_t>(disk_failed_ ? open : 0))
    find("twice", std::to_string(others.size()) +
                      " submissions are there that nobody was told of, the first is job " +
                      std::to_string(*others.begin()));
}

void Simulation::check_job(const Submitted& job, const Records& all) {
  std::map<uint32_t, std::map<uint32_t, const JobRecord*>> tasks;  // by index, by job id: the last run
  for (const auto& one : all) {
    const JobRecord& record = one.job.record;
    if (submission_of(record) != job.job_id) continue;
    if (record.array_job_id() != 0 && !record.has_array_task_id()) {
      // Reported as waiting; or an earlier attempt of all tasks that a requeue undid.
      if (record.state() < JOB_COMPLETE || record.state() == JOB_REQUEUED) continue;
      for (const IndexRange& range : record.array_pending().ranges())
        for (uint32_t i = range.first(); i <= range.last(); i += std::max(1u, range.step()))
          tasks[i][record.job_id()] = &record;
      continue;
    }
    tasks[record.has_array_task_id() ? record.array_task_id() : 0][record.job_id()] = &record;
  }
  for (uint32_t task = 0; task < job.tasks; ++task) {
    const std::string name = "job " + std::to_string(job.job_id) + ", task " + std::to_string(task);
    if (tasks[task].empty() && !job.touched) find("lost", name + " is in no record");
    if (tasks[task].size() > 1) find("twice", name + " has several records");
    for (const auto& [id, record] : tasks[task]) check_outcome(job, *record);
  }
}

void Simulation::check_outcome(const Submitted& job, const JobRecord& record) {
  if (record.state() < JOB_COMPLETE || record.state() == JOB_REQUEUED) {
    if (drained()) find("outcome", "it has not ended: " + told(record));
    return;
  }
  if (record.reason() == FAIL_LAUNCH) return find("outcome", "it was never launched: " + told(record));
  // Only an order ends programs by a signal, and the reason for an order is stored before it.
  if (record.state() == JOB_FAILED && WIFSIGNALED(record.exit_code()) && !refused_before(record.end_time()))
    return find("outcome", "a signal ended it, and nobody knows why: " + told(record));
  if (job.touched) return;
  const bool lost = lost_between(record.start_time(), record.end_time());
  if (job.interactive) {
    if (record.state() != JOB_COMPLETE && !lost && boots_.empty()) find("outcome", told(record));
    return;
  }
  if (record.state() == JOB_NODE_FAIL && lost && !job.may_requeue) return;
  const JobState expected = job.exit_code == 0 ? JOB_COMPLETE : JOB_FAILED;
  if (record.state() != expected || record.exit_code() != job.exit_code << 8)
    find("outcome", told(record) + ", expected exit " + std::to_string(job.exit_code << 8));
}

void Simulation::check_starts(const Records& all) {
  std::map<uint32_t, uint32_t> submissions;  // by job id
  for (const auto& one : all) submissions[one.job.record.job_id()] = submission_of(one.job.record);
  std::map<std::pair<uint32_t, std::string>, std::vector<Start>> starts;  // of scripts, by job id and task
  for (const Start& start : machine_.starts()) {
    const uint32_t job_id = start.launch.job.job_id;
    if (!start.executed)
      find("outcome", "the script of job " + std::to_string(job_id) + " was damaged when it was to run");
    if (start.launch.kind == STEP_BATCH) starts[{job_id, start.task}].push_back(start);
  }
  for (const auto& [id, of_job] : starts) {
    const std::string name = "job " + std::to_string(id.first) + " (" + id.second + ")";
    // Its start was not durable at the power cut; the task runs again with another number.
    const bool forgotten = of_job.back().boot != machine_.boot();
    if (!submissions.contains(id.first)) {
      if (!forgotten) find("lost", name + " ran, and is in no record");
    } else if (const Submitted* job = submitted_as(submissions.at(id.first))) {
      check_runs(*job, name, of_job);
    }
  }
}

void Simulation::check_runs(const Submitted& job, const std::string& name, const std::vector<Start>& starts) {
  if (!job.may_requeue && starts.size() > 1)
    return find("twice", name + " has --no-requeue, and ran" + told(starts));
  for (size_t i = 1; i < starts.size(); ++i) {
    // Its start was not durable at the power cut.
    const bool power = starts[i].boot != starts[i - 1].boot;
    if (starts[i].launch.job.run == starts[i - 1].launch.job.run && !power)
      find("twice", name + ": one run was started twice, it ran" + told({starts[i - 1], starts[i]}));
    if (!power && !job.touched && !lost_between(starts[i - 1].time, starts[i].time))
      find("twice", name + " ran again, and nobody and no fault made it");
  }
}

void Simulation::check_steps(const Records& all) {
  std::set<std::tuple<uint32_t, uint32_t, uint32_t>> recorded;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, const Step*> told;
  for (const auto& one : all)
    for (const StepRecord& step : one.steps)
      if (step.kind() == STEP_NORMAL) recorded.emplace(step.job_id(), step.restarts(), step.step_id());
  for (const auto& step : asked_steps_) {
    if (!step->started) continue;
    const std::tuple id(step->job_id, step->run, step->step_id);
    const std::string name = std::to_string(step->job_id) + "." + std::to_string(step->step_id) + " of run " +
                             std::to_string(step->run);
    // A step before a power cut may have left no trace: its client is gone too, and its run is forgotten.
    const auto [other, is_new] = told.try_emplace(id, step.get());
    const Step& earlier = other->second->boot < step->boot ? *other->second : *step;
    if (!is_new && (earlier.ended || other->second->boot == step->boot))
      find("step-number", "two steps are " + name);
    if (!recorded.contains(id) && (step->ended || boots_.empty()))
      find("lost", "step " + name + (step->ended ? " ended" : " started") + ", and is in no record");
  }
}

void Simulation::check_usage(const Records& all) {
  std::map<uint32_t, double> by_association;
  for (const auto& one : all) {
    const JobRecord& record = one.job.record;
    if (record.start_time() == 0 || record.end_time() == 0 || record.state() < JOB_COMPLETE) continue;
    by_association[record.association_id()] +=  // also of those that no client was told of
        static_cast<double>(record.num_cpus()) *
        static_cast<double>(record.end_time() - record.start_time() - record.suspended_seconds());
  }
  api::QueryAccountsRequest request;
  request.set_with_usage(true);
  api::AccountsReply reply;
  engine_->core().accounts->query(request, reply);
  for (const AssociationRecord& association : reply.associations()) {
    if (association.user().empty() || association.account() == "root") continue;
    double used = 0;
    for (const UsageRecord& usage : reply.usage())
      if (usage.id() == association.id()) used = usage.raw();
    if (std::abs(used - by_association[association.id()]) > 0.5)
      find("usage", "account " + association.account() + " has used " + std::to_string(used) +
                        " CPU seconds, its jobs " + std::to_string(by_association[association.id()]));
  }
}

void Simulation::check_directories() {
  // After a power cut a directory may reappear, and a failing disk may keep one.
  if (!drained() || !boots_.empty() || disk_failed_) return;
  for (const auto& entry : std::filesystem::directory_iterator(config_.tmp_root))
    find("orphan", entry.path().filename().string() + " is left");
}

}  // namespace minke::engine::simulation
