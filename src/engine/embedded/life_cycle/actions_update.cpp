// scontrol update of a job: applies changes to its request.
//
// A changed job gets its own Submission, so that other tasks of its array keep theirs. Options that decide
// its placement can change only while it waits, and only to what could run here. State's thread.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "api/field.pb.h"
#include "api/updates.pb.h"
#include "engine/embedded/accounts/accounts.h"
#include "engine/embedded/accounts/rights.h"
#include "engine/embedded/core.h"
#include "engine/embedded/life_cycle/actions.h"
#include "engine/embedded/life_cycle/dependencies.h"
#include "engine/embedded/life_cycle/lifecycle.h"
#include "engine/embedded/scheduling/nodes.h"
#include "engine/embedded/scheduling/priorities.h"
#include "engine/embedded/scheduling/reservations.h"
#include "engine/embedded/scheduling/scheduling.h"
#include "engine/embedded/state/spec_change.h"
#include "engine/embedded/steps/steps.h"
#include "engine/embedded/watching/mail.h"
#include "submit/text_limits.h"
#include "submit/update.h"
#include "text/duration.h"
#include "text/number.h"

namespace minke::engine {

using namespace model;

namespace {

constexpr int kMostFields = 1000;

Status check_fields(const api::UpdateJobRequest& request) {
  if (request.fields_size() > kMostFields)
    return failure("more than " + std::to_string(kMostFields) + " changes at once", kNotSupported);
  for (const api::Field& field : request.fields()) {
    for (const std::string* text : {&field.name(), &field.value()})
      if (const Status fit = submit::check_text("a change", *text, submit::kMostLineBytes); !fit) return fit;
  }
  return {};
}

uint32_t limit_of(const JobSpec& spec) {
  return spec.has_time_limit_minutes() && spec.time_limit_minutes() != 0 ? spec.time_limit_minutes()
                                                                         : kUnlimited;
}

}  // namespace

// If the limit is given several times, the last one counts, and each step is changed once.
Status Actions::update_steps(const Job& job, const api::UpdateJobRequest& request) {
  std::optional<uint32_t> limit;
  for (const api::Field& field : request.fields()) {
    const auto minutes = text::parse_minutes(field.value());
    if (field.name() != "TimeLimit" || !minutes)
      return failure("a step's " + field.name() + " cannot be changed", kNotSupported);
    limit = *minutes;
  }
  if (!limit) return {};
  const auto step = request.has_step_id() ? std::optional(request.step_id()) : std::nullopt;
  return core_.steps->set_time_limit(job.id, step, *limit);
}

// Refuses to users what only operators may do: raising their own jobs' values.
Status Actions::admits_update(const Job& job, const JobSpec& spec, uint32_t uid) const {
  if (core_.rights->is_operator(uid)) return {};
  const JobSpec before = job.submission->spec();
  if (spec.nice() < before.nice() || spec.admin_comment() != before.admin_comment())
    return failure("", kAccessDenied);
  const bool set = spec.has_priority() && (!before.has_priority() || spec.priority() != before.priority());
  if (set && spec.priority() > job.priority) return failure("", kAccessDenied);
  // Other jobs rely on the resources becoming free at its limit.
  if (job.holds_nodes() && limit_of(spec) > job.time_limit_minutes) return failure("", kAccessDenied);
  return {};
}

Status Actions::admit_anew(Job& job, const JobSpec& spec, const Accounts::Charge& charge, uint32_t uid) {
  const std::string& list = spec.partition();
  const auto request = core_.scheduling->request_for(
      spec, list.empty() ? job.submission->partitions.front() : list.substr(0, list.find(',')), 0);
  // The job must not count against itself.
  core_.accounts->left(job);
  const uint64_t tasks = job.array ? job.array->waiting.size() : 1;
  const Status admitted = !request || core_.rights->is_operator(uid)
                              ? Status()
                              : core_.accounts->admit(charge, spec, job.uid, *request, tasks);
  if (admitted) {
    job.association = charge.association;
    job.qos = charge.qos;
    job.partition_qos = charge.partition_qos;
  }
  if (!job.ended()) core_.accounts->submitted(job);
  return admitted;
}

Status Actions::charge_anew(Job& job, JobSpec& spec, bool larger, uint32_t uid) {
  const JobSpec before = job.submission->spec();
  const bool same = spec.account() == before.account() && spec.qos() == before.qos() &&
                    spec.partition() == before.partition();
  if ((same && !larger) || !core_.accounts->book().configured()) return {};
  if (same) return admit_anew(job, spec, {job.association, job.qos, job.partition_qos}, uid);
  if (job.state != JOB_PENDING) return failure("", kJobNotPending);
  const auto charge = core_.accounts->choose(spec, job.uid);
  if (!charge) return failure(charge.error());
  return admit_anew(job, spec, *charge, uid);
}

// The kinds of options that the update changes.
struct Actions::Changes {
  std::array<bool, static_cast<size_t>(submit::Updated::kOther) + 1> of{};
  bool operator[](submit::Updated sort) const { return of[static_cast<size_t>(sort)]; }
};

Result<Actions::Changes> Actions::apply_fields(const Job& job, const api::UpdateJobRequest& request,
                                               JobSpec& spec) const {
  // Starts from the current limit, so that "+10" is relative to it.
  if (job.time_limit_minutes != kUnlimited || spec.has_time_limit_minutes())
    spec.set_time_limit_minutes(job.time_limit_minutes);
  Changes changes;
  const int64_t started = job.holds_nodes() ? job.start_time : 0;
  for (const api::Field& field : request.fields()) {
    const auto changed = submit::apply_update(spec, field.name(), field.value(), core_.now(), started);
    if (!changed) return failure(changed.error());
    changes.of[static_cast<size_t>(*changed)] = true;
  }
  if (const Status fit = submit::check_texts(spec); !fit) return failure(fit.error());
  return changes;
}

// Refuses changes that are not possible once the job runs.
Status Actions::check_state(const Job& job, const JobSpec& spec, const Changes& changes) const {
  using submit::Updated;
  if (job.state == JOB_PENDING) return {};
  if (changes[Updated::kResources] || changes[Updated::kDependency] || changes[Updated::kBeginTime])
    return failure("", kJobNotPending);
  // A running job's priority is only a number, and the job cannot be held.
  const bool held = spec.has_priority() && spec.priority() == 0;
  if (changes[Updated::kPriority] && held) return failure("", kJobFinished);
  return {};
}

// Checks the job as if it were submitted now: its dependencies, its place and its account.
Status Actions::check_place(Job& job, JobSpec& spec, const Changes& changes, uint32_t uid) {
  using submit::Updated;
  if (changes[Updated::kDependency]) {
    if (const Status known = core_.dependencies->check(spec, job.uid); !known) return known;
    if (const Status line = core_.dependencies->check_circle(job, spec); !line) return line;
  }
  const bool waits = job.state == JOB_PENDING;
  const bool placement = changes[Updated::kResources];
  if (placement || (changes[Updated::kTimeLimit] && waits)) {
    if (const Status admitted = core_.reservations->admits(spec, job.uid); !admitted) return admitted;
    if (const Status admitted = core_.nodes->choose_partitions(spec, job.uid); !admitted) return admitted;
    std::string partitions;
    if (const Status possible = core_.scheduling->check(spec, partitions); !possible) return possible;
    if (core_.config.part_limits != config::PartLimits::kNo) spec.set_partition(partitions);
  }
  return charge_anew(job, spec, waits && (placement || changes[Updated::kTimeLimit]), uid);
}

void Actions::set_priority(Job& job, const JobSpec& spec) {
  if (job.priority != 0) job.priority = std::max(1u, core_.priorities->initial(spec, job.id));
  if (!spec.has_priority()) return;
  job.priority = spec.priority();
  job.fixed_priority = job.priority != 0;
  if (job.priority == 0) job.reason = WAIT_HELD_USER;
}

// Applies the changes; all has been checked.
void Actions::take_over(Job& job, JobSpec& spec, const Changes& changes) {
  using submit::Updated;
  core_.scheduling->remove(job);
  core_.mail->complete_address(spec, job.uid);
  const std::string name(job.submission->brief_spec().name);
  change_spec(core_, job, spec);
  if (spec.name() != name) core_.dependencies->renamed(job, name);
  if (changes[Updated::kTimeLimit]) {
    job.time_limit_minutes = limit_of(spec);
    if (job.holds_nodes()) core_.scheduling->time_limit_changed(job);
  }
  if (changes[Updated::kArrayThrottle])
    core_.state.set_throttle(job.array_job_id, spec.array().max_running());
  if (spec.has_requeue()) job.requeue_allowed = spec.requeue();
  if (changes[Updated::kBeginTime]) job.eligible_time = std::max(core_.now(), spec.begin_time());
  if (changes[Updated::kDependency]) {
    core_.dependencies->forget(job);
    job.need_details().dependencies.clear();
    core_.dependencies->watch(job);
  }
  if (changes[Updated::kPriority]) set_priority(job, spec);
  core_.committer.job_changed(job.id);
  core_.lifecycle->set_alarm(job);
  if (job.state == JOB_PENDING) core_.scheduling->update(job);
  if (changes[Updated::kArrayThrottle]) core_.scheduling->throttle_changed(job.array_job_id);
}

Status Actions::update_job(Job& job, const api::UpdateJobRequest& request, uint32_t uid) {
  if (const Status fit = check_fields(request); !fit) return fit;
  if (request.steps()) return update_steps(job, request);
  if (const Status changeable = is_changeable(job); !changeable) return changeable;
  if (job.ended()) return failure("", kJobFinished);
  JobSpec spec = job.submission->spec();
  const auto changes = apply_fields(job, request, spec);
  if (!changes) return failure(changes.error());
  if (!spec.account().empty()) spec.set_account(text::lower_case(spec.account()));  // as sacctmgr names them
  if (const Status admitted = admits_update(job, spec, uid); !admitted) return admitted;
  if (is_resize(job, request)) return give_nodes_back(job, request.fields(0), spec);
  if (const Status fit = check_state(job, spec, *changes); !fit) return fit;
  const Status paid =
      core_.rights->budgets().spend(uid, config::Budget::kStoredBytes, spec.ByteSizeLong(), core_.now());
  if (!paid) return paid;
  if (const Status possible = check_place(job, spec, *changes, uid); !possible) return possible;
  take_over(job, spec, *changes);
  return {};
}

void Actions::update(const api::UpdateJobRequest& request, const Sender& sender, Reply reply) {
  Selectors jobs;
  google::protobuf::RepeatedPtrField<std::string> names;
  if (request.name().empty()) {
    *jobs.Add() = request.job();
  } else {
    *names.Add() = request.name();
  }
  ActionOrder order = order_of(sender, std::move(reply));
  order.selectors = named(jobs, names, sender.uid);
  if (order.selectors.empty()) order.selectors.Add();
  order.when_ended = kJobFinished;
  order.action = [this, request, uid = sender.uid](Job& job) { return update_job(job, request, uid); };
  carry_out(core_, std::move(order));
}

}  // namespace minke::engine
