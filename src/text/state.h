// Slurm's words for states, reasons and exit codes.
//
// Pure; may be called from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace minke::model {
enum JobState : int;
enum StateReason : int;
enum StepKind : int;
}  // namespace minke::model

namespace minke::text {

std::string_view job_state_name(model::JobState state);     // COMPLETED
std::string_view job_state_compact(model::JobState state);  // CD

// The state that a queue shows: COMPLETING or CG while the job's processes are still being cleared away.
std::string_view job_state_name(model::JobState state, bool completing);
std::string_view job_state_compact(model::JobState state, bool completing);

// Reads one word of a --states list. Long or compact, any case. No job here has the states CONFIGURING,
// REQUEUE_HOLD and the like, which Slurm knows: both fields stay unset for them. Fails on words that
// Slurm does not know.
struct StateWord {
  std::optional<model::JobState> state;
  bool completing = false;
};
Result<StateWord> parse_job_state(std::string_view text);

std::string_view state_reason_name(model::StateReason reason);  // JobHeldUser
std::optional<model::StateReason> parse_state_reason(std::string_view text);

std::string step_name(model::StepKind kind, uint32_t step_id);  // batch, extern, interactive, 0

// Formats a wait(2) status as Slurm does: "status:signal". kOutOfMemory marks a process that the kernel
// killed for lack of memory: no signal, but shown as 0:125, as Slurm does.
inline constexpr int32_t kOutOfMemory = 253;
std::string format_exit_code(int32_t wait_status);
inline int exit_status_of(int32_t wait_status) {
  return (wait_status >> 8) & 0xff;
}
inline int signal_of(int32_t wait_status) {
  return wait_status & 0x7f;
}

}  // namespace minke::text
