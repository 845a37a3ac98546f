// What an ended step used: in all, on average, and the task that used the most or the least. A step of one
// task has no more stored than its totals; one that ran before tasks were told apart has no extremes, and the
// average stands for them. Pure.
#pragma once

#include <cstdint>

#include "model/job.pb.h"

namespace minke::cli {

enum class Metered { kCpu, kRss, kRead, kWrite, kFaults };  // µs, KiB, bytes, bytes, major faults
enum class Reach { kMost, kLeast };

uint64_t total_usage(const model::StepRecord& step, Metered what);
uint64_t average_usage(const model::StepRecord& step, Metered what);
model::Usage::Extreme extreme_usage(const model::StepRecord& step, Metered what, Reach reach);

}  // namespace minke::cli
