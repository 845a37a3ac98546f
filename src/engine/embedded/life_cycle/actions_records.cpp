// Additions to the accounting records of ended jobs: metrics and later notes.
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "api/accounting.pb.h"
#include "api/field.pb.h"
#include "api/job_filter.pb.h"
#include "api/updates.pb.h"
#include "engine/embedded/accounts/rights.h"
#include "engine/embedded/core.h"
#include "engine/embedded/life_cycle/actions.h"
#include "model/error.h"
#include "store/job_row.h"
#include "store/store.h"
#include "text/number.h"

namespace minke::engine {

using namespace model;

namespace {

constexpr int kMaxMetrics = 200;
constexpr size_t kMaxNameBytes = 200;
constexpr size_t kMaxNoteBytes = size_t{64} << 10;
constexpr size_t kLeastRecordBytes = 4096;  // the least that a record counts: it is read and written

// Applies one field as sacctmgr names it. Users may set the derived exit code and
// comments; the rest is for operators.
Status apply_field(const api::Field& field, bool is_operator, JobRecord& record) {
  if (field.value().size() > kMaxNoteBytes) return failure(field.name() + " is too long", kNotSupported);
  RecordNotes& notes = *record.mutable_notes();
  if (field.name() == "derivedexitcode") {
    const auto code = text::parse_unsigned(field.value(), INT32_MAX);
    if (!code) return failure("Invalid DerivedExitCode " + field.value(), kNotSupported);
    record.set_derived_exit_code(static_cast<int32_t>(*code));
    return {};
  }
  if (field.name() == "comment") {
    notes.set_comment(field.value());
    return {};
  }
  if (!is_operator) return failure("", kAccessDenied);
  if (field.name() == "admincomment") {
    notes.set_admin_comment(field.value());
  } else if (field.name() == "systemcomment") {
    notes.set_system_comment(field.value());
  } else if (field.name() == "newwckey") {
    notes.set_wckey(field.value());
  } else if (field.name() == "extra") {
    notes.set_extra(field.value());
  } else {
    return failure(field.name() + " cannot be changed", kNotSupported);
  }
  return {};
}

bool is_repeated(const google::protobuf::RepeatedPtrField<api::Field>& fields) {
  std::unordered_set<std::string_view> names;
  return std::any_of(fields.begin(), fields.end(),
                     [&](const api::Field& field) { return !names.insert(field.name()).second; });
}

}  // namespace

Result<Actions::UpdatedRecords> Actions::update_records(const api::UpdateRecordsRequest& request,
                                                        const rpc::Peer& peer) {
  if (is_repeated(request.fields())) return failure("one field is given several times", kNotSupported);
  std::vector<store::JobRow> rows;
  UpdatedRecords updated;
  std::unordered_set<uint32_t> named;
  uint64_t bytes = 0;
  for (const api::JobSelector& selector : request.jobs()) {
    if (!named.insert(selector.job_id()).second) continue;
    // While the job is in memory, its record is written from there.
    if (const Job* job = core_.state.find(selector.job_id())) {
      if (!core_.rights->viewer(peer.uid).sees(job->uid)) continue;
      return failure(
          "Job " + std::to_string(selector.job_id()) + " has not ended: scontrol update changes it",
          kTransitionState);
    }
    auto stored = core_.store.job(selector.job_id());
    if (!stored) return failure(stored.error());
    if (!*stored) continue;
    store::JobRow row = std::move(**stored);
    if (const Status access = core_.rights->access(peer.uid, row.record.uid()); !access) {
      if (access.error().code == kInvalidJobId) continue;  // like a job that does not exist
      return failure(access.error());
    }
    for (const api::Field& field : request.fields()) {
      const Status done = apply_field(field, core_.rights->is_operator(peer.uid), row.record);
      if (!done) return failure(done.error());
    }
    bytes += std::max(kLeastRecordBytes, row.record.ByteSizeLong());
    const Status room =
        core_.rights->budgets().resize(peer.uid, updated.charge, config::Budget::kReceivedBytes, bytes);
    if (!room) return failure(room.error().message + ": name fewer jobs at once", room.error().code);
    rows.push_back(std::move(row));
  }
  uint64_t growth = 0;
  for (const api::Field& field : request.fields()) growth += field.value().size();
  const Status paid = core_.rights->budgets().spend(peer.uid, config::Budget::kStoredBytes,
                                                    growth * rows.size(), core_.now());
  if (!paid) return failure(paid.error());
  for (store::JobRow& row : rows) core_.committer.run_ended(std::move(row));
  updated.jobs = static_cast<uint32_t>(rows.size());
  return updated;
}

Status Actions::keep_metrics(const api::KeepMetricsRequest& request, const rpc::Peer& peer) {
  // While the job is in memory, its record is written from there.
  if (const Job* job = core_.state.find(request.job_id())) {
    if (const Status access = core_.rights->access(peer.uid, job->uid); !access) return access;
    return failure("the job has not ended", kTransitionState);
  }
  auto stored = core_.store.job(request.job_id());
  if (!stored) return failure(stored.error());
  if (!*stored) return failure("", kInvalidJobId);
  store::JobRow row = std::move(**stored);
  if (const Status access = core_.rights->access(peer.uid, row.record.uid()); !access) return access;
  if (request.metrics_size() > kMaxMetrics)
    return failure("a job's record keeps " + std::to_string(kMaxMetrics) + " metrics at most", kNotSupported);
  for (const Metric& metric : request.metrics()) {
    if (metric.name().empty() || metric.name().size() > kMaxNameBytes)
      return failure("a metric's name has 1 to " + std::to_string(kMaxNameBytes) + " bytes", kNotSupported);
  }
  const Status paid = core_.rights->budgets().spend(row.record.uid(), config::Budget::kStoredBytes,
                                                    request.ByteSizeLong(), core_.now());
  if (!paid) return paid;
  *row.record.mutable_metrics() = request.metrics();
  core_.committer.run_ended(std::move(row));
  return {};
}

}  // namespace minke::engine
