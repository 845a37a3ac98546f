#include "sched/world.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <set>
#include <utility>

#include "model/error.h"
#include "model/job_spec.pb.h"
#include "model/job_state.pb.h"
#include "sched/make_request.h"
#include "text/list.h"

namespace minke::sched {

using namespace model;

namespace {

// Beyond any of ours, and small enough that sums do not overflow.
constexpr std::int64_t kMaxTime = std::int64_t{1} << 40;
constexpr std::size_t kMostLooks = 100000;  // at entries of the queue

std::int64_t time_of(std::int64_t time) {
  return std::clamp<std::int64_t>(time, 0, kMaxTime);
}

bool has(const ArraySpec& tasks, std::uint32_t index) {
  return std::any_of(tasks.ranges().begin(), tasks.ranges().end(), [&](const IndexRange& range) {
    return index >= range.first() && index <= range.last() &&
           (index - range.first()) % std::max(1u, range.step()) == 0;
  });
}

}  // namespace

// What an Outlook on a World asks it.
class WorldJobs final : public OutlookJobs {
 public:
  WorldJobs(const World& world, const ForecastOptions& options) : world_(world), options_(options) {}

  std::int64_t now() const override { return world_.now_; }
  std::optional<OutlookJob> job(std::uint32_t id) const override {
    const World::Job* found = world_.job(id);
    if (found == nullptr) return std::nullopt;
    return world_.outlook_job(*found);
  }
  std::optional<OutlookJob> task(std::uint32_t array_job_id, std::uint32_t index) const override {
    const JobRecord* record = world_.find_task(array_job_id, index);
    if (record == nullptr) return std::nullopt;
    return job(record->job_id());
  }
  std::optional<std::vector<std::uint32_t>> array(std::uint32_t array_job_id) const override {
    const auto found = world_.arrays_.find(array_job_id);
    if (found == world_.arrays_.end()) return std::nullopt;
    return found->second;
  }
  std::int64_t begin_time(std::uint32_t id) const override {
    return time_of(world_.find(id)->spec().begin_time());
  }
  std::vector<Dependency> dependencies(std::uint32_t id) const override {
    const auto& terms = world_.find(id)->spec().dependencies();
    return {terms.begin(), terms.end()};
  }
  std::optional<std::int64_t> expected_end(std::uint32_t id) const override {
    const auto end = world_.end_of(id);
    if (!end || end->expected == 0) return std::nullopt;
    return end->expected;
  }
  std::int64_t expected_seconds(std::uint32_t id) const override {
    return world_.expected_seconds(*world_.job(id));
  }
  std::optional<ExpectedStart> forecast(std::uint32_t id) const override {
    const auto entry = world_.entry(id);
    if (!entry) return std::nullopt;
    return forecast_entry(world_.machine_, world_.queue_, world_.running_, *entry, world_.now_, options_);
  }
  std::optional<ExpectedStart> forecast_later(std::uint32_t id, std::int64_t from) const override {
    return world_.forecast_later(*world_.job(id), from, options_);
  }

 private:
  const World& world_;
  const ForecastOptions& options_;
};

const World::Job* World::job(std::uint32_t id) const {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : &found->second;
}

const JobRecord* World::find(std::uint32_t job_id) const {
  const Job* found = job(job_id);
  return found == nullptr ? nullptr : &found->record;
}

const JobRecord* World::find_task(std::uint32_t array_job_id, std::uint32_t index) const {
  const auto array = arrays_.find(array_job_id);
  if (array == arrays_.end()) return nullptr;
  const JobRecord* among = nullptr;
  for (const std::uint32_t id : array->second) {
    const JobRecord& record = job(id)->record;
    if (record.has_array_task_id() && record.array_task_id() == index) return &record;
    if (!record.has_array_task_id() && has(record.array_pending(), index)) among = &record;
  }
  return among;
}

// The one whose entry stands for it in the queue.
const World::Job& World::leader_of(const Job& one) const {
  const Job* leader = one.record.het_job_id() == 0 ? nullptr : job(one.record.het_job_id());
  return leader == nullptr ? one : *leader;
}

const World::Obstacle* World::obstacle(std::uint32_t job_id) const {
  const Job* found = job(job_id);
  return found == nullptr || !found->obstacle ? nullptr : &*found->obstacle;
}

std::optional<EntryId> World::entry(std::uint32_t job_id) const {
  const Job* found = job(job_id);
  if (found == nullptr) return std::nullopt;
  const Job& leader = leader_of(*found);
  for (std::size_t i = 0; leader.queued && i < leader.choices; ++i) {
    const EntryId id = entry_of(leader.record.job_id(), i);
    if (queue_.find(id)) return id;
  }
  return std::nullopt;
}

StateReason World::reason_of(const WaitReasons& reasons, std::uint32_t job_id) const {
  if (const auto queued = entry(job_id)) return reasons.of(*queued);
  const Obstacle* found = obstacle(job_id);
  return found == nullptr ? WAIT_NO_REASON : found->reason;
}

const PartitionRecord* World::partition(const std::string& name) const {
  const auto found = std::find_if(partitions_.begin(), partitions_.end(),
                                  [&](const PartitionRecord& one) { return one.name() == name; });
  return found == partitions_.end() ? nullptr : &*found;
}

std::vector<std::string> World::partitions_of(const std::string& list) const {
  std::vector<std::string> names = text::split_list(list);
  if (names.empty()) {
    const auto chosen = std::find_if(partitions_.begin(), partitions_.end(),
                                     [](const PartitionRecord& one) { return one.is_default(); });
    names.push_back(chosen == partitions_.end() ? partitions_.front().name() : chosen->name());
  }
  return names;
}

std::uint32_t World::user_of(std::uint32_t uid) const {
  const bool matters = std::any_of(partitions_.begin(), partitions_.end(),
                                   [](const PartitionRecord& one) { return one.exclusive_user(); });
  return matters ? uid + 1 : 0;
}

std::vector<HoldId> World::reservations_of(const JobSpec& spec) const {
  std::vector<HoldId> ids;
  for (const std::string& name : text::split_list(spec.reservation()))
    if (const auto known = reservations_.find(name); known != reservations_.end())
      ids.push_back(known->second);
  if (ids.empty() && spec.reservation().empty()) ids.push_back(0);
  return ids;
}

Result<Request> World::request(const JobSpec& spec, const std::string& name, std::uint32_t uid,
                               std::uint32_t time_limit_minutes, PossibleRequests* possible) const {
  const PartitionRecord* record = partition(name);
  if (record == nullptr) return failure("there is no partition " + name, kInvalidPartitionName);
  auto made = make_request(spec, *record, machine_, time_limit_minutes, possible);
  if (!made) return made;
  const std::vector<HoldId> reservations = reservations_of(spec);
  if (reservations.empty())
    return failure("there is no reservation " + spec.reservation(), kReservationInvalid);
  made->reservation = reservations.front();
  made->rules.user = user_of(uid);
  return made;
}

Result<Request> World::request(const JobRecord& record, const std::string& name,
                               PossibleRequests* possible) const {
  return request(record.spec(), name, record.uid(), record.time_limit_minutes(), possible);
}

PendingEntry World::pending_entry(const Job& job, std::size_t choice, const Request& request) const {
  const PartitionRecord& in = partitions_[request.partition];
  return {.id = entry_of(job.record.job_id(), choice),
          .priority = priority_in_tier(in.priority_tier(), job.record.priority()),
          .order = order_of(job.record.job_id(), request.reservation != 0),
          .startable = 1};
}

bool World::holds_nodes(const JobRecord& record) {
  return record.state() == JOB_RUNNING || record.state() == JOB_SUSPENDED || record.completing();
}

Run World::run_of(const JobRecord& record) {
  Run run{.uid = record.uid(),
          .start = time_of(record.start_time()),
          .suspended = time_of(record.suspended_seconds()),
          .limit = limit_seconds(record.time_limit_minutes())};
  std::uint32_t cpus = 0;
  for (const NodeAllocation& node : record.nodes()) cpus += node.cpus();
  run.cpus = std::max(1u, record.nodes_size() == 0 ? record.num_cpus() : cpus);
  return run;
}

ForecastOptions World::options(Trust trust) const {
  ForecastOptions options;
  options.partition_bits = kPartitionBits;
  const auto no_limit = [this](std::uint32_t id) {
    const JobRecord* record = find(id);
    return record != nullptr && record->time_limit_minutes() == kUnlimited;
  };
  options.run_unlimited = [no_limit](RunKey key) {
    return key >= kHidden || no_limit(static_cast<std::uint32_t>(key));
  };
  options.entry_unlimited = [no_limit](EntryId entry) {
    return entry != kHypotheticalEntry && no_limit(job_of_entry(entry));
  };
  if (trust == Trust::kLimits || beliefs_.runs() == 0) return options;
  const auto asked = std::make_shared<Beliefs::Asked>(beliefs_);
  options.believed_end = [this, asked](RunKey key) {
    const JobRecord* record = key >= kHidden ? nullptr : find(static_cast<std::uint32_t>(key));
    if (record == nullptr) return std::numeric_limits<std::int64_t>::max();
    return asked->end_of(run_of(*record), now_);
  };
  options.believed_seconds = [this, asked](EntryId entry) {
    const Job* found = entry == kHypotheticalEntry ? nullptr : job(job_of_entry(entry));
    if (found == nullptr) return kUnlimitedSeconds;
    const auto first = this->entry(found->record.job_id());
    const std::int64_t limit = limit_seconds(found->record.time_limit_minutes());
    if (!first) return limit;
    return asked->seconds(found->record.uid(), limit, cpus_of(*queue_.request_of(*first)), 0);
  };
  return options;
}

std::vector<ExpectedStart> World::forecast(Trust trust) const {
  return sched::forecast(machine_, queue_, running_, now_, options(trust));
}

std::int64_t World::expected_seconds(const Job& job) const {
  const std::int64_t limit = limit_seconds(job.record.time_limit_minutes());
  std::optional<std::uint32_t> cpus;
  if (const auto queued = entry(job.record.job_id())) cpus = cpus_of(*queue_.request_of(*queued));
  for (const std::string& name : job.partitions) {
    if (cpus) break;
    if (const auto made = request(job.record, name)) cpus = cpus_of(*made);
  }
  return cpus ? beliefs_.seconds(job.record.uid(), limit, *cpus, 0) : limit;
}

std::optional<ExpectedStart> World::forecast_later(const Job& job, std::int64_t from,
                                                   const ForecastOptions& options) const {
  if (job.record.het_job_id() != 0) return std::nullopt;
  for (const std::string& name : job.partitions) {
    const auto made = request(job.record, name);
    if (!made) continue;
    return sched::forecast_later(machine_, queue_, running_, pending_entry(job, 0, *made), *made, from, now_,
                                 options);
  }
  return std::nullopt;
}

OutlookJob World::outlook_job(const Job& job) const {
  const JobRecord& record = job.record;
  return {.id = record.job_id(),
          .array_job_id = record.array_job_id(),
          .priority = record.priority(),
          .reason = job.obstacle ? job.obstacle->reason : WAIT_NO_REASON,
          .queued = job.queued,
          .holds_nodes = holds_nodes(record),
          .ended = record.state() >= JOB_COMPLETE,
          .several_tasks = record.array_job_id() != 0 && !record.has_array_task_id(),
          .component = record.het_job_id() != 0,
          .no_limit = record.time_limit_minutes() == kUnlimited,
          .any_dependency = record.spec().dependency_any(),
          .eligible_time = time_of(record.eligible_time()),
          .start_time = time_of(record.start_time())};
}

std::optional<ExpectedStart> World::start_of(std::uint32_t job_id, Trust trust) const {
  const Job* found = job(job_id);
  if (found == nullptr || holds_nodes(found->record)) return std::nullopt;
  const ForecastOptions trusted = options(trust);
  const WorldJobs jobs(*this, trusted);
  return Outlook(jobs).start(outlook_job(leader_of(*found)));
}

Result<std::optional<ExpectedStart>> World::start_of(const JobSpec& spec, std::uint32_t uid,
                                                     std::optional<std::uint32_t> priority,
                                                     Trust trust) const {
  std::optional<ExpectedStart> best;
  Error problem;
  bool any = false;
  for (const std::string& name : partitions_of(spec.partition())) {
    const auto made = request(spec, name, uid, 0);
    if (!made) {
      problem = made.error();
      continue;
    }
    any = true;
    ForecastOptions trusted = options(trust);
    if (trusted.believed_seconds) {
      const std::int64_t seconds = beliefs_.seconds(uid, made->planned_seconds(), cpus_of(*made), 0);
      trusted.believed_seconds = [seconds, others = trusted.believed_seconds](EntryId entry) {
        return entry == kHypotheticalEntry ? seconds : others(entry);
      };
    }
    const PendingEntry entry{
        .id = kHypotheticalEntry,
        .priority = priority_in_tier(partitions_[made->partition].priority_tier(), priority.value_or(0)),
        .order = ~std::uint64_t{0},
        .startable = 1};
    const auto start = sched::forecast_later(machine_, queue_, running_, entry, *made,
                                             time_of(spec.begin_time()), now_, trusted);
    if (start && (!best || start->start < best->start)) best = start;
  }
  if (!any) return failure(problem);
  return best;
}

Result<std::optional<ExpectedStart>> World::start_if(std::uint32_t job_id, const JobSpec& spec,
                                                     Trust trust) const {
  const Job* found = job(job_id);
  const auto queued = entry(job_id);
  if (!queued || found->record.het_job_id() != 0)
    return failure("job " + std::to_string(job_id) + " does not wait for its turn");
  std::optional<ExpectedStart> best;
  Error problem;
  bool any = false;
  for (const std::string& name : partitions_of(spec.partition())) {
    const auto made = request(spec, name, found->record.uid(), 0);
    if (!made) {
      problem = made.error();
      continue;
    }
    any = true;
    const auto start =
        sched::forecast_changed(machine_, queue_, running_, *queued, *made, now_, options(trust));
    if (start && (!best || start->start < best->start)) best = start;
  }
  if (!any) return failure(problem);
  return best;
}

std::vector<std::uint32_t> World::jobs_before(std::uint32_t job_id, std::size_t most) const {
  const auto queued = entry(job_id);
  if (!queued) return {};
  return sched::jobs_before(queue_, wait_reasons(), *queued, most, kMostLooks);
}

std::optional<World::End> World::end_of(std::uint32_t job_id) const {
  const JobRecord* record = find(job_id);
  if (record == nullptr || !holds_nodes(*record)) return std::nullopt;
  const Run run = run_of(*record);
  End end{.job_id = job_id};
  if (beliefs_.knows_end(run, now_)) end.expected = beliefs_.end_of(run, now_);
  if (run.limit < kUnlimitedSeconds) end.limit = run.start + run.suspended + run.limit;
  return end;
}

std::vector<World::End> World::ends(const std::vector<std::string>& nodes) const {
  std::vector<End> all;
  for (const auto& [end, placement] : running_.by_end()) {
    if (end.key >= kHidden) continue;
    const bool there =
        nodes.empty() || std::any_of(placement.nodes.begin(), placement.nodes.end(), [&](const auto& share) {
          return std::binary_search(nodes.begin(), nodes.end(), machine_.layout().nodes()[share.node].name);
        });
    if (there) all.push_back(*end_of(static_cast<std::uint32_t>(end.key)));
  }
  std::stable_sort(all.begin(), all.end(), [](const End& a, const End& b) {
    const auto key = [](const End& one) {
      return std::pair(one.expected == 0 ? std::numeric_limits<std::int64_t>::max() : one.expected,
                       one.job_id);
    };
    return key(a) < key(b);
  });
  return all;
}

}  // namespace minke::sched
