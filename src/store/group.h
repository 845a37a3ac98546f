// Merges several batches that are written together: of each row it keeps the last write, in the
// order of the keys. So a job that starts and ends within one group is written once, and pages
// are filled in order.
//
// Pure; points into the batches, which must outlive it.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "store/job_row.h"
#include "store/store.h"

namespace minke::model {
class StepRecord;
}  // namespace minke::model

namespace minke::store {

struct PendingCommit {
  Batch batch;
  std::function<void(Status)> done;
};

size_t row_count(const Batch& batch);

struct Group {
  std::vector<const JobRow*> jobs;
  std::vector<const SpecRow*> specs;
  std::vector<const model::StepRecord*> steps;
  std::vector<const std::pair<ContentHash, std::string>*> contents;
  std::vector<const std::pair<std::string, uint32_t>*> submissions;
  std::vector<const SeriesRow*> series;
  std::vector<const Row*> rows;
  std::vector<const DamagedRow*> set_aside;
};

Group merge(const std::vector<PendingCommit>& commits);

}  // namespace minke::store
