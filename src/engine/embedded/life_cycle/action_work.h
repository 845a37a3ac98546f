// Carries out one request that changes jobs, job by job.
//
// Three rules hold for all such requests. Rights come first: the jobs are looked up without any change, jobs
// that the user may not change are refused, and only then tasks are split off their array's record. Tasks
// that get the same change share one record, however many they are, and a refused change leaves the record as
// it was. Nobody waits for long: after some milliseconds the rest is postponed until other users' requests
// were answered. State's thread.
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

// What to do. It owns all that it needs, because it outlives the request.
struct ActionOrder {
  using Selectors = google::protobuf::RepeatedPtrField<api::JobSelector>;
  Selectors selectors;
  // Instead of selectors: these jobs, if they still exist, pending ones before running ones. Jobs that may
  // not be changed are skipped silently.
  std::vector<uint32_t> jobs;
  uint32_t uid = 0;  // who asks
  // The request is a repetition, because the answer was lost. `was_done`: whether the action was carried out
  // since the first attempt, so that it is neither repeated nor refused; empty: unknown.
  bool sent_again = false;
  std::function<bool(const model::JobRecord& job)> was_done;
  std::string key;  // not empty: the answer is noted under it (answered_requests.h)
  // Whether the request concerns a job at all; empty: all jobs. Tasks stay in their record if
  // that does not concern the request.
  std::function<bool(const Job& job)> concerns;
  std::function<Status(Job& job)> action;  // fails without having changed anything
  // False: the action does not change waiting tasks. They stay in their record, and the action says why.
  bool changes_waiting = true;
  bool ends_jobs = false;                                    // also beyond the budget of waiting records
  model::SlurmError when_ended = model::kAlreadyDone;        // for a job that ended a moment ago
  std::function<void(const api::ActionReply& reply)> reply;  // called once everything is durable
};

// A job that an order names, or some of the waiting tasks of a record.
struct MeantJob {
  uint32_t job_id = 0;
  bool some = false;  // only `tasks` of it
  TaskSet tasks;
  std::string name;  // as the request named it
};

// Changes nothing. `missing`: the indices of selectors that match nothing in
// memory that the viewer may know of.
std::vector<MeantJob> find_meant(Core& core, Viewer viewer, const ActionOrder::Selectors& selectors,
                                 std::vector<int>& missing);

// Returns the job itself, or a new record with the tasks in question; null if they are gone. The user must
// have the right to change it, and its record must not be in the scheduler's queue. `to_end`: it will not
// wait, so no budget refuses it.
Result<Job*> separate(Core& core, const MeantJob& meant, bool to_end = false);

void carry_out(Core& core, ActionOrder order);

std::string name_of(const api::JobSelector& selector);
void add_failure(api::ActionReply& reply, uint32_t job_id, const std::string& name, const Error& error);

}  // namespace minke::engine
