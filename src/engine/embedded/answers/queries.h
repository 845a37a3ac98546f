// Answers to those who only look: scontrol show, sdiag and others; those that may be long are
// long_queries.h's. State's thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/embedded/state/job_matcher.h"
#include "model/job_terms.pb.h"
#include "sched/layout.h"
#include "sched/request.h"
#include "store/store.h"

namespace minke::api {
class JobFilter;
class QueryDiagnosticsRequest;
class QueryPidsRequest;
class QueryScriptRequest;
}  // namespace minke::api

namespace minke::model {
class JobRecord;
class NodeAllocation;
class StepRecord;
}  // namespace minke::model

namespace minke::rpc {
class ServerMessage;
}  // namespace minke::rpc

namespace minke::engine {

struct Core;
struct Job;

class Queries {
 public:
  explicit Queries(Core& core) : core_(core) {}

  // Each is called with parts of the answer; `last` with the final one.
  using Part = std::function<void(rpc::ServerMessage& message, bool last)>;

  // `uid`: who asks; it must be the job's owner, or an operator.
  void script(const api::QueryScriptRequest& request, uint32_t uid, const Part& part);
  void reservations(const Part& part);
  void configuration(const Part& part);
  void licenses(const Part& part);
  // The processes of jobs that run (scontrol listpids), as /proc shows them.
  void processes(const api::QueryPidsRequest& request, Viewer viewer, const Part& part);
  void diagnostics(const api::QueryDiagnosticsRequest& request, Viewer viewer, size_t connections,
                   const Part& part);

  // A job with its spec, paths and what it asks for: as commands show it.
  model::JobRecord full_record(const Job& job);
  // What QueryJobsRequest::brief promises, written into `record`, which is empty.
  void write_brief(const Job& job, model::JobRecord& record);
  // The same of a record from the store, which has its spec; `job`: null where it is not in memory.
  void complete(model::JobRecord& record, const Job* job);

 private:
  // The first of the job's partitions; null where it is gone.
  const sched::LayoutPartition* partition_of(const model::JobRecord& record) const;

  Core& core_;
};

// Adds to the entry of this name and type, which is made where there is none.
void add_gres(google::protobuf::RepeatedPtrField<model::Gres>& list, const std::string& name,
              const std::string& type, uint32_t count);
// What a batch step holds: all that its job has on the node.
void add_holdings(model::StepRecord& step, const model::NodeAllocation& node);
// What a job asks for, in the totals that listings show, into its record (which has its spec). Allocated jobs
// show what they hold instead. `request`: in the partition that is meant; `partition`: that one; null where
// they are not known.
void add_request(model::JobRecord& record, const sched::Request* request,
                 const sched::LayoutPartition* partition = nullptr);
// Tasks of an array that were cancelled while they waited, and the array went on.
bool was_struck_out(const model::JobRecord& record);
void set_error(rpc::ServerMessage& message, const Error& error);

// The ids under which the store has the jobs that a filter names: those of all components of a heterogeneous
// job among them.
std::vector<uint32_t> stored_ids(const api::JobFilter& filter, store::Store& store);

}  // namespace minke::engine
