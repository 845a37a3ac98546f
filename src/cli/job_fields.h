// The fields of a job that squeue can print and sort by, each with its letter (-o), name (-O) and title.
//
// One list serves both languages of cli/columns.h. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "cli/display_table.h"
#include "cli/display_text.h"
#include "model/job.pb.h"

namespace minke::cli {

// One line of squeue: a job, or one waiting task of an array (--array), or a job in one of its partitions
// (-P).
struct JobLine {
  const model::JobRecord* job = nullptr;
  std::optional<uint32_t> waiting_task;
  std::string_view partition;

  static JobLine of(const model::JobRecord& job) { return {&job, std::nullopt, job.partition()}; }
};

using JobField = TableField<JobLine>;
std::span<const JobField> job_fields();

// Orders two lines by the field of a sort letter: negative, 0 or positive; nullptr where the letter sorts
// nothing.
using JobComparison = int (*)(const JobLine& left, const JobLine& right, const DisplayContext& context);
JobComparison job_comparison(char letter);

}  // namespace minke::cli
