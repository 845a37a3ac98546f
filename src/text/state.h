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

// What a queue shows: COMPLETING and CG hide the state of a job whose processes are still being cleared away.
std::string_view job_state_name(model::JobState state, bool completing);
std::string_view job_state_compact(model::JobState state, bool completing);

// One word of a --states list. Long or compact, any case. CONFIGURING, REQUEUE_HOLD and the like are words of
// Slurm for which no job of ours ever stands: both fields stay unset then. Fails on words that Slurm does not
// know.
struct StateWord {
  std::optional<model::JobState> state;
  bool completing = false;
};
Result<StateWord> parse_job_state(std::string_view text);

std::string_view state_reason_name(model::StateReason reason);  // JobHeldUser
std::optional<model::StateReason> parse_state_reason(std::string_view text);

std::string step_name(model::StepKind kind, uint32_t step_id);  // batch, extern, interactive, 0

// A wait(2) status as Slurm shows it: "status:signal".
// Of what the kernel killed for want of memory: no signal, but shown as 0:125, as Slurm does.
inline constexpr int32_t kOutOfMemory = 253;
std::string format_exit_code(int32_t wait_status);
inline int exit_status_of(int32_t wait_status) {
  return (wait_status >> 8) & 0xff;
}
inline int signal_of(int32_t wait_status) {
  return wait_status & 0x7f;
}

}  // namespace minke::text
