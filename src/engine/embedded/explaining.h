// Answers to `minke why`: what a job waits for, which jobs are before it, when it will start, and what
// smaller request would start sooner. All of it comes from the scheduler run forward on copies of the state.
//
// A forecast takes some milliseconds, and an answer needs some twenty of them: they are made one at a time,
// with everything else that happens in between; the answer speaks of the state as it was at each.
// State's thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/embedded/queries.h"
#include "engine/embedded/smaller_requests.h"

namespace minke::api {
class ExplainJobReply;
class ExplainJobRequest;
class JobInTheWay;
class JobSelector;
}  // namespace minke::api

namespace minke::engine {

struct Core;
struct Job;

class Explaining {
 public:
  Explaining(Core& core, Queries& queries) : core_(core), queries_(queries) {}

  // One answer. An error (invalid job id) for jobs that are not in memory: the accounting has them.
  void explain(const api::ExplainJobRequest& request, const Queries::Part& part);

 private:
  struct Inquiry;
  const Job* find(const api::JobSelector& selector, api::ExplainJobReply& reply) const;
  void add_unavailable_nodes(const Job& job, api::ExplainJobReply& reply) const;
  void add_forecast(const Job& job, api::ExplainJobReply& reply, std::vector<std::string>& nodes) const;
  void add_awaited_jobs(const Job& job, api::ExplainJobReply& reply) const;
  void add_license_holders(const Job& job, api::ExplainJobReply& reply) const;
  void add_limits(const Job& job, api::ExplainJobReply& reply) const;
  std::string free_now(const Job& job) const;
  void add_jobs_before(const Job& job, api::ExplainJobReply& reply) const;
  void add_jobs_at(const Job& job, const std::vector<std::string>& nodes, api::ExplainJobReply& reply) const;
  api::JobInTheWay describe(const Job& job) const;
  void try_next(const std::shared_ptr<Inquiry>& inquiry);

  Core& core_;
  Queries& queries_;
};

}  // namespace minke::engine
