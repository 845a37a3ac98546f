// sacctmgr show configuration: the cluster's parameters that are about accounting, and those that a slurmdbd
// would report. There is no slurmdbd: the daemon itself keeps the accounts, for ever.
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string_view>
#include <utility>

#include "api/field.pb.h"
#include "api/machine.pb.h"
#include "cli/sacctmgr/show.h"
#include "cli/scontrol/show.h"
#include "view/output.h"
#include "view/text.h"

namespace minke::cli {
namespace {

constexpr std::string_view kOfTheCluster[] = {"AccountingStorageBackupHost",
                                              "AccountingStorageHost",
                                              "AccountingStorageParameters",
                                              "AccountingStoragePort",
                                              "AccountingStorageType",
                                              "AccountingStorageUser",
                                              "AuthType",
                                              "MessageTimeout",
                                              "PluginDir",
                                              "PrivateData",
                                              "SlurmUser",
                                              "SLURM_CONF",
                                              "SLURM_VERSION",
                                              "TCPTimeout",
                                              "TrackWCKey"};

// Nothing is archived. Nothing is removed, unless the cluster says otherwise.
constexpr std::pair<std::string_view, std::string_view> kOfTheAccounts[] = {
    {"AllowNoDefAcct", "No"},    {"ArchiveEvents", "No"},       {"ArchiveJobs", "No"},
    {"ArchiveResvs", "No"},      {"ArchiveSteps", "No"},        {"ArchiveSuspend", "No"},
    {"ArchiveTXN", "No"},        {"ArchiveUsage", "No"},        {"CommitDelay", "No"},
    {"DbdHost", "localhost"},    {"DefaultQOS", "(null)"},      {"MaxQueryTimeRange", "UNLIMITED"},
    {"PurgeEventAfter", "NONE"}, {"PurgeJobAfter", "NONE"},     {"PurgeResvAfter", "NONE"},
    {"PurgeStepAfter", "NONE"},  {"PurgeSuspendAfter", "NONE"}, {"PurgeTXNAfter", "NONE"},
    {"PurgeUsageAfter", "NONE"}};

void append_line(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(name.size() < 22 ? 22 - name.size() : 0, ' ');
  out.append(" = ").append(value.empty() ? "(null)" : value) += '\n';
}

}  // namespace

int show_configuration(AccountingSession& session) {
  const auto config = session.engine().configuration();
  if (!config) {
    std::fprintf(stderr, "sacctmgr: error: %s\n", config.error().message.c_str());
    return 1;
  }
  std::string all;
  view::DisplayContext display;
  display.now = config->now();
  append_configuration(all, *config, display);
  std::string out = all.substr(0, all.find('\n') + 1);
  const auto value_of = [&](std::string_view name) {
    const auto found = std::find_if(config->values().begin(), config->values().end(),
                                    [&](const api::Field& one) { return one.name() == name; });
    return found == config->values().end() ? std::string() : found->value();
  };
  for (const std::string_view name : kOfTheCluster) append_line(out, name, value_of(name));
  out += "\nSlurmDBD configuration:\n";
  for (const auto& [name, value] : kOfTheAccounts) {
    const std::string set = value_of(name);
    append_line(out, name, set.empty() ? value : set);
  }
  for (const std::string_view name : {"PrivateData", "TrackWCKey"}) append_line(out, name, value_of(name));
  append_line(out, "SLURMDBD_CONF", value_of("SLURM_CONF"));  // one file has everything
  append_line(out, "SLURMDBD_VERSION", value_of("SLURM_VERSION"));
  view::write_out(out);
  return 0;
}

}  // namespace minke::cli
