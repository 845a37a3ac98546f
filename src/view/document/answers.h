// What a whole document is: the record that its answer has in slurmrestd's schemas, and the page that serves
// it. The records that only commands print have names of Minke's own. Constant data; any thread.
#pragma once

#include <span>
#include <string_view>

namespace minke::view {

namespace answer {
inline constexpr std::string_view kJobs = "openapi_job_info_resp", kNodes = "openapi_nodes_resp",
                                  kPartitions = "openapi_partition_resp",
                                  kReservations = "openapi_reservation_resp",
                                  kLicenses = "openapi_licenses_resp", kPings = "openapi_ping_array_resp",
                                  kConfiguration = "openapi_conf_resp", kDiagnostics = "openapi_diag_resp",
                                  kShares = "openapi_shares_resp";
inline constexpr std::string_view kAccountedJobs = "openapi_slurmdbd_jobs_resp",
                                  kAccounts = "openapi_accounts_resp", kUsers = "openapi_users_resp",
                                  kAssociations = "openapi_assocs_resp", kQos = "openapi_slurmdbd_qos_resp",
                                  kTres = "openapi_tres_resp", kClusters = "openapi_clusters_resp",
                                  kWckeys = "openapi_wckey_resp", kInstances = "openapi_instances_resp",
                                  kAccountingStatistics = "openapi_slurmdbd_stats_resp",
                                  kAccountingPings = "openapi_slurmdbd_ping_resp",
                                  kAccountingConfiguration = "openapi_slurmdbd_conf_resp",
                                  kAccountingDump = "openapi_slurmdbd_config_resp";
// Of commands alone.
inline constexpr std::string_view kSteps = "openapi_step_info_msg", kJobStates = "openapi_job_state_resp",
                                  kNodeLines = "openapi_sinfo_resp", kListedJobs = "openapi_listjobs_resp",
                                  kListedSteps = "openapi_liststeps_resp",
                                  kListedProcesses = "openapi_listpids_resp";
}  // namespace answer

// A page of slurmrestd: "/slurm/v0.0.45/jobs/" is {"/slurm", "/jobs", …}.
struct DocumentPage {
  std::string_view part, name, answer;
  int since = 40;  // N of data_parser/v0.0.N
};
std::span<const DocumentPage> document_pages();

}  // namespace minke::view
