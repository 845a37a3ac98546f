#include "engine/embedded/life_cycle/submitting.h"

#include <algorithm>
#include <list>
#include <utility>

#include "api/submission.pb.h"
#include "engine/embedded/accounts/accounts.h"
#include "engine/embedded/accounts/rights.h"
#include "engine/embedded/accounts/users.h"
#include "engine/embedded/core.h"
#include "engine/embedded/life_cycle/dependencies.h"
#include "engine/embedded/life_cycle/lifecycle.h"
#include "engine/embedded/scheduling/nodes.h"
#include "engine/embedded/scheduling/priorities.h"
#include "engine/embedded/scheduling/reservations.h"
#include "engine/embedded/scheduling/scheduling.h"
#include "engine/embedded/scheduling/submission_forecast.h"
#include "engine/embedded/scheduling/world.h"
#include "engine/embedded/server/peer_owner.h"
#include "engine/embedded/state/kept_submission.h"
#include "engine/embedded/watching/mail.h"
#include "model/error.h"
#include "model/nobody.h"
#include "sched/constraint.h"
#include "sched/machine.h"
#include "store/job_row.h"
#include "store/store.h"
#include "submit/text_limits.h"
#include "text/duration.h"
#include "text/hostlist.h"
#include "text/mail_address.h"
#include "text/number.h"

namespace minke::engine {

using namespace model;

namespace {

constexpr size_t kKeyBytes = 16;
constexpr int kMaxComponents = 128;

// A request without memory gets its partition's current default, even if that changes later.
void take_default_memory(JobSpec& spec, const PartitionRecord& partition) {
  if (spec.has_mem_per_cpu_mib() || spec.has_mem_per_node_mib() || spec.has_mem_per_gpu_mib()) return;
  if (partition.has_default_mem_per_cpu_mib()) {
    spec.set_mem_per_cpu_mib(partition.default_mem_per_cpu_mib());
  } else if (partition.has_default_mem_per_node_mib()) {
    spec.set_mem_per_node_mib(partition.default_mem_per_node_mib());
  }
  spec.set_memory_by_default(spec.has_mem_per_cpu_mib() || spec.has_mem_per_node_mib());
}

// What comes with each GPU, where it asks for no processors, or no memory.
void take_gpu_defaults(JobSpec& spec, const PartitionRecord* partition) {
  if (partition == nullptr || !asks_for_gpus(spec)) return;
  if (partition->has_default_cpus_per_gpu() && !spec.has_cpus_per_task() && !spec.has_cpus_per_gpu()) {
    spec.set_cpus_per_gpu(partition->default_cpus_per_gpu());
    spec.set_cpus_per_gpu_by_default(true);
  }
  if (partition->has_default_mem_per_gpu_mib() && !spec.has_mem_per_cpu_mib() &&
      !spec.has_mem_per_node_mib() && !spec.has_mem_per_gpu_mib()) {
    spec.set_mem_per_gpu_mib(partition->default_mem_per_gpu_mib());
    spec.set_mem_per_gpu_by_default(true);
  }
}

std::string first_of(const std::string& list) {
  return list.substr(0, list.find(','));
}

// Notes addresses of a kind to which this cluster sends nothing.
void note_unreachable(const std::vector<std::string>& addresses, const config::MailConfiguration& mail,
                      api::SubmitReply& answer) {
  for (const std::string& one : addresses) {
    if (text::webhook_name(one) && !mail.webhooks)
      answer.add_notes("nothing will be sent to " + one +
                       ": [mail] of minke.toml has no webhooks = \"public\"");
    if (text::command_name(one) && !mail.commands)
      answer.add_notes("nothing will be sent to " + one + ": [mail] of minke.toml has no commands = true");
    if (!text::webhook_name(one) && !text::command_name(one) && !mail.has_mail())
      answer.add_notes("no mail will be sent to " + one +
                       ": [mail] of minke.toml has neither program nor server");
  }
}

}  // namespace

Result<JobSpec> Submitting::complete_spec(const JobSpec& given) const {
  JobSpec spec = given;
  if (spec.work_dir().empty() || spec.work_dir().front() != '/') {
    return failure("the working directory must be an absolute path", kPathnameTooLong);
  }
  // Nodes are not reserved per user; only exclusive nodes keep other users' jobs out.
  if (core_.config.shared && !spec.exclusive_mode().empty()) spec.set_exclusive(true);
  if (!spec.account().empty()) spec.set_account(text::lower_case(spec.account()));  // as sacctmgr names them
  return spec;
}

Status Submitting::check(const api::SubmitRequest& request, std::vector<JobSpec>& specs, uint32_t uid,
                         Charges& charges) const {
  if (request.key().size() != kKeyBytes) return failure("a submission's key has 16 bytes", kInternal);
  if (request.script().size() > submit::kMostScriptBytes)
    return failure("the script is over 4 MiB", kPathnameTooLong);
  std::list<Accounts::Counted> counted;  // limits on numbers of jobs hold for all components together
  for (JobSpec& spec : specs) {
    if (request.script().empty() != spec.interactive()) return failure("", kJobScriptMissing);
    if (specs.size() > 1 && spec.has_array())
      return failure("a heterogeneous job cannot be an array", kNotSupported);
    if (const Status possible = check(spec, uid, charges); !possible) return possible;
    if (specs.size() > 1) counted.emplace_back(*core_.accounts, charges.back(), uid);
  }
  return {};
}

Status Submitting::check_times(const JobSpec& spec) const {
  // Bounds times so that their sums do not overflow. No option sets a later time.
  constexpr int64_t kLatest = int64_t{1} << 40;
  for (const int64_t time : {spec.begin_time(), spec.deadline()}) {
    if (time < 0 || time > kLatest)
      return failure("a time must be between the years 1970 and 36812", kInvalidTimeValue);
  }
  if (spec.deadline() == 0) return {};
  if (spec.begin_time() != 0 && spec.deadline() < spec.begin_time())
    return failure("the deadline is before the begin time", kInvalidTimeValue);
  if (spec.deadline() <= core_.now()) return failure("the deadline has passed", kInvalidTimeLimit);
  const int64_t first = std::max(core_.now(), spec.begin_time());
  // In older releases a --time beyond the deadline is accepted, and the job ends at the deadline.
  if (core_.config.slurm_release >= kSlurm24 && spec.time_min_minutes() == 0) {
    const uint32_t minutes = core_.scheduling->time_limit_of(spec);
    if (minutes != text::kUnlimited && spec.deadline() < first + int64_t{60} * minutes)
      return failure("the deadline comes before the end of the time limit", kInvalidTimeLimit);
  }
  if (spec.time_min_minutes() == 0 || spec.time_min_minutes() == text::kUnlimited) return {};
  if (spec.deadline() < first + int64_t{60} * spec.time_min_minutes()) return failure("", kInvalidTimeMin);
  return {};
}

// Whether there are the features and nodes that it names; and whether it is a bearable array.
Status Submitting::check_names(const JobSpec& spec) const {
  const sched::MachineLayout& layout = core_.world->machine().layout();
  if (!spec.constraint().empty()) {
    const auto features = sched::parse_constraint(spec.constraint(), layout);
    if (!features) return failure(features.error());
  }
  if (const Status bearable = check_array(spec); !bearable) return bearable;
  if (spec.node_list().empty()) return {};
  const auto names = text::expand_hostlist(spec.node_list());
  if (!names) return {};  // told where the request is made
  for (const std::string& name : *names)
    if (!layout.find_node(name)) return failure("--nodelist: there is no node " + name, kInvalidNodeName);
  return {};
}

// A job that is larger than a whole partition, and has another mistake besides, is told its size.
Status Submitting::check_sizes(const JobSpec& spec) const {
  if (core_.config.part_limits != config::PartLimits::kAll) return {};
  JobSpec plain = spec;  // with nothing else that could be wrong
  plain.clear_time_limit_minutes();
  plain.clear_time_min_minutes();
  plain.clear_deadline();
  plain.clear_licenses();
  for (const std::string& name :
       make_submission(0, spec, core_.nodes->default_partition().name()).partitions) {
    if (!core_.nodes->is_larger_than(spec, name)) continue;
    const auto request = core_.scheduling->request_for(plain, name, 0);
    if (request) continue;
    const int code = request.error().code;
    if (code == kTooManyCpus || code == kInvalidNodeCount) return failure(request.error());
  }
  return {};
}

Status Submitting::check_array(const JobSpec& spec) const {
  const auto& ranges = spec.array().ranges();
  if (ranges.empty()) return {};
  const uint32_t most = core_.config.max_array_size;
  if (ranges.size() <= kMostRanges && TaskSet::is_bearable(ranges, most, most)) return {};
  return failure("array indices must be below MaxArraySize=" + std::to_string(most) + ", in at most " +
                     std::to_string(kMostRanges) + " ranges",
                 kInvalidArray);
}

// Chooses the association and checks its limits. A time limit that it sets becomes the job's.
Result<Accounts::Charge> Submitting::charge_for(JobSpec& spec, const std::string& partition,
                                                uint32_t uid) const {
  auto charge = core_.accounts->choose(spec, uid);
  if (!charge) return charge;
  auto request = core_.scheduling->request_for(spec, partition, 0);
  if (!request) return charge;
  if (!spec.has_time_limit_minutes()) {
    const uint32_t longest = core_.accounts->longest_minutes(*charge, spec, *request);
    if (longest < core_.scheduling->time_limit_of(spec)) {
      spec.set_time_limit_minutes(longest);
      request->time_limit_minutes = longest;
    }
  }
  const uint64_t tasks = spec.has_array() ? std::max<uint64_t>(1, TaskSet(spec.array()).size()) : 1;
  const Status admitted = core_.accounts->admit(*charge, spec, uid, *request, tasks);
  if (!admitted) return failure(admitted.error());
  return charge;
}

// Whether a job that nothing here can run is taken all the same, as in Slurm: its machine may change while it
// is held, and limits of partitions may while it has a time to begin, or always (EnforcePartLimits=NO).
bool Submitting::may_wait(const JobSpec& spec, const Error& problem) const {
  const bool always = core_.config.part_limits == config::PartLimits::kNo;
  if (spec.interactive() && !spec.external() && !always) return false;
  bool beyond_partition =
      problem.code == kTooManyCpus || problem.code == kInvalidNodeCount || problem.code == kInvalidTimeLimit;
  if (problem.code == kNodeConfigUnavailable) {
    beyond_partition = core_.nodes->is_larger_than(spec, first_of(spec.partition()));
    if (spec.hold() && !beyond_partition) return true;
  }
  const bool later = spec.hold() || spec.begin_time() > core_.now();
  return beyond_partition && (always || later) && core_.config.part_limits != config::PartLimits::kAll;
}

Status Submitting::check(JobSpec& spec, uint32_t uid, Charges& charges) const {
  if (const Status fit = submit::check_texts(spec); !fit) return fit;
  if (const Status harmless = text::check_mail_user(spec.mail_user()); !harmless)
    return failure(harmless.error().message, kNotSupported);
  core_.mail->complete_address(spec, uid);
  if (const Status admitted = core_.rights->admits(uid, spec); !admitted) return admitted;
  // The order of these checks is Slurm's: of several mistakes it tells the first.
  if (const Status known = check_names(spec); !known) return known;
  // What is wrong with its account is told where it is charged.
  JobSpec named = spec;
  const bool charged = core_.accounts->choose(named, uid).has_value();
  const JobSpec& charged_spec = charged ? named : spec;
  if (const Status admitted = core_.nodes->choose_partitions(spec, uid, charged_spec); !admitted)
    return admitted;
  if (const Status fits = check_sizes(spec); !fits) return fits;
  if (const Status possible = check_times(spec); !possible) return possible;
  take_gpu_defaults(spec, core_.nodes->find_partition(first_of(spec.partition())));
  std::string partitions;
  const Status possible = core_.scheduling->check(spec, partitions);
  if (!possible && possible.error().code != kNodeConfigUnavailable && !may_wait(spec, possible.error()))
    return possible;
  if (const Status admitted = core_.reservations->admits(charged_spec, uid); !admitted) return admitted;
  if (const Status room = core_.reservations->has_room(spec); !room) return room;
  if (possible) {
    // With NO it waits for all of its list.
    if (core_.config.part_limits != config::PartLimits::kNo) spec.set_partition(partitions);
  } else if (!may_wait(spec, possible.error())) {
    return possible;
  }
  partitions = spec.partition();
  const std::string partition = first_of(partitions);
  const auto charge = charge_for(spec, partition, uid);
  if (!charge) return failure(charge.error());
  charges.push_back(*charge);
  if (const auto* first = core_.nodes->find_partition(partition)) take_default_memory(spec, *first);
  return core_.dependencies->check(spec, uid);
}

bool Submitting::is_owner_of(uint32_t job_id, uint32_t uid) const {
  if (const Job* job = core_.state.find(job_id)) return job->uid == uid;
  const auto stored = core_.store.job(job_id);
  return stored && (!*stored || (*stored)->record.uid() == uid);
}

Result<std::vector<JobSpec>> Submitting::specs_of(const api::SubmitRequest& request) const {
  if (request.het_components_size() > kMaxComponents)
    return failure("a heterogeneous job has 128 components at most", kNotSupported);
  std::vector<JobSpec> specs;
  const auto take = [&](const JobSpec& given) -> Status {
    auto spec = complete_spec(given);
    if (!spec) return failure(spec.error());
    specs.push_back(std::move(*spec));
    return {};
  };
  for (const JobSpec& given : request.het_components())
    if (const Status taken = take(given); !taken) return failure(taken.error());
  if (!specs.empty()) return specs;
  if (const Status taken = take(request.spec()); !taken) return failure(taken.error());
  return specs;
}

Submitting::Jobs Submitting::as_jobs(const Checked& checked, const std::vector<uint32_t>& ids,
                                     ToStore& to_store) {
  Jobs jobs;
  for (size_t i = 0; i < checked.specs.size(); ++i) {
    jobs.push_back(make_job(checked.request, checked.peer, ids[i], checked.specs[i], i == 0, to_store));
    jobs.back()->association = checked.charges[i].association;
    jobs.back()->qos = checked.charges[i].qos;
    jobs.back()->partition_qos = checked.charges[i].partition_qos;
  }
  return jobs;
}

// Makes jobs for a forecast.
Submitting::Jobs Submitting::not_yet_jobs(const Checked& checked) {
  ToStore nothing;
  return as_jobs(checked, std::vector<uint32_t>(checked.specs.size(), core_.state.next_job_id()), nothing);
}

// Checks --immediate.
Status Submitting::starts_now(const Checked& checked) {
  const JobSpec& first = checked.specs.front();
  if (first.hold() || first.begin_time() > core_.now() || first.dependencies_size() > 0)
    return failure("", kDependency);
  SubmissionForecast forecast(core_, not_yet_jobs(checked), true);
  while (!forecast.go_on()) {
  }
  if (forecast.best() && forecast.best()->start <= core_.now()) return {};
  return failure("", in_down_partition(first) ? kPartitionDown : kCannotStartImmediately);
}

Status Submitting::has_room(const Checked& checked) const {
  const std::vector<JobSpec>& specs = checked.specs;
  const uint64_t tasks = specs.front().has_array() ? TaskSet(specs.front().array()).size() : specs.size();
  const uint64_t most = core_.config.max_job_count;
  if (tasks > most || core_.state.jobs().size() + tasks > most)
    return failure("MaxJobCount=" + std::to_string(most) + " would be exceeded", kAccountingPolicy);
  return has_room_for(core_, checked.peer.uid, specs);
}

// What stays in the database until the job's record is forgotten, however soon the job is cancelled.
Status Submitting::pay_for(const Checked& checked, uint64_t new_bytes) {
  uint64_t bytes = new_bytes;
  for (const JobSpec& spec : checked.specs) bytes += spec.ByteSizeLong();
  return core_.rights->budgets().spend(checked.peer.uid, config::Budget::kStoredBytes, bytes, core_.now());
}

// Puts the jobs into the state, and their rows into the batch.
void Submitting::enter(const Checked& checked, const std::vector<uint32_t>& ids, Jobs jobs,
                       store::Batch& batch) {
  const size_t count = jobs.size();
  core_.state.skip_job_ids_to(ids.back());
  for (size_t i = 0; i < count; ++i) {
    std::unique_ptr<Job> job = std::move(jobs[i]);
    core_.accounts->submitted(*job);
    if (count > 1) {
      job->het_job_id = ids.front();
      job->het_offset = static_cast<uint16_t>(i);
      job->het_size = static_cast<uint16_t>(count);
    }
    batch.jobs.push_back(core_.state.row_of(core_.state.add(std::move(job))));
    batch.specs.push_back({ids[i], checked.specs[i]});
  }
}

void Submitting::take_back(const std::vector<uint32_t>& ids) {
  for (const uint32_t id : ids) {
    core_.accounts->left(*core_.state.find(id));
    core_.state.remove(id);
  }
}

void Submitting::add(const Checked& checked, Reply reply) {
  const size_t count = checked.specs.size();
  ToStore to_store;
  std::vector<uint32_t> ids;
  for (uint32_t i = 0; i < count; ++i) ids.push_back(core_.state.next_job_id() + i);
  Jobs jobs = as_jobs(checked, ids, to_store);
  if (const Status paid = pay_for(checked, to_store.new_bytes); !paid) return reply(failure(paid.error()));
  store::Batch& batch = to_store.batch;
  enter(checked, ids, std::move(jobs), batch);
  const std::string& key = checked.request.key();
  batch.submissions.emplace_back(key, ids.front());
  InFlight& under_way = in_flight_[key];
  under_way.uid = checked.peer.uid;
  under_way.replies.push_back(std::move(reply));
  core_.committer.submit(std::move(batch),
                         [this, ids, key](Status outcome) { committed(ids, key, std::move(outcome)); });
}

Result<Submitting::Tested> Submitting::test(const api::SubmitRequest& request, const rpc::Peer& peer) {
  auto specs = specs_of(request);
  if (!specs) return failure(specs.error());
  Checked checked{request, peer, std::move(*specs), {}};
  if (const Status possible = check(request, checked.specs, peer.uid, checked.charges); !possible)
    return failure(possible.error());
  const bool one_job = checked.specs.size() == 1;  // each component has a partition of its own
  return Tested{one_job ? first_of(checked.specs.front().partition()) : std::string(),
                std::make_unique<SubmissionForecast>(core_, not_yet_jobs(checked))};
}

// A repeated request, because the answer was lost: the first one counts, whatever has happened since.
Result<std::optional<uint32_t>> Submitting::known_job(const std::string& key, uint32_t uid) const {
  const auto known = core_.store.submission(key);
  if (!known) return failure(known.error());
  if (*known && !is_owner_of(**known, uid)) return failure("the key is another's", kAccessDenied);
  return std::optional<uint32_t>(*known);
}

void Submitting::submit(const api::SubmitRequest& request, const rpc::Peer& peer, Reply reply) {
  if (const auto waiting = in_flight_.find(request.key()); waiting != in_flight_.end()) {
    if (waiting->second.uid != peer.uid) return reply(failure("the key is another's", kAccessDenied));
    waiting->second.replies.push_back(std::move(reply));
    return;
  }
  auto specs = specs_of(request);
  if (!specs) return reply(failure(specs.error()));
  for (JobSpec& spec : *specs) spec.clear_cron();  // only crontabs have them (submit_all)
  const auto known = known_job(request.key(), peer.uid);
  if (!known) return reply(failure(known.error()));
  if (*known) {
    api::SubmitReply answer;
    answer.set_job_id(**known);
    return reply(answer);
  }
  Checked checked{request, peer, std::move(*specs), {}};
  if (const Status possible = check(request, checked.specs, peer.uid, checked.charges); !possible)
    return reply(failure(possible.error()));
  if (request.immediate())
    if (const Status now = starts_now(checked); !now) return reply(failure(now.error()));
  if (const Status room = has_room(checked); !room) return reply(failure(room.error()));
  add(checked, std::move(reply));
}

std::shared_ptr<const store::ContentHash> Submitting::keep_content(const std::string& content,
                                                                   ToStore& to_store) {
  const store::ContentHash hash = store::hash_content(content);
  bool is_new = false;
  auto kept = core_.state.intern(hash, &is_new);
  if (is_new) to_store.new_bytes += content.size();
  to_store.batch.contents.emplace_back(hash, content);
  return kept;
}

std::unique_ptr<Job> Submitting::make_job(const api::SubmitRequest& request, const rpc::Peer& peer,
                                          uint32_t id, const JobSpec& spec, bool runs_script,
                                          ToStore& to_store) {
  Submission submission = make_submission(id, spec, core_.nodes->default_partition().name());
  if (runs_script && !request.script().empty()) submission.script = keep_content(request.script(), to_store);
  submission.environment = keep_content(request.environment(), to_store);

  auto made = std::make_unique<Job>();
  made->id = id;
  made->uid = peer.uid;
  made->gid = peer.gid;
  made->submit_time = core_.now();
  made->eligible_time = std::max(made->submit_time, spec.begin_time());
  made->priority = core_.priorities->initial(spec, id);
  made->fixed_priority = spec.has_priority();
  made->requeue_allowed = spec.has_requeue() ? spec.requeue() : core_.config.requeue_by_default;
  made->submission = keep_submission(core_, peer.uid, std::move(submission));
  made->time_limit_minutes = core_.scheduling->time_limit_of(spec);
  if (spec.interactive() && !spec.external()) made->need_details().owner = owner_of_peer(peer);
  if (spec.has_array() && spec.array().ranges_size() > 0) {
    made->array_job_id = id;
    made->array = std::make_unique<ArrayTasks>();
    made->array->waiting = TaskSet(spec.array());
    made->array->max_running = spec.array().max_running();
  }
  if (made->priority == 0) made->reason = WAIT_HELD_USER;
  return made;
}

bool Submitting::in_down_partition(const JobSpec& spec) const {
  const std::string& name = spec.partition();
  const PartitionRecord* partition =
      name.empty() ? &core_.nodes->default_partition() : core_.nodes->find_partition(name);
  return partition != nullptr && partition->state() == "DOWN";
}

// The job is durable: from now on it may start or be cancelled.
void Submitting::let_go(Job& job) {
  core_.diagnostics.jobs_submitted(job.array ? job.array->waiting.size() : 1);
  core_.dependencies->watch(job);
  core_.lifecycle->set_alarm(job);
  core_.scheduling->update(job);
  if (core_.dependencies->never(job)) {
    core_.mail->never_starts(job);
    if (job.submission->kill_on_invalid_dependency) core_.lifecycle->cancel(job, model::kNobody);
  }
  if (job.submission->interactive) core_.lifecycle->watch_owner(job);
}

// Notes that the user should see at once.
void Submitting::add_notes(const Job& job, api::SubmitReply& answer) const {
  if (job.priority == 0 || job.eligible_time > core_.now()) {
    const JobSpec spec = job.submission->spec();
    std::string ignored;
    if (const Status possible = core_.scheduling->check(spec, ignored); !possible)
      answer.add_notes("warning: nothing here can run this job as it is: " + possible.error().message);
  }
  if (core_.config.part_limits == config::PartLimits::kNo && !job.queued && job.details &&
      !job.details->reason_detail.empty())
    answer.add_notes("warning: nothing here can run this job as it is: " + job.details->reason_detail);
  if (job.is_het_leader()) {  // each component can run; whether all can at once is for the user to know
    std::vector<JobSpec> specs;
    for (const Job* one : core_.state.components(job)) specs.push_back(one->submission->spec());
    if (const Status together = core_.scheduling->check_together(specs); !together)
      answer.add_notes("warning: nothing here can run this job as it is: " + together.error().message);
  }
  if (job.submission->mail_types == 0 && !job.submission->interactive && !core_.config.shared) return;
  const JobSpec spec = job.submission->spec();
  if (job.submission->mail_types != 0 && !core_.mail->configured())
    answer.add_notes("no mail will be sent: there is no [mail] in minke.toml");
  if (job.submission->mail_types != 0 && core_.mail->configured() && spec.mail_user().empty() &&
      !core_.config.mail->has_mail())
    answer.add_notes(core_.config.mail->webhooks
                         ? "no mail will be sent: [mail] has webhooks alone; write --mail-user=NAME@webhook"
                         : "no mail will be sent: [mail] has commands alone; write --mail-user=NAME@command");
  if (job.submission->mail_types != 0 && core_.mail->configured() && !spec.mail_user().empty()) {
    const auto addresses = text::parse_mail_addresses(spec.mail_user());
    if (!addresses) answer.add_notes("no mail will be sent: " + addresses.error().message);
    if (addresses) note_unreachable(*addresses, *core_.config.mail, answer);
  }
  if (job.submission->interactive && in_down_partition(spec))
    answer.add_notes(std::string(slurm_error_text(kPartitionDown)));
  if (core_.config.shared && !spec.exclusive_mode().empty())
    answer.add_notes("--exclusive=" + spec.exclusive_mode() +
                     ": nodes are not shared out by user here; the job gets whole nodes");
}

void Submitting::committed(const std::vector<uint32_t>& ids, const std::string& key, Status outcome) {
  const auto replies = std::move(in_flight_.extract(key).mapped().replies);
  if (!outcome) {
    take_back(ids);
    for (const Reply& reply : replies) reply(failure(outcome.error().message, kWritingToFile));
    return;
  }
  for (const uint32_t id : ids) core_.state.find(id)->committed = true;
  for (const uint32_t id : ids) let_go(*core_.state.find(id));
  api::SubmitReply answer;
  answer.set_job_id(ids.front());
  if (const Job* first = core_.state.find(ids.front())) add_notes(*first, answer);
  for (const Reply& reply : replies) reply(answer);
}

}  // namespace minke::engine
