// Accounts, users, QOS and clusters, as documents. One row a field: its path, what it holds, and the
// data_parsers (N of v0.0.N) that have it: since, until. Pure.
#include "view/document/shape_tables.h"

namespace minke::view {
namespace {

constexpr ShapeField kOpenapiTresResp[] = {
    {"TRES", kList, "tres"},
    {"meta", kRecord, "openapi_meta"},
    {"errors", kList, "openapi_error"},
    {"warnings", kList, "openapi_warning"},
};
constexpr ShapeField kTres[] = {
    {"type", kText},
    {"name", kText},
    {"id", kInt32},
    {"count", kInt64},
};
constexpr ShapeField kOpenapiAssocsResp[] = {
    {"associations", kList, "assoc"},
    {"meta", kRecord, "openapi_meta"},
    {"errors", kList, "openapi_error"},
    {"warnings", kList, "openapi_warning"},
};
constexpr ShapeField kAssoc[] = {
    {"accounting", kList, "accounting"},
    {"account", kText},
    {"cluster", kText},
    {"comment", kText},
    {"default/qos", kText},
    {"flags", kWords, "assoc_flags"},
    {"max/jobs/per/count", kNumber32},
    {"max/jobs/per/accruing", kNumber32},
    {"max/jobs/per/submitted", kNumber32},
    {"max/jobs/per/wall_clock", kNumber32},
    {"max/jobs/active", kNumber32},
    {"max/jobs/accruing", kNumber32},
    {"max/jobs/total", kNumber32},
    {"max/tres/total", kList, "tres"},
    {"max/tres/group/minutes", kList, "tres"},
    {"max/tres/group/active", kList, "tres"},
    {"max/tres/minutes/total", kList, "tres"},
    {"max/tres/minutes/per/job", kList, "tres"},
    {"max/tres/per/job", kList, "tres"},
    {"max/tres/per/node", kList, "tres"},
    {"max/per/account/wall_clock", kNumber32},
    {"id", kInt32, {}, 41},
    {"id", kRecord, "assoc_short", 40, 40},
    {"is_default", kTrueFalse},
    {"lineage", kText},
    {"min/priority_threshold", kNumber32},
    {"parent_account", kText},
    {"partition", kText},
    {"priority", kNumber32},
    {"qos", kTexts},
    {"shares_raw", kInt32},
    {"user", kText},
};
constexpr ShapeField kAssocShort[] = {
    {"account", kText}, {"cluster", kText}, {"partition", kText}, {"user", kText}, {"id", kInt32},
};
constexpr ShapeField kOpenapiAccountsResp[] = {
    {"accounts", kList, "account"},
    {"meta", kRecord, "openapi_meta"},
    {"errors", kList, "openapi_error"},
    {"warnings", kList, "openapi_warning"},
};
constexpr ShapeField kAccount[] = {
    {"associations", kList, "assoc_short"},
    {"coordinators", kList, "coord"},
    {"description", kText},
    {"name", kText},
    {"organization", kText},
    {"flags", kWords, "account_flags"},
};
constexpr ShapeField kCoord[] = {
    {"name", kText},
    {"direct", kTrueFalse},
};
constexpr ShapeField kOpenapiUsersResp[] = {
    {"users", kList, "user"},
    {"meta", kRecord, "openapi_meta"},
    {"errors", kList, "openapi_error"},
    {"warnings", kList, "openapi_warning"},
};
constexpr ShapeField kUser[] = {
    {"administrator_level", kWords, "user_administrator_level"},
    {"associations", kList, "assoc_short"},
    {"coordinators", kList, "coord"},
    {"default/qos", kInt32, {}, 44},
    {"default/account", kText},
    {"default/wckey", kText},
    {"flags", kWords, "user_flags"},
    {"name", kText},
    {"old_name", kText},
    {"wckeys", kList, "wckey"},
};
constexpr ShapeField kOpenapiWckeyResp[] = {
    {"wckeys", kList, "wckey"},
    {"meta", kRecord, "openapi_meta"},
    {"errors", kList, "openapi_error"},
    {"warnings", kList, "openapi_warning"},
};
constexpr ShapeField kWckey[] = {
    {"accounting", kList, "accounting"}, {"cluster", kText}, {"id", kInt32}, {"name", kText}, {"user", kText},
    {"flags", kWords, "wckey_flags"},
};
constexpr ShapeField kOpenapiSlurmdbdQosResp[] = {
    {"qos", kList, "qos"},
    {"meta", kRecord, "openapi_meta"},
    {"errors", kList, "openapi_error"},
    {"warnings", kList, "openapi_warning"},
};
constexpr ShapeField kQos[] = {
    {"description", kText},
    {"flags", kWords, "qos_flags"},
    {"id", kInt32},
    {"limits/grace_time", kInt32},
    {"limits/max/active_jobs/accruing", kNumber32},
    {"limits/max/active_jobs/count", kNumber32},
    {"limits/max/jobs/count", kNumber32, {}, 42},
    {"limits/max/jobs/active_jobs/per/account", kNumber32},
    {"limits/max/jobs/active_jobs/per/user", kNumber32},
    {"limits/max/jobs/per/account", kNumber32},
    {"limits/max/jobs/per/user", kNumber32},
    {"limits/max/tres/total", kList, "tres"},
    {"limits/max/tres/minutes/total", kList, "tres", 42},
    {"limits/max/tres/minutes/per/qos", kList, "tres"},
    {"limits/max/tres/minutes/per/job", kList, "tres"},
    {"limits/max/tres/minutes/per/account", kList, "tres"},
    {"limits/max/tres/minutes/per/user", kList, "tres"},
    {"limits/max/tres/per/account", kList, "tres"},
    {"limits/max/tres/per/job", kList, "tres"},
    {"limits/max/tres/per/node", kList, "tres"},
    {"limits/max/tres/per/user", kList, "tres"},
    {"limits/max/wall_clock/per/qos", kNumber32},
    {"limits/max/wall_clock/per/job", kNumber32},
    {"limits/max/accruing/per/account", kNumber32},
    {"limits/max/accruing/per/user", kNumber32},
    {"limits/factor", kRealNumber},
    {"limits/min/priority_threshold", kNumber32},
    {"limits/min/tres/per/job", kList, "tres"},
    {"name", kText},
    {"preempt/list", kTexts},
    {"preempt/mode", kWords, "qos_preempt_mode"},
    {"preempt/exempt_time", kNumber32},
    {"priority", kNumber32},
    {"usage_factor", kRealNumber},
    {"usage_threshold", kRealNumber},
};
constexpr ShapeField kOpenapiClustersResp[] = {
    {"clusters", kList, "cluster_rec"},
    {"meta", kRecord, "openapi_meta"},
    {"errors", kList, "openapi_error"},
    {"warnings", kList, "openapi_warning"},
};
constexpr ShapeField kClusterRec[] = {
    {"controller/host", kText},
    {"controller/port", kInt32},
    {"flags", kWords, "cluster_rec_flags"},
    {"name", kText},
    {"nodes", kText},
    {"associations/root", kRecord, "assoc_short"},
    {"rpc_version", kInt32},
    {"tres", kList, "tres"},
    {"select_plugin", kText, {}, 40, 44},
};
constexpr ShapeField kOpenapiInstancesResp[] = {
    {"instances", kList, "instance"},
    {"meta", kRecord, "openapi_meta"},
    {"errors", kList, "openapi_error"},
    {"warnings", kList, "openapi_warning"},
};
constexpr ShapeField kInstance[] = {
    {"cluster", kText},   {"extra", kText},          {"instance_id", kText},      {"instance_type", kText},
    {"node_name", kText}, {"time/time_end", kInt64}, {"time/time_start", kInt64},
};
constexpr ShapeField kOpenapiSlurmdbdConfigResp[] = {
    {"clusters", kList, "cluster_rec"},
    {"tres", kList, "tres"},
    {"accounts", kList, "account"},
    {"users", kList, "user"},
    {"qos", kList, "qos"},
    {"wckeys", kList, "wckey"},
    {"associations", kList, "assoc"},
    {"meta", kRecord, "openapi_meta"},
    {"errors", kList, "openapi_error"},
    {"warnings", kList, "openapi_warning"},
    {"instances", kList, "instance", 40, 44},
};
constexpr ShapeField kAccounting[] = {
    {"allocated/seconds", kInt64}, {"id", kInt32}, {"id_alt", kInt32, {}, 42}, {"start", kInt64},
    {"TRES", kRecord, "tres"},
};
constexpr ShapeEntity kEntities[] = {
    {"openapi_tres_resp", kOpenapiTresResp},
    {"tres", kTres},
    {"openapi_assocs_resp", kOpenapiAssocsResp},
    {"assoc", kAssoc},
    {"assoc_short", kAssocShort},
    {"openapi_accounts_resp", kOpenapiAccountsResp},
    {"account", kAccount},
    {"coord", kCoord},
    {"openapi_users_resp", kOpenapiUsersResp},
    {"user", kUser},
    {"openapi_wckey_resp", kOpenapiWckeyResp},
    {"wckey", kWckey},
    {"openapi_slurmdbd_qos_resp", kOpenapiSlurmdbdQosResp},
    {"qos", kQos},
    {"openapi_clusters_resp", kOpenapiClustersResp},
    {"cluster_rec", kClusterRec},
    {"openapi_instances_resp", kOpenapiInstancesResp},
    {"instance", kInstance},
    {"openapi_slurmdbd_config_resp", kOpenapiSlurmdbdConfigResp},
    {"accounting", kAccounting},
};

}  // namespace

std::span<const ShapeEntity> shapes_accounts() {
  return kEntities;
}

}  // namespace minke::view
