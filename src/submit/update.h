// `scontrol update job`: one NAME=VALUE applied to what a job asked for.
//
// Pure; may be called from any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace minke::model {
class JobSpec;
}  // namespace minke::model

namespace minke::submit {

// What a changed field means to the holder of the job.
enum class Updated { kTimeLimit, kArrayThrottle, kResources, kDependency, kBeginTime, kPriority, kOther };

// Names are as in scontrol: any case, and shortened as far as Slurm allows ("TimeLim", "Prio"). `now` is in s
// since the epoch. `start` is the same for a running job, else 0; EndTime counts from it. TimeLimit=+N and -N
// count from the spec's own limit. An empty value clears what can be cleared. Fails, leaving the spec
// unchanged, with Slurm's words and error number: on an unknown name ("Update of this parameter is not
// supported: NAME=VALUE") and on a bad value.
Result<Updated> apply_update(model::JobSpec& spec, std::string_view name, std::string_view value, int64_t now,
                             int64_t start = 0);

}  // namespace minke::submit
