// One request that changes jobs, carried out job by job.
//
// Three things hold of all of them. Rights come first: what the request names is looked up without changing
// anything, whoever may not change a job is refused, and only then are tasks taken out of their array's
// record. Tasks to which one request does the same share one record, however many they are, and a refused
// change leaves the record as it was. And nobody waits for long: after some milliseconds the rest is put off
// until what others asked meanwhile has been answered. State's thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/job_filter.pb.h"
#include "base/result.h"
#include "engine/embedded/state/job.h"
#include "engine/embedded/state/job_matcher.h"
#include "model/error.h"

namespace minke::api {
class ActionReply;
}  // namespace minke::api

namespace minke::model {
class JobRecord;
}  // namespace minke::model

namespace minke::engine {

struct Core;

// What is to be done. Owns all that its parts need: it outlives the request.
struct ActionOrder {
  using Selectors = google::protobuf::RepeatedPtrField<api::JobSelector>;
  Selectors selectors;
  // In place of selectors: these jobs, as far as they are still there, those that wait before those that run.
  // Nothing is said of those that may not be changed.
  std::vector<uint32_t> jobs;
  uint32_t uid = 0;  // who asks
  // He asks again, because the answer was lost. `was_done`: what was asked for has been done since he asked
  // first, and is not to be done, or refused, now; empty: that cannot be told.
  bool sent_again = false;
  std::function<bool(const model::JobRecord& job)> was_done;
  // Whether a job is one of those that the request has in view at all; empty: all are. Tasks stay where they
  // are when their record is not.
  std::function<bool(const Job& job)> concerns;
  std::function<Status(Job& job)> action;  // fails without having changed anything
  // False: it has nothing to do to tasks that wait. They stay in their record, and the action says why.
  bool changes_waiting = true;
  bool ends_jobs = false;                                    // no budget of records that wait holds it back
  model::SlurmError when_ended = model::kAlreadyDone;        // for a job that ended a moment ago
  std::function<void(const api::ActionReply& reply)> reply;  // once all of it is durable
};

// A job that an order means, or some tasks of a record of several that wait.
struct MeantJob {
  uint32_t job_id = 0;
  bool some = false;  // `tasks` of it
  TaskSet tasks;
  std::string name;  // as it was named
};

// Without changing anything. `missing`: the selectors that mean nothing that is in memory and that the viewer
// may know of.
std::vector<MeantJob> find_meant(Core& core, Viewer viewer, const ActionOrder::Selectors& selectors,
                                 std::vector<int>& missing);

// The job itself, or a record of its own for the tasks meant; null where they are gone. Who asks must have
// the right to change it; the record that they are taken from is not in the scheduler's queue. `to_end`: it
// will not wait, so there is room for it.
Result<Job*> separate(Core& core, const MeantJob& meant, bool to_end = false);

void carry_out(Core& core, ActionOrder order);

std::string name_of(const api::JobSelector& selector);
void add_failure(api::ActionReply& reply, uint32_t job_id, const std::string& name, const Error& error);

}  // namespace minke::engine
