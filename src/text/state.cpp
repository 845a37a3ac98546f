#include "text/state.h"

#include "text/number.h"

namespace minke::text {
namespace {

struct StateRow {
  std::string_view name, compact;
};
// By value of model::JobState.
constexpr StateRow kStates[] = {{"PENDING", "PD"},   {"RUNNING", "R"},    {"SUSPENDED", "S"},
                                {"COMPLETED", "CD"}, {"CANCELLED", "CA"}, {"FAILED", "F"},
                                {"TIMEOUT", "TO"},   {"NODE_FAIL", "NF"}, {"PREEMPTED", "PR"},
                                {"BOOT_FAIL", "BF"}, {"DEADLINE", "DL"},  {"OUT_OF_MEMORY", "OOM"}};
constexpr StateRow kRequeued = {"REQUEUED", "RQ"};
constexpr StateRow kCompleting = {"COMPLETING", "CG"};
constexpr StateRow kUnknown = {"?", "?"};
constexpr StateRow kForeignStates[] = {{"CONFIGURING", "CF"},  {"RESIZING", "RS"},      {"REQUEUE_FED", "RF"},
                                       {"REQUEUE_HOLD", "RH"}, {"SPECIAL_EXIT", "SE"},  {"STOPPED", "ST"},
                                       {"REVOKED", "RV"},      {"RESV_DEL_HOLD", "RD"}, {"SIGNALING", "SI"},
                                       {"STAGE_OUT", "SO"}};

const StateRow& row_of(model::JobState state) {
  if (state == model::JOB_REQUEUED) return kRequeued;
  auto index = static_cast<size_t>(state);
  return index < std::size(kStates) ? kStates[index] : kUnknown;
}

bool is_called(const StateRow& row, std::string_view text) {
  return equals_ignoring_case(row.name, text) || equals_ignoring_case(row.compact, text);
}

struct ReasonRow {
  model::StateReason reason;
  std::string_view name;
};
constexpr ReasonRow kReasons[] = {
    {model::WAIT_NO_REASON, "None"},
    {model::WAIT_PRIORITY, "Priority"},
    {model::WAIT_DEPENDENCY, "Dependency"},
    {model::WAIT_RESOURCES, "Resources"},
    {model::WAIT_PART_NODE_LIMIT, "PartitionNodeLimit"},
    {model::WAIT_PART_TIME_LIMIT, "PartitionTimeLimit"},
    {model::WAIT_PART_DOWN, "PartitionDown"},
    {model::WAIT_PART_INACTIVE, "PartitionInactive"},
    {model::WAIT_HELD, "JobHeldAdmin"},
    {model::WAIT_TIME, "BeginTime"},
    {model::WAIT_LICENSES, "Licenses"},
    {model::WAIT_HELD_USER, "JobHeldUser"},
    {model::FAIL_DOWN_NODE, "NodeDown"},
    {model::FAIL_BAD_CONSTRAINTS, "BadConstraints"},
    {model::FAIL_SYSTEM, "SystemFailure"},
    {model::FAIL_LAUNCH, "JobLaunchFailure"},
    {model::FAIL_EXIT_CODE, "NonZeroExitCode"},
    {model::FAIL_TIMEOUT, "TimeLimit"},
    {model::FAIL_SIGNAL, "RaisedSignal"},
    {model::FAIL_DEADLINE, "DeadLine"},
    {model::WAIT_ARRAY_TASK_LIMIT, "JobArrayTaskLimit"},
    {model::WAIT_NODE_NOT_AVAIL, "ReqNodeNotAvail"},
    {model::WAIT_DEP_INVALID, "DependencyNeverSatisfied"},
    {model::FAIL_OOM, "OutOfMemory"},
    {model::WAIT_RESERVATION, "Reservation"},
    {model::WAIT_MAX_REQUEUE, "JobHoldMaxRequeue"},
};

}  // namespace

std::string_view job_state_name(model::JobState state) {
  return row_of(state).name;
}
std::string_view job_state_compact(model::JobState state) {
  return row_of(state).compact;
}
std::string_view job_state_name(model::JobState state, bool completing) {
  return completing ? kCompleting.name : job_state_name(state);
}
std::string_view job_state_compact(model::JobState state, bool completing) {
  return completing ? kCompleting.compact : job_state_compact(state);
}

Result<StateWord> parse_job_state(std::string_view text) {
  for (size_t i = 0; i < std::size(kStates); ++i) {
    if (is_called(kStates[i], text)) return StateWord{static_cast<model::JobState>(i), false};
  }
  if (is_called(kRequeued, text)) return StateWord{model::JOB_REQUEUED, false};
  if (is_called(kCompleting, text)) return StateWord{std::nullopt, true};
  for (const StateRow& row : kForeignStates) {
    if (is_called(row, text)) return StateWord{};
  }
  return failure("Invalid job state specified: " + std::string(text));
}

std::string_view state_reason_name(model::StateReason reason) {
  for (const ReasonRow& row : kReasons) {
    if (row.reason == reason) return row.name;
  }
  return "?";
}

std::optional<model::StateReason> parse_state_reason(std::string_view text) {
  for (const ReasonRow& row : kReasons) {
    if (equals_ignoring_case(row.name, text)) return row.reason;
  }
  return std::nullopt;
}

std::string step_name(model::StepKind kind, uint32_t step_id) {
  switch (kind) {
    case model::STEP_BATCH:
      return "batch";
    case model::STEP_EXTERN:
      return "extern";
    case model::STEP_INTERACTIVE:
      return "interactive";
    default:
      return std::to_string(step_id);
  }
}

std::string format_exit_code(int32_t wait_status) {
  return std::to_string(exit_status_of(wait_status)) + ":" + std::to_string(signal_of(wait_status));
}

}  // namespace minke::text
