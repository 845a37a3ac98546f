// The helper programs: tasks that this program does in a process of its own, under another name. The engine
// and the launcher start them; helpers/, node/ and cli/ implement them. This is the only table of their
// names, and the only way to name one. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace minke::os {

enum class Helper : uint8_t {
  kLauncher,          // the parent of all job processes (node/launcher.h)
  kGpuProbe,          // asks the GPUs' driver
  kJobProxy,          // an offline job's way to the hosts that are allowed
  kJobPorts,          // ports of a user's offline jobs, on the machine's side
  kTask,              // precedes a task's program
  kContainer,         // precedes a program that runs in a container
  kChainPart,         // one part of a chain of runs, in its job
  kFarmWorker,        // takes cases of a farm and runs them, in its job
  kStagedScript,      // stages a job's data, then runs its script
  kTmpImageTemplate,  // makes the file that jobs' directories are copied from
  kPrologProgram,     // runs one prolog or epilog
  kTriggerProgram,    // runs a trigger's program, as its user
  kSayToOwner,        // writes to the terminal of a job's owner, with the owner's rights
  kMailer,            // sends the messages on its input
  kKeepMetrics,       // puts metrics that jobs left into their records
  kMetricsServer,     // serves /metrics
  kStorageCount,      // counts what users have in their tiers
  kStorageKeep,       // does what the calendar requires: purges, snapshots
  kStorageWatch,      // keeps the counts up to date
  kStageServer,       // the cache of staged data
};

// "gpu-probe": the first word after the program.
constexpr std::string_view helper_name(Helper helper) {
  switch (helper) {
    case Helper::kLauncher:
      return "launcher";
    case Helper::kGpuProbe:
      return "gpu-probe";
    case Helper::kJobProxy:
      return "job-proxy";
    case Helper::kJobPorts:
      return "job-ports";
    case Helper::kTask:
      return "task";
    case Helper::kContainer:
      return "container";
    case Helper::kChainPart:
      return "chain-part";
    case Helper::kFarmWorker:
      return "farm-worker";
    case Helper::kStagedScript:
      return "staged-script";
    case Helper::kTmpImageTemplate:
      return "tmp-image-template";
    case Helper::kPrologProgram:
      return "prolog-program";
    case Helper::kTriggerProgram:
      return "trigger-program";
    case Helper::kSayToOwner:
      return "say-to-owner";
    case Helper::kMailer:
      return "mailer";
    case Helper::kKeepMetrics:
      return "keep-metrics";
    case Helper::kMetricsServer:
      return "metrics-server";
    case Helper::kStorageCount:
      return "storage-count";
    case Helper::kStorageKeep:
      return "storage-keep";
    case Helper::kStorageWatch:
      return "storage-watch";
    case Helper::kStageServer:
      return "stage-server";
  }
  return {};
}

// The command that starts it: this program, its name, then `arguments`.
std::vector<std::string> helper_command(Helper helper, std::vector<std::string> arguments = {});

}  // namespace minke::os
