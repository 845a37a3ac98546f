// Who answers and what was counted: pings, sdiag, sshare, and what every document ends with. One row a field:
// its path, what it holds, and the data_parsers (N of v0.0.N) that have it: since, until. Pure.
#include "view/document/shape_tables.h"

namespace minke::view {
namespace {

constexpr ShapeField kOpenapiSharesResp[] = {
    {"shares", kRecord, "shares_resp_msg"},
    {"meta", kRecord, "openapi_meta"},
    {"errors", kList, "openapi_error"},
    {"warnings", kList, "openapi_warning"},
};
constexpr ShapeField kSharesRespMsg[] = {
    {"shares", kList, "assoc_shares_obj_wrap"},
    {"total_shares", kInt64},
};
constexpr ShapeField kAssocSharesObjWrap[] = {
    {"id", kInt32},
    {"cluster", kText},
    {"name", kText},
    {"parent", kText},
    {"partition", kText},
    {"shares_normalized", kRealNumber},
    {"shares", kNumber32},
    {"tres/run_seconds", kList, "shares_uint64_tres"},
    {"tres/group_minutes", kList, "shares_uint64_tres"},
    {"tres/usage", kList, "shares_float128_tres"},
    {"effective_usage", kRealNumber, {}, 42},
    {"effective_usage", kReal, {}, 40, 41},
    {"usage_normalized", kRealNumber},
    {"usage", kInt64},
    {"fairshare/factor", kRealNumber, {}, 42},
    {"fairshare/factor", kReal, {}, 40, 41},
    {"fairshare/level", kRealNumber, {}, 42},
    {"fairshare/level", kReal, {}, 40, 41},
    {"type", kWords, "assoc_shares_obj_wrap_type"},
};
constexpr ShapeField kSharesUint64Tres[] = {
    {"name", kText},
    {"value", kNumber64},
};
constexpr ShapeField kSharesFloat128Tres[] = {
    {"name", kText},
    {"value", kReal},
};
constexpr ShapeField kOpenapiMeta[] = {
    {"plugin/type", kText},         {"plugin/name", kText},
    {"plugin/data_parser", kText},  {"plugin/accounting_storage", kText},
    {"client/source", kText},       {"client/user", kText},
    {"client/group", kText},        {"command", kTexts},
    {"slurm/version/major", kText}, {"slurm/version/micro", kText},
    {"slurm/version/minor", kText}, {"slurm/release", kText},
    {"slurm/cluster", kText},
};
constexpr ShapeField kOpenapiError[] = {
    {"description", kText},
    {"error_number", kInt32},
    {"error", kText},
    {"source", kText},
};
constexpr ShapeField kOpenapiWarning[] = {
    {"description", kText},
    {"source", kText},
};
constexpr ShapeField kOpenapiDiagResp[] = {
    {"statistics", kRecord, "stats_msg"},
    {"meta", kRecord, "openapi_meta"},
    {"errors", kList, "openapi_error"},
    {"warnings", kList, "openapi_warning"},
};
constexpr ShapeField kStatsMsg[] = {
    {"req_time", kNumber64},
    {"req_time_start", kNumber64},
    {"server_thread_count", kInt32},
    {"agent_queue_size", kInt32},
    {"agent_count", kInt32},
    {"agent_thread_count", kInt32},
    {"dbd_agent_queue_size", kInt32},
    {"gettimeofday_latency", kInt32},
    {"schedule_cycle_max", kInt32},
    {"schedule_cycle_last", kInt32},
    {"schedule_cycle_sum", kInt64, {}, 42},
    {"schedule_cycle_sum", kInt32, {}, 41, 42},
    {"schedule_cycle_total", kInt32},
    {"schedule_cycle_mean", kInt64},
    {"schedule_cycle_mean_depth", kInt64},
    {"schedule_cycle_per_minute", kInt64},
    {"schedule_cycle_depth", kInt32, {}, 41},
    {"schedule_exit", kRecord, "schedule_exit_fields"},
    {"schedule_queue_length", kInt32},
    {"jobs_submitted", kInt32},
    {"jobs_started", kInt32},
    {"jobs_completed", kInt32},
    {"jobs_canceled", kInt32},
    {"jobs_failed", kInt32},
    {"jobs_pending", kInt32},
    {"jobs_running", kInt32},
    {"job_states_ts", kNumber64},
    {"bf_backfilled_jobs", kInt32},
    {"bf_last_backfilled_jobs", kInt32},
    {"bf_backfilled_het_jobs", kInt32},
    {"bf_cycle_counter", kInt32},
    {"bf_cycle_mean", kInt64},
    {"bf_depth_mean", kInt64},
    {"bf_depth_mean_try", kInt64},
    {"bf_cycle_sum", kInt64},
    {"bf_cycle_last", kInt32},
    {"bf_cycle_max", kInt32, {}, 41},
    {"bf_exit", kRecord, "bf_exit_fields"},
    {"bf_last_depth", kInt32},
    {"bf_last_depth_try", kInt32},
    {"bf_depth_sum", kInt32},
    {"bf_depth_try_sum", kInt32},
    {"bf_queue_len", kInt32},
    {"bf_queue_len_mean", kInt64},
    {"bf_queue_len_sum", kInt32},
    {"bf_table_size", kInt32},
    {"bf_table_size_sum", kInt32, {}, 41},
    {"bf_table_size_mean", kInt64},
    {"bf_when_last_cycle", kNumber64},
    {"bf_active", kTrueFalse},
    {"rpcs_by_message_type", kList, "stats_msg_rpc_type"},
    {"rpcs_by_user", kList, "stats_msg_rpc_user"},
    {"pending_rpcs", kList, "stats_msg_rpc_queue", 41},
    {"pending_rpcs_by_hostlist", kList, "stats_msg_rpc_dump", 41},
    {"parts_packed", kInt32, {}, 40, 44},
};
constexpr ShapeField kScheduleExitFields[] = {
    {"end_job_queue", kInt32}, {"default_queue_depth", kInt32}, {"max_job_start", kInt32},
    {"max_rpc_cnt", kInt32},   {"max_sched_time", kInt32},      {"licenses", kInt32},
};
constexpr ShapeField kBfExitFields[] = {
    {"end_job_queue", kInt32}, {"bf_max_job_start", kInt32},   {"bf_max_job_test", kInt32},
    {"bf_max_time", kInt32},   {"bf_node_space_size", kInt32}, {"state_changed", kInt32},
};
constexpr ShapeField kStatsMsgRpcType[] = {
    {"type_id", kInt32},
    {"message_type", kText},
    {"count", kInt32, {}, 41},
    {"count", kInt64, {}, 40, 40},
    {"queued", kInt32, {}, 41},
    {"dropped", kInt64, {}, 41},
    {"cycle_last", kInt32, {}, 41},
    {"cycle_max", kInt32, {}, 41},
    {"total_time", kInt64},
    {"average_time", kNumber64, {}, 41},
    {"average_time", kInt64, {}, 40, 40},
};
constexpr ShapeField kStatsMsgRpcUser[] = {
    {"user_id", kInt32},
    {"user", kText},
    {"count", kInt32, {}, 41},
    {"count", kInt64, {}, 40, 40},
    {"total_time", kInt64},
    {"average_time", kNumber64, {}, 41},
    {"average_time", kInt64, {}, 40, 40},
};
constexpr ShapeField kStatsMsgRpcQueue[] = {
    {"type_id", kInt32, {}, 41},
    {"message_type", kText, {}, 41},
    {"count", kInt32, {}, 41},
};
constexpr ShapeField kStatsMsgRpcDump[] = {
    {"type_id", kInt32, {}, 41},
    {"message_type", kText, {}, 41},
    {"count", kTexts, {}, 41},
};
constexpr ShapeField kOpenapiPingArrayResp[] = {
    {"pings", kList, "controller_ping"},
    {"meta", kRecord, "openapi_meta"},
    {"errors", kList, "openapi_error"},
    {"warnings", kList, "openapi_warning"},
};
constexpr ShapeField kControllerPing[] = {
    {"hostname", kText},         {"responding", kTrueFalse, {}, 42},
    {"latency", kInt64},         {"primary", kTrueFalse, {}, 42},
    {"status", kText, {}, 45},   {"pinged", kText, {}, 40, 44},
    {"mode", kText, {}, 40, 44},
};
constexpr ShapeField kOpenapiSlurmdbdStatsResp[] = {
    {"statistics", kRecord, "stats_rec"},
    {"meta", kRecord, "openapi_meta"},
    {"errors", kList, "openapi_error"},
    {"warnings", kList, "openapi_warning"},
};
constexpr ShapeField kStatsRec[] = {
    {"time_start", kInt64},
    {"rollups", kRecord, "rollup_stats", 41},
    {"rollups", kList, "rollup_stats", 40, 40},
    {"RPCs", kList, "stats_rpc"},
    {"users", kList, "stats_user"},
};
constexpr ShapeField kRollupStats[] = {
    {"hourly/count", kInt32, {}, 41},          {"hourly/last_run", kInt64, {}, 41},
    {"hourly/duration/last", kInt64, {}, 41},  {"hourly/duration/max", kInt64, {}, 41},
    {"hourly/duration/time", kInt64, {}, 41},  {"daily/count", kInt32, {}, 41},
    {"daily/last_run", kInt64, {}, 41},        {"daily/duration/last", kInt64, {}, 41},
    {"daily/duration/max", kInt64, {}, 41},    {"daily/duration/time", kInt64, {}, 41},
    {"monthly/count", kInt32, {}, 41},         {"monthly/last_run", kInt64, {}, 41},
    {"monthly/duration/last", kInt64, {}, 41}, {"monthly/duration/max", kInt64, {}, 41},
    {"monthly/duration/time", kInt64, {}, 41}, {"type", kWord, "rollup_stats_type", 40, 40},
    {"last_run", kInt32, {}, 40, 40},          {"max_cycle", kInt64, {}, 40, 40},
    {"total_time", kInt64, {}, 40, 40},        {"total_cycles", kInt64, {}, 40, 40},
    {"mean_cycles", kInt64, {}, 40, 40},       {"last_cycle", kInt64, {}, 40, 40},
};
constexpr ShapeField kStatsRpc[] = {
    {"rpc", kText},
    {"count", kInt32},
    {"time/average", kInt64},
    {"time/total", kInt64},
};
constexpr ShapeField kStatsUser[] = {
    {"user", kText},
    {"count", kInt32},
    {"time/average", kInt64},
    {"time/total", kInt64},
};
constexpr ShapeField kOpenapiSlurmdbdPingResp[] = {
    {"pings", kList, "slurmdbd_ping", 42},
    {"meta", kRecord, "openapi_meta", 42},
    {"errors", kList, "openapi_error", 42},
    {"warnings", kList, "openapi_warning", 42},
};
constexpr ShapeField kSlurmdbdPing[] = {
    {"hostname", kText, {}, 42},     {"responding", kTrueFalse, {}, 42}, {"latency", kInt64, {}, 42},
    {"primary", kTrueFalse, {}, 42}, {"status", kText, {}, 45},
};
constexpr ShapeEntity kEntities[] = {
    {"openapi_shares_resp", kOpenapiSharesResp},
    {"shares_resp_msg", kSharesRespMsg},
    {"assoc_shares_obj_wrap", kAssocSharesObjWrap},
    {"shares_uint64_tres", kSharesUint64Tres},
    {"shares_float128_tres", kSharesFloat128Tres},
    {"openapi_meta", kOpenapiMeta},
    {"openapi_error", kOpenapiError},
    {"openapi_warning", kOpenapiWarning},
    {"openapi_diag_resp", kOpenapiDiagResp},
    {"stats_msg", kStatsMsg},
    {"schedule_exit_fields", kScheduleExitFields},
    {"bf_exit_fields", kBfExitFields},
    {"stats_msg_rpc_type", kStatsMsgRpcType},
    {"stats_msg_rpc_user", kStatsMsgRpcUser},
    {"stats_msg_rpc_queue", kStatsMsgRpcQueue},
    {"stats_msg_rpc_dump", kStatsMsgRpcDump},
    {"openapi_ping_array_resp", kOpenapiPingArrayResp},
    {"controller_ping", kControllerPing},
    {"openapi_slurmdbd_stats_resp", kOpenapiSlurmdbdStatsResp},
    {"stats_rec", kStatsRec},
    {"rollup_stats", kRollupStats},
    {"stats_rpc", kStatsRpc},
    {"stats_user", kStatsUser},
    {"openapi_slurmdbd_ping_resp", kOpenapiSlurmdbdPingResp},
    {"slurmdbd_ping", kSlurmdbdPing},
};

}  // namespace

std::span<const ShapeEntity> shapes_statistics() {
  return kEntities;
}

}  // namespace minke::view
