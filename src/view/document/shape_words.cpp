// The words that flags and states of documents may hold. A word behind which @43 stands is known since
// v0.0.43; @-42 until v0.0.42; @41-44 between. Pure.
#include "view/document/shape_tables.h"

namespace minke::view {
namespace {

constexpr ShapeWords kWordLists[] = {
    {"account_flags",
     "DELETED|WithAssociations@41|WithCoordinators@41|NoUsersAreCoords@41|UsersAreCoords@41"},
    {"assoc_flags", "DELETED|NoUpdate@41|Exact@41|NoUsersAreCoords@41|UsersAreCoords@41"},
    {"assoc_shares_obj_wrap_type", "USER|ASSOCIATION"},
    {"cluster_rec_flags", "DELETED@43|REGISTERING|MULTIPLE_SLURMD|FEDERATION|EXTERNAL|FRONT_END@-42"},
    {"job_defaults_type", "DefCpuPerGPU|DefMemPerGPU"},
    {"job_flags",
     "NONE|CLEAR_SCHEDULING|NOT_SET|STARTED_ON_SUBMIT|STARTED_ON_SCHEDULE|STARTED_ON_BACKFILL|"
     "START_RECEIVED|JOB_ALTERED@44"},
    {"job_info_exclusive", "true|false|user|mcs|topo@41"},
    {"job_info_flags",
     "KILL_INVALID_DEPENDENCY|NO_KILL_INVALID_DEPENDENCY|HAS_STATE_DIRECTORY|TESTING_BACKFILL|"
     "GRES_BINDING_ENFORCED|TEST_NOW_ONLY|SEND_JOB_ENVIRONMENT|SPREAD_JOB|PREFER_MINIMUM_NODE_COUNT|"
     "JOB_KILL_HURRY|SKIP_TRES_STRING_ACCOUNTING|SIBLING_CLUSTER_UPDATE_ONLY|HETEROGENEOUS_JOB|"
     "EXACT_TASK_COUNT_REQUESTED|EXACT_CPU_COUNT_REQUESTED|TESTING_WHOLE_NODE_BACKFILL|"
     "TOP_PRIORITY_JOB|ACCRUE_COUNT_CLEARED|GRES_BINDING_DISABLED|JOB_WAS_RUNNING|"
     "JOB_ACCRUE_TIME_RESET|CRON_JOB|EXACT_MEMORY_REQUESTED|EXTERNAL_JOB@43|USING_DEFAULT_ACCOUNT|"
     "USING_DEFAULT_PARTITION|USING_DEFAULT_QOS|USING_DEFAULT_WCKEY|DEPENDENT|MAGNETIC|"
     "PARTITION_ASSIGNED|BACKFILL_ATTEMPTED|SCHEDULING_ATTEMPTED|STEPMGR_ENABLED@41|"
     "SPREAD_SEGMENTS@44|CONSOLIDATE_SEGMENTS@44|EXPEDITED_REQUEUE@44|JOB_IMPLICIT_MAX_NODES@45|"
     "SAVE_BATCH_SCRIPT@-40|GRES_ONE_TASK_PER_SHARING@-40|GRES_MULTIPLE_TASKS_PER_SHARING@-40|"
     "GRES_ALLOW_TASK_SHARING@-40"},
    {"job_info_mail_type",
     "BEGIN|END|FAIL|REQUEUE|TIME=100%|TIME=90%|TIME=80%|TIME=50%|STAGE_OUT|ARRAY_TASKS|"
     "INVALID_DEPENDENCY"},
    {"job_info_profile", "NOT_SET|NONE|ENERGY|LUSTRE|NETWORK|TASK"},
    {"job_info_shared", "none|oversubscribe|user|mcs|topo@41"},
    {"job_info_show_flags", "ALL|DETAIL|MIXED|LOCAL|SIBLING|FEDERATION|FUTURE"},
    {"job_res_core_status", "INVALID|UNALLOCATED|ALLOCATED|IN_USE"},
    {"job_res_nodes_select_type", "AVAILABLE|ONE_ROW|RESERVED"},
    {"job_res_select_type",
     "NONE@45|CR_CPU_MEMORY@45|CR_CPU@45|CR_CORE_MEMORY@45|CR_CORE@45|CR_SOCKET_MEMORY@45|"
     "CR_SOCKET@45|CR_MEMORY@45|CR_ONE_TASK_PER_CORE@45|CR_CORE_DEFAULT_DIST_BLOCK@45|"
     "CR_NO_DIST_TOPO_BLOCK@45|CR_LLN@45|CR_PACK_NODES@45|LL_SHARED_GRES@45|"
     "MULTIPLE_SHARING_GRES_PJ@45|ENFORCE_BINDING_GRES@45|ONE_TASK_PER_SHARING_GRES@45|CPU@-44|"
     "SOCKET@-44|CORE@-44|BOARD@-44|MEMORY@-44|ONE_TASK_PER_CORE@-44|PACK_NODES@-44|"
     "CORE_DEFAULT_DIST_BLOCK@-44|LLN@-44|LINEAR@-44"},
    {"job_state",
     "PENDING|RUNNING|SUSPENDED|COMPLETED|CANCELLED|FAILED|TIMEOUT|NODE_FAIL|PREEMPTED|BOOT_FAIL|"
     "DEADLINE|OUT_OF_MEMORY|LAUNCH_FAILED|REQUEUED|REQUEUE_HOLD|SPECIAL_EXIT|RESIZING|CONFIGURING|"
     "COMPLETING|STOPPED|RECONFIG_FAIL|POWER_UP_NODE|REVOKED|REQUEUE_FED|RESV_DEL_HOLD|SIGNALING|"
     "STAGE_OUT|EXPEDITING@44"},
    {"node_cert_flags", "TOKEN_SET"},
    {"node_next_state_after_reboot",
     "INVALID|UNKNOWN|DOWN|IDLE|ALLOCATED|ERROR|MIXED|FUTURE|EXTERNAL@44|RESERVED|UNDRAIN|CLOUD|"
     "RESUME|DRAIN|COMPLETING|NOT_RESPONDING|POWERED_DOWN|FAIL|POWERING_UP|MAINTENANCE|"
     "REBOOT_REQUESTED|REBOOT_CANCELED|POWERING_DOWN|DYNAMIC_FUTURE|REBOOT_ISSUED|PLANNED|"
     "INVALID_REG|POWER_DOWN|POWER_UP|POWER_DRAIN|POWER_DOWN_ASAP@45|POWER_DOWN_FORCE@45|"
     "DYNAMIC_NORM|BLOCKED@44"},
    {"partition_info_cpus_task_binding",
     "CPU_BIND_TO_THREADS@45|CPU_BIND_TO_CORES@45|CPU_BIND_TO_SOCKETS@45|CPU_BIND_TO_LDOMS@45|"
     "CPU_BIND_NONE@45|CPU_BIND_OFF@45|VERBOSE@45"},
    {"partition_info_flags",
     "DEFAULT|HIDDEN|NO_ROOT|ROOT_ONLY|REQ_RESV|LLN|PDOI|DEFAULT_CLEAR|HIDDEN_CLEAR|NO_ROOT_CLEAR|"
     "ROOT_ONLY_CLEAR|REQ_RESV_CLEAR|LLN_CLEAR|PDOI_CLEAR"},
    {"partition_info_maximums_oversubscribe_flags", "force"},
    {"partition_info_partition_state", "INACTIVE|UNKNOWN|UP|DOWN|DRAIN"},
    {"partition_info_preempt_mode", "CLUSTER_GLOBAL|DISABLED|SUSPEND|REQUEUE|CANCEL|PRIORITY"},
    {"process_exit_code_verbose_status", "INVALID|PENDING|SUCCESS|ERROR|SIGNALED|CORE_DUMPED"},
    {"qos_flags",
     "NOT_SET|ADD|REMOVE|DELETED@43|PARTITION_MINIMUM_NODE|PARTITION_MAXIMUM_NODE|"
     "PARTITION_TIME_LIMIT|ENFORCE_USAGE_THRESHOLD|NO_RESERVE|REQUIRED_RESERVATION|DENY_LIMIT|"
     "OVERRIDE_PARTITION_QOS|PARTITION_QOS@43|NO_DECAY|USAGE_FACTOR_SAFE|RELATIVE"},
    {"qos_preempt_mode", "DISABLED|SUSPEND|REQUEUE|CANCEL|GANG"},
    {"reservation_info_flags",
     "MAINT|NO_MAINT|DAILY|NO_DAILY|WEEKLY|NO_WEEKLY|IGNORE_JOBS|NO_IGNORE_JOBS|ANY_NODES|"
     "NO_ANY_NODES@44|STATIC|NO_STATIC|PART_NODES|NO_PART_NODES|OVERLAP|SPEC_NODES|TIME_FLOAT|"
     "REPLACE|ALL_NODES|PURGE_COMP|WEEKDAY|NO_WEEKDAY|WEEKEND|NO_WEEKEND|FLEX|NO_FLEX|DURATION_PLUS|"
     "DURATION_MINUS|NO_HOLD_JOBS_AFTER_END|REPLACE_DOWN@44|NO_PURGE_COMP|MAGNETIC|NO_MAGNETIC@44|"
     "SKIP|HOURLY|NO_HOURLY|USER_DELETE@41|FORCE_START@44|NO_USER_DELETE@41|REOCCURRING|"
     "TRES_PER_NODE@44"},
    {"rollup_stats_type", "internal|user|unknown"},
    {"slurm_conf_AccountingStorageEnforce", "associations|limits|wckeys|qos|safe|nojobs|nosteps"},
    {"slurm_conf_AccountingStoreFlags", "job_comment|job_extra|job_script|job_env|no_stdio"},
    {"slurm_conf_CommunicationParametersFlags", "IPv4|IPv6|disable_http"},
    {"slurm_conf_ConfFlags", "DisableRootJobs|AllowSpecResourcesUsage|UsePam|TrackWCKey"},
    {"slurm_conf_CpuFreqGovernors",
     "Unset|Conservative|OnDemand|Performance|PowerSave|SchedUtil|UserSpace|Low|Medium|Highm1|High"},
    {"slurm_conf_DebugFlags",
     "Accrue|Agent|AuditRPCs|AuditTLS|Backfill|BackfillMap|BurstBuffer|Cgroup|ConMgr|CpuFrequency|"
     "CPU_Bind|Data|DBD_Agent|DB_Archive|DB_Assoc|DB_Event|DB_Job|DB_QOS|DB_Query|DB_Reservation|"
     "DB_Resource|DB_Step|DB_TRES|DB_Usage|DB_WCKey|Dependency|Energy|Federation|Gang|GLOB_SILENCE|"
     "Gres|Hetjob|Interconnect|JobAccountGather|JobComp|Namespace|NodeFeatures|License|Metrics|MPI|"
     "Network|NetworkRaw|NO_CONF_HASH|Power|Priority|Profile|Protocol|Reservation|Route|Sack|Script|"
     "SelectType|Steps|Switch|thread|TLS|TraceJobs|Triggers"},
    {"slurm_conf_EnforcePartLimits", "NO|ANY|ALL"},
    {"slurm_conf_HealthCheckNodeState", "START_ONLY|REBOOT_ONLY|ANY|IDLE|ALLOC|MIXED|NONDRAINED_IDLE|CYCLE"},
    {"slurm_conf_PreemptMode", "DISABLED|SUSPEND|REQUEUE|CANCEL|GANG|WITHIN|PRIORITY"},
    {"slurm_conf_PriorityFlags",
     "ACCRUE_ALWAYS|SMALL_RELATIVE_TO_TIME|CALCULATE_RUNNING|DEPTH_OBLIVIOUS|FAIR_TREE|INCR_ONLY|"
     "MAX_TRES|MAX_TRES_GRES|NO_NORMAL_ASSOC|NO_NORMAL_PART|NO_NORMAL_QOS|NO_NORMAL_TRES"},
    {"slurm_conf_PrivateData", "accounts|events|jobs|nodes|partitions|reservations|usage|users"},
    {"slurm_conf_PrologFlags", "Alloc|NoHold|Contain|Serial|X11|DeferBatch|ForceRequeueOnFail|RunInJob"},
    {"slurm_conf_ReconfigFlags", "KeepPartInfo|KeepPartState|KeepPowerSaveSettings"},
    {"slurm_conf_SelectTypeParameters",
     "NONE|CR_CPU_MEMORY|CR_CPU|CR_CORE_MEMORY|CR_CORE|CR_SOCKET_MEMORY|CR_SOCKET|CR_MEMORY|"
     "CR_ONE_TASK_PER_CORE|CR_CORE_DEFAULT_DIST_BLOCK|CR_NO_DIST_TOPO_BLOCK|CR_LLN|CR_PACK_NODES|"
     "LL_SHARED_GRES|MULTIPLE_SHARING_GRES_PJ|ENFORCE_BINDING_GRES|ONE_TASK_PER_SHARING_GRES"},
    {"slurm_conf_SlurmdParametersFlags",
     "config_overrides|l3cache_as_socket|numa_node_as_socket|allow_ecores|shutdown_on_reboot|"
     "contain_spank"},
    {"slurm_conf_TaskPluginParam",
     "None|Threads|Cores|Sockets|autobind=threads|autobind=cores|autobind=sockets|Verbose|"
     "SlurmdOffSpec|OOMKillStep|SlurmdSpecOverride"},
    {"slurmdbd_conf_Flags", "AllowNoDefAcct|AllResourcesAbsolute|DisableCoordDBD|DisableArchiveCommands"},
    {"slurmdbd_conf_PersistConnFlags", "PreserveCaseUser"},
    {"user_administrator_level", "Not Set|None|Operator|Administrator"},
    {"user_flags", "NONE|DELETED"},
    {"wckey_flags", "DELETED"},
    {"wckey_tag_struct_flags", "ASSIGNED_DEFAULT"},
};

}  // namespace

std::span<const ShapeWords> shape_words() {
  return kWordLists;
}

}  // namespace minke::view
