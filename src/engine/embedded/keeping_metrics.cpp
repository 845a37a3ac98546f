// Metrics of a job that has ended, put into its accounting record.
#include <unistd.h>

#include <utility>

#include "engine/embedded/actions.h"
#include "engine/embedded/core.h"
#include "engine/embedded/rights.h"
#include "model/error.h"

namespace minke::engine {

using namespace model;

namespace {

constexpr int kMaxMetrics = 200;
constexpr size_t kMaxNameBytes = 200;

}  // namespace

Status Actions::keep_metrics(const rpc::KeepMetricsRequest& request, const rpc::Peer& peer) {
  // While it is in memory its record is written from there.
  if (core_.state.find(request.job_id()) != nullptr)
    return failure("the job has not ended", kTransitionState);
  auto stored = core_.store.job(request.job_id());
  if (!stored) return failure(stored.error());
  if (!*stored) return failure("", kInvalidJobId);
  store::JobRow row = std::move(**stored);
  if (!core_.rights->owns(peer.uid, row.record.uid())) return failure("", kAccessDenied);
  if (request.metrics_size() > kMaxMetrics)
    return failure("a job's record keeps " + std::to_string(kMaxMetrics) + " metrics at most", kNotSupported);
  for (const Metric& metric : request.metrics()) {
    if (metric.name().empty() || metric.name().size() > kMaxNameBytes)
      return failure("a metric's name has 1 to " + std::to_string(kMaxNameBytes) + " bytes", kNotSupported);
  }
  *row.record.mutable_metrics() = request.metrics();
  core_.committer.run_ended(std::move(row));
  return {};
}

}  // namespace minke::engine
