#include "text/state.h"

#include "model/job_state.pb.h"
#include "model/step_record.pb.h"
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
    {model::WAIT_PART_CONFIG, "PartitionConfig"},
    {model::WAIT_PN_MEM_LIMIT, "MaxMemPerLimit"},
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
    {model::WAIT_PROLOG, "Prolog"},
    {model::FAIL_SIGNAL, "RaisedSignal"},
    {model::FAIL_DEADLINE, "DeadLine"},
    {model::WAIT_ARRAY_TASK_LIMIT, "JobArrayTaskLimit"},
    {model::WAIT_NODE_NOT_AVAIL, "ReqNodeNotAvail"},
    {model::WAIT_DEP_INVALID, "DependencyNeverSatisfied"},
    {model::FAIL_OOM, "OutOfMemory"},
    {model::WAIT_RESERVATION, "Reservation"},
    {model::WAIT_MAX_REQUEUE, "JobHoldMaxRequeue"},
    {model::FAIL_ACCOUNT, "InvalidAccount"},
    {model::FAIL_QOS, "InvalidQOS"},
    {model::ASSOC_GRP_CPU, "AssocGrpCpuLimit"},
    {model::ASSOC_GRP_MEM, "AssocGrpMemLimit"},
    {model::ASSOC_GRP_NODE, "AssocGrpNodeLimit"},
    {model::ASSOC_GRP_GRES, "AssocGrpGRES"},
    {model::ASSOC_GRP_LICENSE, "AssocGrpLicense"},
    {model::ASSOC_GRP_BILLING, "AssocGrpBilling"},
    {model::ASSOC_GRP_MINUTES_CPU, "AssocGrpCPUMinutesLimit"},
    {model::ASSOC_GRP_MINUTES_MEM, "AssocGrpMemMinutes"},
    {model::ASSOC_GRP_MINUTES_NODE, "AssocGrpNodeMinutes"},
    {model::ASSOC_GRP_MINUTES_GRES, "AssocGrpGRESMinutes"},
    {model::ASSOC_GRP_MINUTES_LICENSE, "AssocGrpLicenseMinutes"},
    {model::ASSOC_GRP_MINUTES_BILLING, "AssocGrpBillingMinutes"},
    {model::ASSOC_GRP_RUN_MINUTES_CPU, "AssocGrpCPURunMinutesLimit"},
    {model::ASSOC_GRP_RUN_MINUTES_MEM, "AssocGrpMemRunMinutes"},
    {model::ASSOC_GRP_RUN_MINUTES_NODE, "AssocGrpNodeRunMinutes"},
    {model::ASSOC_GRP_RUN_MINUTES_GRES, "AssocGrpGRESRunMinutes"},
    {model::ASSOC_GRP_RUN_MINUTES_LICENSE, "AssocGrpLicenseRunMinutes"},
    {model::ASSOC_GRP_RUN_MINUTES_BILLING, "AssocGrpBillingRunMinutes"},
    {model::ASSOC_MAX_PER_JOB_CPU, "AssocMaxCpuPerJobLimit"},
    {model::ASSOC_MAX_PER_JOB_MEM, "AssocMaxMemPerJob"},
    {model::ASSOC_MAX_PER_JOB_NODE, "AssocMaxNodePerJobLimit"},
    {model::ASSOC_MAX_PER_JOB_GRES, "AssocMaxGRESPerJob"},
    {model::ASSOC_MAX_PER_JOB_LICENSE, "AssocMaxLicensePerJob"},
    {model::ASSOC_MAX_PER_JOB_BILLING, "AssocMaxBillingPerJob"},
    {model::ASSOC_MAX_PER_NODE_CPU, "AssocMaxCpuPerNode"},
    {model::ASSOC_MAX_PER_NODE_MEM, "AssocMaxMemPerNode"},
    {model::ASSOC_MAX_PER_NODE_GRES, "AssocMaxGRESPerNode"},
    {model::ASSOC_MAX_PER_NODE_BILLING, "AssocMaxBillingPerNode"},
    {model::ASSOC_MAX_MINUTES_PER_JOB_CPU, "AssocMaxCpuMinutesPerJobLimit"},
    {model::ASSOC_MAX_MINUTES_PER_JOB_MEM, "AssocMaxMemMinutesPerJob"},
    {model::ASSOC_MAX_MINUTES_PER_JOB_NODE, "AssocMaxNodeMinutesPerJob"},
    {model::ASSOC_MAX_MINUTES_PER_JOB_GRES, "AssocMaxGRESMinutesPerJob"},
    {model::ASSOC_MAX_MINUTES_PER_JOB_LICENSE, "AssocMaxLicenseMinutesPerJob"},
    {model::ASSOC_MAX_MINUTES_PER_JOB_BILLING, "AssocMaxBillingMinutesPerJob"},
    {model::ASSOC_GRP_JOBS, "AssocGrpJobsLimit"},
    {model::ASSOC_GRP_SUBMIT_JOBS, "AssocGrpSubmitJobsLimit"},
    {model::ASSOC_GRP_WALL, "AssocGrpWallLimit"},
    {model::ASSOC_MAX_WALL_PER_JOB, "AssocMaxWallDurationPerJobLimit"},
    {model::ASSOC_MAX_JOBS, "AssocMaxJobsLimit"},
    {model::ASSOC_MAX_SUBMIT_JOBS, "AssocMaxSubmitJobLimit"},
    {model::QOS_GRP_CPU, "QOSGrpCpuLimit"},
    {model::QOS_GRP_MEM, "QOSGrpMemLimit"},
    {model::QOS_GRP_NODE, "QOSGrpNodeLimit"},
    {model::QOS_GRP_GRES, "QOSGrpGRES"},
    {model::QOS_GRP_LICENSE, "QOSGrpLicense"},
    {model::QOS_GRP_BILLING, "QOSGrpBilling"},
    {model::QOS_GRP_MINUTES_CPU, "QOSGrpCPUMinutesLimit"},
    {model::QOS_GRP_MINUTES_MEM, "QOSGrpMemoryMinutes"},
    {model::QOS_GRP_MINUTES_NODE, "QOSGrpNodeMinutes"},
    {model::QOS_GRP_MINUTES_GRES, "QOSGrpGRESMinutes"},
    {model::QOS_GRP_MINUTES_LICENSE, "QOSGrpLicenseMinutes"},
    {model::QOS_GRP_MINUTES_BILLING, "QOSGrpBillingMinutes"},
    {model::QOS_GRP_RUN_MINUTES_CPU, "QOSGrpCPURunMinutesLimit"},
    {model::QOS_GRP_RUN_MINUTES_MEM, "QOSGrpMemoryRunMinutes"},
    {model::QOS_GRP_RUN_MINUTES_NODE, "QOSGrpNodeRunMinutes"},
    {model::QOS_GRP_RUN_MINUTES_GRES, "QOSGrpGRESRunMinutes"},
    {model::QOS_GRP_RUN_MINUTES_LICENSE, "QOSGrpLicenseRunMinutes"},
    {model::QOS_GRP_RUN_MINUTES_BILLING, "QOSGrpBillingRunMinutes"},
    {model::QOS_MAX_PER_JOB_CPU, "QOSMaxCpuPerJobLimit"},
    {model::QOS_MAX_PER_JOB_MEM, "QOSMaxMemoryPerJob"},
    {model::QOS_MAX_PER_JOB_NODE, "QOSMaxNodePerJobLimit"},
    {model::QOS_MAX_PER_JOB_GRES, "QOSMaxGRESPerJob"},
    {model::QOS_MAX_PER_JOB_LICENSE, "QOSMaxLicensePerJob"},
    {model::QOS_MAX_PER_JOB_BILLING, "QOSMaxBillingPerJob"},
    {model::QOS_MAX_PER_NODE_CPU, "QOSMaxCpuPerNode"},
    {model::QOS_MAX_PER_NODE_MEM, "QOSMaxMemoryPerNode"},
    {model::QOS_MAX_PER_NODE_GRES, "QOSMaxGRESPerNode"},
    {model::QOS_MAX_PER_NODE_BILLING, "QOSMaxBillingPerNode"},
    {model::QOS_MAX_MINUTES_PER_JOB_CPU, "QOSMaxCpuMinutesPerJobLimit"},
    {model::QOS_MAX_MINUTES_PER_JOB_MEM, "QOSMaxMemoryMinutesPerJob"},
    {model::QOS_MAX_MINUTES_PER_JOB_NODE, "QOSMaxNodeMinutesPerJob"},
    {model::QOS_MAX_MINUTES_PER_JOB_GRES, "QOSMaxGRESMinutesPerJob"},
    {model::QOS_MAX_MINUTES_PER_JOB_LICENSE, "QOSMaxLicenseMinutesPerJob"},
    {model::QOS_MAX_MINUTES_PER_JOB_BILLING, "QOSMaxBillingMinutesPerJob"},
    {model::QOS_MAX_PER_USER_CPU, "QOSMaxCpuPerUserLimit"},
    {model::QOS_MAX_PER_USER_MEM, "QOSMaxMemoryPerUser"},
    {model::QOS_MAX_PER_USER_NODE, "QOSMaxNodePerUserLimit"},
    {model::QOS_MAX_PER_USER_GRES, "QOSMaxGRESPerUser"},
    {model::QOS_MAX_PER_USER_LICENSE, "QOSMaxLicensePerUser"},
    {model::QOS_MAX_PER_USER_BILLING, "QOSMaxBillingPerUser"},
    {model::QOS_MAX_PER_ACCOUNT_CPU, "MaxCpuPerAccount"},
    {model::QOS_MAX_PER_ACCOUNT_MEM, "MaxMemoryPerAccount"},
    {model::QOS_MAX_PER_ACCOUNT_NODE, "MaxNodePerAccount"},
    {model::QOS_MAX_PER_ACCOUNT_GRES, "MaxGRESPerAccount"},
    {model::QOS_MAX_PER_ACCOUNT_LICENSE, "MaxLicensePerAccount"},
    {model::QOS_MAX_PER_ACCOUNT_BILLING, "MaxBillingPerAccount"},
    {model::QOS_MIN_CPU, "QOSMinCpuNotSatisfied"},
    {model::QOS_MIN_MEM, "QOSMinMemory"},
    {model::QOS_MIN_NODE, "QOSMinNode"},
    {model::QOS_MIN_GRES, "QOSMinGRES"},
    {model::QOS_MIN_LICENSE, "QOSMinLicense"},
    {model::QOS_MIN_BILLING, "QOSMinBilling"},
    {model::QOS_GRP_JOBS, "QOSGrpJobsLimit"},
    {model::QOS_GRP_SUBMIT_JOBS, "QOSGrpSubmitJobsLimit"},
    {model::QOS_GRP_WALL, "QOSGrpWallLimit"},
    {model::QOS_MAX_WALL_PER_JOB, "QOSMaxWallDurationPerJobLimit"},
    {model::QOS_MAX_JOBS_PER_USER, "QOSMaxJobsPerUserLimit"},
    {model::QOS_MAX_SUBMIT_JOBS_PER_USER, "QOSMaxSubmitJobPerUserLimit"},
    {model::QOS_MAX_JOBS_PER_ACCOUNT, "MaxJobsPerAccount"},
    {model::QOS_MAX_SUBMIT_JOBS_PER_ACCOUNT, "MaxSubmitJobsPerAccount"},
    {model::QOS_NOT_ALLOWED, "QOSNotAllowed"},
    {model::QOS_USAGE_THRESHOLD, "QOSUsageThreshold"},
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
