// The fields of a job that squeue can print and sort by, each with its letter (-o), name (-O) and title.
//
// One list serves both languages of view/columns.h. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "model/job_record.pb.h"
#include "view/table.h"
#include "view/text.h"

namespace minke::view {

// One line of squeue: a job, or one pending task of an array (--array), or a job in one of
// its partitions (-P).
struct JobLine {
  const model::JobRecord* job = nullptr;
  std::optional<uint32_t> waiting_task;
  std::string_view partition;
  uint32_t partition_tier = 0;                          // its PriorityTier, of the lines of squeue --priority
  std::shared_ptr<const model::JobRecord> named_tasks;  // `job`, where it is a copy with some waiting tasks
  bool lists_each_task = false;                         // of waiting tasks: "1,3,5,7,9,11", not "1-11:2%2"

  static JobLine of(const model::JobRecord& job) { return {&job, std::nullopt, job.partition(), 0, nullptr}; }
};

using JobField = TableField<JobLine>;
std::span<const JobField> job_fields();

// A sort key of squeue: a number or a text of each line; neither if the letter orders nothing.
struct JobSortKey {
  int64_t (*number)(const JobLine& line, const DisplayContext& context) = nullptr;
  std::string_view (*text)(const JobLine& line) = nullptr;
};
std::optional<JobSortKey> job_sort_key(char letter);  // nullopt: not a letter of squeue

}  // namespace minke::view
