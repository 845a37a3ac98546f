// scontrol setdebugflags: the words are read as Slurm reads them, so that a spelling error is told. They have
// no effect: the daemon logs everything that the flags could ask for.
#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/version.h"
#include "cli/scontrol/commands.h"
#include "text/number.h"

namespace minke::cli {
namespace {

// Of all releases: older names stay accepted.
constexpr std::string_view kFlags[] = {"Accrue",        "Agent",
                                       "AuditRPCs",     "AuditTLS",
                                       "Backfill",      "BackfillMap",
                                       "BurstBuffer",   "Cgroup",
                                       "ConMgr",        "CpuFrequency",
                                       "CPU_Bind",      "Data",
                                       "DBD_Agent",     "DB_Archive",
                                       "DB_Assoc",      "DB_Event",
                                       "DB_Job",        "DB_QOS",
                                       "DB_Query",      "DB_Reservation",
                                       "DB_Resource",   "DB_Step",
                                       "DB_TRES",       "DB_Usage",
                                       "DB_WCKey",      "Dependency",
                                       "Elasticsearch", "Energy",
                                       "ExtSensors",    "Federation",
                                       "FrontEnd",      "Gang",
                                       "GLOB_SILENCE",  "Gres",
                                       "Hetjob",        "Interconnect",
                                       "JAG",           "JobAccountGather",
                                       "JobComp",       "JobContainer",
                                       "License",       "Metrics",
                                       "MPI",           "Namespace",
                                       "Net",           "NetRaw",
                                       "Network",       "NetworkRaw",
                                       "NodeFeatures",  "NO_CONF_HASH",
                                       "Power",         "Priority",
                                       "Profile",       "Protocol",
                                       "Reservation",   "Route",
                                       "Sack",          "Script",
                                       "SelectType",    "Steps",
                                       "Switch",        "Task",
                                       "thread",        "TimeCray",
                                       "TLS",           "TraceJobs",
                                       "Trigger",       "Triggers",
                                       "WorkQ",         "WorkQueue"};

// The first name of the list that is none; empty where all are flags.
std::string_view unknown_flag(std::string_view list) {
  for (const std::string_view word : text::split(list, ',')) {
    const bool known =
        word.empty() || std::any_of(std::begin(kFlags), std::end(kFlags), [&](std::string_view flag) {
          return text::equals_ignoring_case(flag, word);
        });
    if (!known) return word;
  }
  return {};
}

}  // namespace

int Scontrol::set_debug_flags(const Words& words) {
  const bool old = spoken_release() < kSlurm24;
  if (old && words.size() > 2) return complain("too many arguments for keyword:" + words[0]);
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!old && text::starts_with_ignoring_case(word, "nodes=")) continue;
    if (!word.starts_with('+') && !word.starts_with('-'))
      return complain("invalid debug flag: " + word + "\nUsage: setdebugflags " +
                      (old ? "[+|-]NAME" : "{+|-}NAME [{+|-}NAME] [nodes=<NODES>]"));
    if (const std::string_view unknown = unknown_flag(std::string_view(word).substr(1)); !unknown.empty())
      return complain("scontrol: error: Invalid DebugFlag: " + std::string(unknown) +
                      "\ninvalid debug flag: " + word);
  }
  return 0;
}

}  // namespace minke::cli
