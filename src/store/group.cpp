#include "store/group.h"

#include "model/step_record.pb.h"
#include "store/job_row.h"
#include "store/rows.h"

namespace minke::store {
namespace {

// `rows(batch)` is the vector of one kind of row; `key(row)` is the row's key.
template <typename Rows, typename Key>
auto last_writes(const std::vector<PendingCommit>& commits, Rows rows, Key key) {
  using Row = typename std::decay_t<decltype(rows(commits.front().batch))>::value_type;
  using KeyType = std::decay_t<decltype(key(std::declval<const Row&>()))>;
  std::vector<std::pair<KeyType, const Row*>> all;
  size_t count = 0;
  for (const auto& commit : commits) count += rows(commit.batch).size();
  all.reserve(count);
  for (const auto& commit : commits) {
    for (const Row& row : rows(commit.batch)) all.emplace_back(key(row), &row);
  }
  const auto earlier = [](const auto& left, const auto& right) { return left.first < right.first; };
  if (!std::is_sorted(all.begin(), all.end(), earlier)) std::stable_sort(all.begin(), all.end(), earlier);

  std::vector<const Row*> last;
  last.reserve(all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    if (i + 1 == all.size() || all[i].first < all[i + 1].first) last.push_back(all[i].second);
  }
  return last;
}

}  // namespace

bool Batch::empty() const {
  return jobs.empty() && specs.empty() && steps.empty() && contents.empty() && submissions.empty() &&
         series.empty() && rows.empty() && set_aside.empty();
}

size_t row_count(const Batch& batch) {
  return batch.jobs.size() + batch.specs.size() + batch.steps.size() + batch.contents.size() +
         batch.submissions.size() + batch.series.size() + batch.rows.size() + batch.set_aside.size();
}

Group merge(const std::vector<PendingCommit>& commits) {
  const auto first = [](const auto& pair) { return std::string_view(pair.first); };
  Group group;
  if (commits.empty()) return group;
  group.jobs = last_writes(
      commits, [](const Batch& b) -> auto& { return b.jobs; },
      [](const JobRow& row) { return run_key(row.record.job_id(), row.record.restarts()); });
  group.specs = last_writes(
      commits, [](const Batch& b) -> auto& { return b.specs; },
      [](const SpecRow& row) { return row.spec_id; });
  group.steps = last_writes(
      commits, [](const Batch& b) -> auto& { return b.steps; },
      [](const model::StepRecord& step) {
        return std::pair(run_key(step.job_id(), step.restarts()), step_key(step));
      });
  group.contents = last_writes(
      commits, [](const Batch& b) -> auto& { return b.contents; }, first);
  group.submissions = last_writes(
      commits, [](const Batch& b) -> auto& { return b.submissions; }, first);
  group.series = last_writes(
      commits, [](const Batch& b) -> auto& { return b.series; },
      [](const SeriesRow& row) { return run_key(row.job_id, row.restarts); });
  group.rows = last_writes(
      commits, [](const Batch& b) -> auto& { return b.rows; },
      [](const Row& row) { return std::pair(row.table, row.key); });
  for (const auto& commit : commits)
    for (const DamagedRow& row : commit.batch.set_aside) group.set_aside.push_back(&row);
  return group;
}

}  // namespace minke::store
