// The components of the priorities of waiting jobs, for sprio.
#include <algorithm>
#include <memory>
#include <string>

#include "api/job_filter.pb.h"
#include "api/priorities.pb.h"
#include "engine/embedded/answers/job_walk.h"
#include "engine/embedded/answers/listing_in_pieces.h"
#include "engine/embedded/answers/long_queries.h"
#include "engine/embedded/core.h"
#include "engine/embedded/scheduling/priorities.h"
#include "engine/embedded/scheduling/scheduling.h"
#include "model/job_spec.pb.h"

namespace minke::engine {

using namespace model;

namespace {

void write_weights(const config::PriorityPolicy& policy, api::PriorityWeights& weights) {
  weights.set_age(policy.weights.age);
  weights.set_association(policy.weights.association);
  weights.set_fair_share(policy.weights.fair_share);
  weights.set_job_size(policy.weights.job_size);
  weights.set_partition(policy.weights.partition);
  weights.set_qos(policy.weights.qos);
  for (const auto& [name, weight] : policy.tres.each) {
    TresSeconds& one = *weights.add_tres();
    one.set_name(name);
    one.set_seconds(weight);
  }
}

// Each is between 0 and 1, except nice.
void write_factors(const config::PriorityPolicy& policy, const sched::PriorityFactors& made,
                   api::JobPriority& shown) {
  shown.set_age(std::clamp(
      static_cast<double>(made.eligible_seconds) / static_cast<double>(policy.weights.max_age), 0.0, 1.0));
  shown.set_association(made.association);
  shown.set_fair_share(made.fair_share);
  const sched::PriorityParts size = sched::priority_parts(
      {.job_size = 1, .favor_small = policy.weights.favor_small}, {.nodes = made.nodes,
                                                                   .cpus = made.cpus,
                                                                   .all_nodes = made.all_nodes,
                                                                   .all_cpus = made.all_cpus,
                                                                   .tres = {}});
  shown.set_job_size(size.job_size);
  shown.set_partition_factor(made.partition);
  shown.set_qos_factor(made.qos);
  shown.set_nice(made.nice);
  for (size_t i = 0; i < made.tres.size(); ++i) {
    const auto& tres = made.tres[i];
    TresSeconds& one = *shown.add_tres();
    one.set_name(policy.tres.each[i].first);
    one.set_seconds(tres.weight * std::min(1.0, tres.available > 0 ? tres.requested / tres.available : 0));
  }
}

class PriorityListing final : public ListingInPieces {
 public:
  PriorityListing(Core& core, const api::QueryPrioritiesRequest& request, Viewer viewer, LongAnswer& answer)
      : ListingInPieces(answer, 10),
        core_(core),
        walk_(core.state, request.filter()),
        filter_(request.filter()),
        matcher_(filter_, viewer) {
    reply<api::PrioritiesReply>().set_multifactor(core.config.priority.multifactor);
    write_weights(core.config.priority, *reply<api::PrioritiesReply>().mutable_weights());
  }

 private:
  void begin_piece() override { walk_.begin_piece(); }

  bool show_next() override {
    const Job* job = walk_.job();
    if (job == nullptr) return false;
    walk_.advance();
    // Only what is eligible competes.
    const bool later = job->eligible_time > core_.now() || job->reason == WAIT_DEPENDENCY;
    if (later || job->state != JOB_PENDING || !job->committed || job->priority == 0 ||
        !matcher_.selected(*job))
      return true;
    show(*job);
    return true;
  }

  void show(const Job& job) {
    const JobSpec spec = job.submission->spec();
    const config::PriorityPolicy& policy = core_.config.priority;
    const bool fixed = !policy.multifactor || job.fixed_priority;
    for (const std::string& partition : job.submission->partitions) {
      const auto wanted = core_.scheduling->request_for(spec, partition, job.time_limit_minutes);
      if (!wanted) continue;
      api::JobPriority& shown = *reply<api::PrioritiesReply>().add_jobs();
      shown.set_job_id(job.id);
      shown.set_array_job_id(job.array_job_id);
      if (job.array_task != kNoTask) shown.set_array_task_id(job.array_task);
      shown.set_uid(job.uid);
      shown.set_user(core_.state.user_name(job.uid));
      shown.set_account(spec.account());
      shown.set_qos(spec.qos());
      shown.set_partition(partition);
      shown.set_priority(fixed ? job.priority : core_.priorities->in_partition(job, partition));
      if (!fixed) write_factors(policy, core_.priorities->factors(job, spec, *wanted), shown);
      added(shown.ByteSizeLong());
    }
  }

  // Only the first message has the weights, because the reader merges lists.
  void clear_records() override {
    reply<api::PrioritiesReply>().clear_jobs();
    reply<api::PrioritiesReply>().clear_weights();
  }

  Core& core_;
  JobWalk walk_;
  const api::JobFilter filter_;
  const JobMatcher matcher_;
};

}  // namespace

void list_priorities(Core& core, const api::QueryPrioritiesRequest& request, Viewer viewer,
                     LongAnswer& answer) {
  const auto listing = std::make_shared<PriorityListing>(core, request, viewer, answer);
  answer.keep(listing);
  listing->begin();
}

}  // namespace minke::engine
