#include "engine/embedded/life_cycle/action_work.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <unordered_set>
#include <utility>

#include "api/actions.pb.h"
#include "api/job_filter.pb.h"
#include "engine/embedded/accounts/rights.h"
#include "engine/embedded/core.h"
#include "engine/embedded/life_cycle/dependencies.h"
#include "engine/embedded/scheduling/scheduling.h"
#include "engine/embedded/server/budgets.h"
#include "engine/embedded/state/answered_requests.h"
#include "engine/embedded/state/kept_submission.h"
#include "store/job_row.h"
#include "store/store.h"

namespace minke::engine {

using namespace model;

namespace {

using Clock = std::chrono::steady_clock;
using Ranges = google::protobuf::RepeatedPtrField<IndexRange>;

// After this time others get their turn.
constexpr std::chrono::milliseconds kSlice{5};
// The most records of an array's waiting tasks, because each pass looks at every record.
constexpr size_t kMostRecordsOfArray = 10000;
// Failures are reported per job, so a text of the sender must not be multiplied by their number.
constexpr size_t kMostFailureBytes = 500;

// Resolves selectors. All selectors of tasks in one array are resolved together.
class Search {
 public:
  Search(Core& core, Viewer viewer, std::vector<MeantJob>& found)
      : core_(core), viewer_(viewer), found_(found) {}

  // False: it matches nothing. Named tasks are resolved later by find_tasks().
  bool add(const api::JobSelector& selector, int number) {
    if (!selector.tasks().empty() && !selector.has_het_offset()) {
      OfArray& of_array = arrays_[selector.job_id()];
      of_array.selectors.push_back(number);
      add_ranges(selector.tasks(), of_array.ranges);
      return true;
    }
    const size_t before = found_.size();
    const uint32_t id = selector.job_id();
    const std::string name = name_of(selector);
    const Job* first = core_.state.find(id);
    if (first != nullptr && first->is_het_leader()) {
      for (const Job* component : core_.state.components(*first))
        if (!selector.has_het_offset() || component->het_offset == selector.het_offset())
          add_job(component, name);
    } else if (const ArrayGroup* group = core_.state.find_array(id); selector.has_het_offset()) {
      return false;
    } else if (group == nullptr) {
      add_job(first, name);
    } else {
      if (!whole_arrays_.insert(id).second) return true;
      for (const uint32_t task : group->jobs) add_job(core_.state.find(task), name);
    }
    return found_.size() > before;
  }

  void find_tasks(const ActionOrder::Selectors& selectors, std::vector<int>& missing) {
    for (const auto& [id, of_array] : arrays_) {
      const bool bearable = TaskSet::is_bearable(of_array.ranges, kMostIndices, kMostNamed);
      const TaskSet there = bearable ? find_tasks(id, TaskSet(of_array.ranges)) : TaskSet();
      for (const int number : of_array.selectors)
        if (!any_of(selectors[number].tasks(), there)) missing.push_back(number);
    }
  }

 private:
  struct OfArray {
    Ranges ranges;
    std::vector<int> selectors;
  };

  bool is_there(const Job* job) const { return job != nullptr && job->committed && viewer_.sees(job->uid); }

  void add_job(const Job* job, const std::string& name) {
    if (!is_there(job)) return;
    MeantJob& meant = found_.emplace_back();
    meant.job_id = job->id;
    meant.name = name;
  }

  // Returns the existing tasks among `wanted`.
  TaskSet find_tasks(uint32_t array_job_id, const TaskSet& wanted) {
    const ArrayGroup* group = core_.state.find_array(array_job_id);
    if (group == nullptr || wanted.empty()) return {};
    const std::string array = std::to_string(array_job_id);
    ArraySpec there;
    const auto add_task = [&](uint32_t index, uint32_t id) {
      if (!is_there(core_.state.find(id))) return;
      add_job(core_.state.find(id), array + "_" + std::to_string(index));
      IndexRange& range = *there.add_ranges();
      range.set_first(index);
      range.set_last(index);
    };
    const bool single = wanted.size() == 1;
    if (const auto task = group->tasks.find(wanted.first()); single && task != group->tasks.end())
      add_task(task->first, task->second);
    for (const auto& [index, id] : group->tasks)
      if (!single && wanted.contains(index)) add_task(index, id);
    for (const uint32_t id : group->sets) {
      const Job& record = *core_.state.find(id);
      if (record.ended() || !is_there(&record)) continue;
      if (single && !record.array->waiting.contains(wanted.first())) continue;
      TaskSet waiting = record.array->waiting;
      TaskSet taken = waiting.take(wanted);
      if (taken.empty()) continue;
      ArraySpec ranges;
      taken.write(ranges);
      there.mutable_ranges()->MergeFrom(ranges.ranges());
      MeantJob& meant = found_.emplace_back();
      meant.job_id = id;
      meant.some = true;
      meant.name = taken.size() == 1 ? array + "_" + std::to_string(taken.first()) : array;
      meant.tasks = std::move(taken);
    }
    return TaskSet(there);
  }

  // Does not look at each index if there are very many.
  bool any_of(const Ranges& ranges, const TaskSet& there) {
    for (const IndexRange& range : ranges) {
      for (uint64_t index = range.first(); index <= range.last(); index += std::max(1u, range.step())) {
        if (looks_++ > kMostLooks || there.contains(static_cast<uint32_t>(index))) return true;
      }
    }
    return false;
  }

  static constexpr size_t kMostLooks = 1000000;

  Core& core_;
  const Viewer viewer_;
  std::vector<MeantJob>& found_;
  std::unordered_set<uint32_t> whole_arrays_;
  std::map<uint32_t, OfArray> arrays_;
  size_t looks_ = 0;
};

struct Work {
  ActionOrder order;
  std::vector<MeantJob> meant;
  size_t next = 0;
  api::ActionReply result;
};

bool was_done_before(const Core& core, const ActionOrder& order, const JobRecord& job) {
  return order.sent_again && order.was_done && core.rights->owns(order.uid, job.uid()) && order.was_done(job);
}

// For tasks of an array, the first one named; for an array, the task that ran last.
Result<std::optional<store::JobRow>> stored_job(const Core& core, const api::JobSelector& selector) {
  if (selector.tasks().empty()) return core.store.job(selector.job_id());
  return core.store.array_task(selector.job_id(), selector.tasks(0).first());
}

// Reports a job that does not exist, that the sender may not know of, or that ended a moment ago.
void add_missing(Core& core, const ActionOrder& order, const api::JobSelector& selector,
                 api::ActionReply& result) {
  if (order.sent_again) {
    const auto known = stored_job(core, selector);
    if (known && *known && was_done_before(core, order, (*known)->record))
      return result.set_changed(result.changed() + 1);
  }
  const auto stored = core.store.job(selector.job_id());
  const bool ended = stored && *stored && core.rights->viewer(order.uid).sees((*stored)->record.uid()) &&
                     (*stored)->record.end_time() >= core.now() - core.config.min_job_age_seconds;
  add_failure(result, selector.job_id(), name_of(selector),
              Error{ended ? order.when_ended : kInvalidJobId, {}});
}

// Acts on some tasks of a waiting record.
Status act_on_some(Core& core, const ActionOrder& order, const MeantJob& meant, Job& record) {
  core.scheduling->remove(record);
  const auto separated = separate(core, meant, order.ends_jobs);
  Job* own = separated ? *separated : nullptr;
  const Status done =
      own == nullptr ? separated ? Status() : Status(failure(separated.error())) : order.action(*own);
  if (own != nullptr && own != &record && !done && !own->dirty && !own->queued) {
    core.state.join_tasks(record, *own);
    own = nullptr;
  }
  for (Job* job : {own, &record}) {
    if (job == nullptr) continue;
    if (done) core.committer.job_changed(job->id);
    if (job->state == JOB_PENDING) core.scheduling->update(*job);
  }
  if (own != nullptr && own != &record && own->submission->uses_dependencies && own->state == JOB_PENDING)
    core.dependencies->watch(*own);
  return done;
}

void act(Core& core, Work& work, const MeantJob& meant) {
  const ActionOrder& order = work.order;
  Job* job = core.state.find(meant.job_id);
  if (job == nullptr) return;  // gone since the last slice
  if (!core.rights->owns(order.uid, job->uid)) {
    if (!order.selectors.empty()) add_failure(work.result, job->id, meant.name, Error{kAccessDenied, {}});
    return;
  }
  if (order.sent_again && was_done_before(core, order, core.state.record_of(*job)))
    return work.result.set_changed(work.result.changed() + 1);
  if (order.concerns && !order.concerns(*job)) return;
  if (!meant.some || !order.changes_waiting) {
    const uint32_t id = job->id;
    if (const Status done = order.action(*job); !done)
      return add_failure(work.result, id, meant.name.empty() ? std::to_string(id) : meant.name, done.error());
  } else if (const Status done = act_on_some(core, order, meant, *job); !done) {
    return add_failure(work.result, meant.job_id, meant.name, done.error());
  }
  work.result.set_changed(work.result.changed() + 1);
}

void go_on(Core& core, const std::shared_ptr<Work>& work) {
  const auto begin = Clock::now();
  while (work->next < work->meant.size()) {
    act(core, *work, work->meant[work->next++]);
    if (Clock::now() - begin < kSlice) continue;
    core.loop.post([&core, work] { go_on(core, work); });
    return;
  }
  if (work->result.changed() > 0) core.answered->note(work->order.key, work->order.uid, work->result);
  core.committer.when_stored([work](const Status& stored) {
    if (!stored && work->result.changed() > 0) {
      const auto& named = work->order.selectors;
      add_failure(work->result, 0, named.empty() ? "" : name_of(named[0]), stored.error());
    }
    work->order.reply(work->result);
  });
}

}  // namespace

std::string name_of(const api::JobSelector& selector) {
  std::string name = std::to_string(selector.job_id());
  if (selector.tasks_size() == 1 && selector.tasks(0).first() == selector.tasks(0).last()) {
    name += "_" + std::to_string(selector.tasks(0).first());
  }
  if (selector.has_het_offset()) name += "+" + std::to_string(selector.het_offset());
  return name;
}

void add_failure(api::ActionReply& reply, uint32_t job_id, const std::string& name, const Error& error) {
  auto& failure = *reply.add_failures();
  failure.set_job_id(job_id);
  failure.set_job(name);
  failure.set_code(static_cast<uint32_t>(error.code));
  failure.set_message(error.message.substr(0, kMostFailureBytes));
}

std::vector<MeantJob> find_meant(Core& core, Viewer viewer, const ActionOrder::Selectors& selectors,
                                 std::vector<int>& missing) {
  std::vector<MeantJob> found;
  Search search(core, viewer, found);
  for (int i = 0; i < selectors.size(); ++i)
    if (!search.add(selectors[i], i)) missing.push_back(i);
  search.find_tasks(selectors, missing);
  return found;
}

Result<Job*> separate(Core& core, const MeantJob& meant, bool to_end) {
  Job* job = core.state.find(meant.job_id);
  if (job == nullptr || !meant.some) return job;
  if (!job->is_array_record()) return meant.tasks.contains(job->array_task) ? job : nullptr;
  if (job->ended()) return nullptr;
  TaskSet left = job->array->waiting;
  const TaskSet taken = left.take(meant.tasks);
  if (std::max(left.ranges(), taken.ranges()) > size_t{kMostRanges}) {
    return failure("the tasks of this array would be left in more than " + std::to_string(kMostRanges) +
                       " ranges: name whole ranges of them",
                   kInvalidArray);
  }
  const ArrayGroup& group = *core.state.find_array(job->array_job_id);
  const size_t waiting = group.jobs.size() - std::min<size_t>(group.jobs.size(), group.running);
  if (!left.empty() &&
      (waiting >= kMostRecordsOfArray || core.state.jobs().size() >= core.config.max_job_count))
    return failure("the tasks of this array stand in " + std::to_string(waiting) +
                       " records already: name whole ranges of them, not one by one",
                   kAccountingPolicy);
  if (!left.empty() && !to_end) {
    if (const auto room = core.rights->budgets().take(job->uid, Budget::kSplitRecords, 1); !room)
      return failure(room.error());
  }
  if (const size_t terms = job->details ? job->details->dependencies.size() : 0;
      terms != 0 && !left.empty()) {
    if (const Status admitted = core.dependencies->admits_terms(job->uid, terms); !admitted)
      return failure(admitted.error());
  }
  Job* own = core.state.split_tasks(*job, meant.tasks);
  if (own != nullptr && own != job)
    own->submission = keep_for_split_record(core, own->uid, std::move(own->submission));
  return own;
}

void carry_out(Core& core, ActionOrder order) {
  auto work = std::make_shared<Work>();
  work->order = std::move(order);
  const ActionOrder& asked = work->order;
  std::vector<int> missing;
  if (asked.selectors.empty()) {
    for (const bool waiting : {true, false}) {
      for (const uint32_t id : asked.jobs) {
        const Job* job = core.state.find(id);
        if (job == nullptr || (job->state == JOB_PENDING) != waiting) continue;
        work->meant.emplace_back().job_id = id;
      }
    }
  } else {
    work->meant = find_meant(core, core.rights->viewer(asked.uid), asked.selectors, missing);
    for (const int number : missing) add_missing(core, asked, asked.selectors[number], work->result);
  }
  go_on(core, work);
}

}  // namespace minke::engine
