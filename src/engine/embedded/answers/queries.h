// Queries: short read-only answers, such as those of scontrol show and sdiag. Long ones are in
// long_queries.h. State's thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/embedded/state/job_matcher.h"
#include "model/job_terms.pb.h"
#include "sched/layout.h"
#include "sched/request.h"

namespace minke::api {
class JobFilter;
class QueryDiagnosticsRequest;
class QueryScriptRequest;
}  // namespace minke::api

namespace minke::config {
struct AccountingPolicy;
}  // namespace minke::config

namespace minke::model {
class JobRecord;
class NodeAllocation;
class StepRecord;
}  // namespace minke::model

namespace minke::rpc {
class ServerMessage;
}  // namespace minke::rpc

namespace minke::store {
class Store;
}  // namespace minke::store

namespace minke::engine {

struct Core;
struct Job;

class Queries {
 public:
  explicit Queries(Core& core) : core_(core) {}

  // The functions call `part` with each part of the answer; `last` marks the final one.
  using Part = std::function<void(rpc::ServerMessage& message, bool last)>;

  // `uid`: who asks; it must be the job's owner or an operator.
  void script(const api::QueryScriptRequest& request, uint32_t uid, const Part& part);
  void reservations(const Part& part);
  void configuration(const Part& part);
  void licenses(const Part& part);
  void diagnostics(const api::QueryDiagnosticsRequest& request, Viewer viewer, size_t connections,
                   const Part& part);

  // A job with its spec, its paths and the resources that it asks for, as commands show it.
  model::JobRecord full_record(const Job& job);
  // Writes what QueryJobsRequest::brief promises into `record`, which must be empty.
  void write_brief(const Job& job, model::JobRecord& record);
  // The same for a record from the store, which has its spec. `job`: null if it is not in memory.
  void complete(model::JobRecord& record, const Job* job, bool with_paths = true);

 private:
  // The first of the job's partitions; null if it no longer exists.
  const sched::LayoutPartition* partition_of(const model::JobRecord& record) const;

  Core& core_;
};

// Adds to the entry with this name and type; makes the entry if there is none.
void add_gres(google::protobuf::RepeatedPtrField<model::Gres>& list, const std::string& name,
              const std::string& type, uint32_t count);
// Marks those that AccountingStorageTRES leaves out of TRES lists, and those whose type it names.
void mark_tracked(const config::AccountingPolicy& policy,
                  google::protobuf::RepeatedPtrField<model::Gres>& list);
// The holdings of a batch step: everything that its job has on the node.
void add_holdings(model::StepRecord& step, const model::NodeAllocation& node);
// Adds the totals that a job asks for, as listings show them, to its record (which has its spec).
// Jobs with an allocation show what they hold instead. `request` and `partition` belong to the
// partition in question; null if unknown.
void add_request(model::JobRecord& record, const sched::Request* request,
                 const sched::LayoutPartition* partition = nullptr);
// Whether the record is of array tasks that were cancelled while pending, while their array went on.
bool was_struck_out(const model::JobRecord& record);

// The ids under which the store has the jobs that a filter names, including all
// components of heterogeneous jobs.
std::vector<uint32_t> stored_ids(const api::JobFilter& filter, store::Store& store);

}  // namespace minke::engine
