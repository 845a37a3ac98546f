// The usage of a step: in all, on average, and of the task that used the most or the least. A step of one
// task stores only its totals; a step from before tasks were measured separately has no extremes, and the
// average replaces them. GPUs and energy are measured by step, also while it runs. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "model/usage.pb.h"

namespace minke::model {
class StepRecord;
}  // namespace minke::model

namespace minke::view {

enum class Metered { kCpu, kRss, kRead, kWrite, kFaults };  // µs, KiB, bytes, bytes, major faults
enum class Reach { kMost, kLeast };

uint64_t total_usage(const model::StepRecord& step, Metered what);
uint64_t average_usage(const model::StepRecord& step, Metered what);
model::Usage::Extreme extreme_usage(const model::StepRecord& step, Metered what, Reach reach);

enum class MeasuredAs { kNot, kMean, kMost, kTotal };  // kMean: by task
// Appends ",gres/gpumem=40000M,gres/gpuutil=80"; nothing if nothing was measured.
void append_gpus(std::string& out, const model::StepRecord& step, MeasuredAs as);
// Appends 980, 12.50K.
void append_joules(std::string& out, uint64_t joules);

}  // namespace minke::view
