#include "engine/embedded/state/kept_submission.h"

#include <utility>

#include "engine/embedded/accounts/rights.h"
#include "engine/embedded/core.h"
#include "engine/embedded/server/budgets.h"
#include "model/job_spec.pb.h"

namespace minke::engine {

namespace {

struct Kept {
  Submission submission;
  Budgets::Charge bytes, dependencies;
};

// Stored in the deleter of the pointer that the record has.
struct OfSplitRecord {
  std::shared_ptr<const Submission> submission;
  Budgets::Charge record;
  void operator()(const Submission*) const {}
};

}  // namespace

std::shared_ptr<const Submission> keep_submission(Core& core, uint32_t uid, Submission submission) {
  const auto kept = std::make_shared<Kept>();
  kept->bytes =
      core.rights->budgets().adopt(uid, config::Budget::kSpecificationBytes, submission.spec_bytes.size());
  if (submission.uses_dependencies)
    kept->dependencies = core.rights->budgets().adopt(
        uid, config::Budget::kDependencies, static_cast<uint64_t>(submission.spec().dependencies_size()));
  kept->submission = std::move(submission);
  return {kept, &kept->submission};
}

std::shared_ptr<const Submission> keep_for_split_record(Core& core, uint32_t uid,
                                                        std::shared_ptr<const Submission> submission) {
  // If a split record is split again: takes its original submission.
  if (const auto* split = std::get_deleter<OfSplitRecord>(submission)) submission = split->submission;
  const Submission* shared = submission.get();
  auto charge = core.rights->budgets().adopt(uid, config::Budget::kSplitRecords, 1);
  return {shared, OfSplitRecord{std::move(submission), std::move(charge)}};
}

bool is_split_record(const Job& job) {
  return job.array_job_id != 0 && job.id != job.array_job_id && job.state == model::JOB_PENDING;
}

Status has_room_for(Core& core, uint32_t uid, const std::vector<model::JobSpec>& specs) {
  uint64_t bytes = 0, dependencies = 0;
  for (const model::JobSpec& spec : specs) {
    bytes += spec.ByteSizeLong();
    dependencies += static_cast<uint64_t>(spec.dependencies_size());
  }
  if (const auto room = core.rights->budgets().take(uid, config::Budget::kSpecificationBytes, bytes); !room)
    return failure(room.error());
  if (dependencies == 0) return {};
  if (const auto room = core.rights->budgets().take(uid, config::Budget::kDependencies, dependencies); !room)
    return failure(room.error());
  return {};
}

}  // namespace minke::engine
