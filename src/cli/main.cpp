// One program under many names: argv[0], or the first word after "minke", picks the command.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "base/version.h"
#include "cli/chain.h"
#include "cli/commands.h"
#include "cli/farm/farm.h"
#include "cli/farm/meta.h"
#include "cli/grow.h"
#include "cli/language.h"
#include "cli/slurm_programs.h"
#include "cli/software.h"
#include "cli/storage/storage.h"
#include "cli/sweep.h"
#include "cli/wheels.h"
#include "config/site_variables.h"
#include "farming/farm_worker.h"
#include "helpers/programs.h"
#include "helpers/prolog_program.h"
#include "helpers/say_to_owner.h"
#include "os/helper_program.h"
#include "os/minke_home.h"

namespace {

struct Command {
  std::string_view name;
  int (*run)(int argc, char** argv);
};

constexpr Command kCommands[] = {
    {"sbatch", minke::cli::sbatch_main},
    {"srun", minke::cli::srun_main},
    {"sbcast", minke::cli::sbcast_main},
    {"sgather", minke::cli::sgather_main},
    {minke::os::helper_name(minke::os::Helper::kTask), minke::helpers::task_main},
    {minke::os::helper_name(minke::os::Helper::kContainer), minke::helpers::container_main},
    {"salloc", minke::cli::salloc_main},
    {"squeue", minke::cli::squeue_main},
    {"sq", minke::cli::sq_main},
    {"sinfo", minke::cli::sinfo_main},
    {"scancel", minke::cli::scancel_main},
    {"sacct", minke::cli::sacct_main},
    {"scontrol", minke::cli::scontrol_main},
    {"scrontab", minke::cli::scrontab_main},
    {"sdiag", minke::cli::sdiag_main},
    {"sprio", minke::cli::sprio_main},
    {"sshare", minke::cli::sshare_main},
    {"sacctmgr", minke::cli::sacctmgr_main},
    {"sstat", minke::cli::sstat_main},
    {"sreport", minke::cli::sreport_main},
    {"seff", minke::cli::seff_main},
    {"sqsub", minke::cli::sqsub_main},
    {"sqjobs", minke::cli::sqjobs_main},
    {"sqkill", minke::cli::sqkill_main},
    {"sqsuspend", minke::cli::sqsuspend_main},
    {"sqresume", minke::cli::sqresume_main},
    {"sqhosts", minke::cli::sqhosts_main},
    {"strigger", minke::cli::strigger_main},
    {"swait", minke::cli::swait_main},
    {minke::os::helper_name(minke::os::Helper::kTriggerProgram), minke::helpers::trigger_program_main},
    {minke::os::helper_name(minke::os::Helper::kPrologProgram), minke::helpers::prolog_program_main},
    {minke::os::helper_name(minke::os::Helper::kSayToOwner), minke::helpers::say_to_owner_main},
    {"sattach", minke::cli::sattach_main},
    {"chain", minke::cli::chain_main},
    {minke::os::helper_name(minke::os::Helper::kChainPart), minke::helpers::chain_part_main},
    {minke::os::helper_name(minke::os::Helper::kFarmWorker), minke::farming::farm_worker_main},
    {"avail_wheels", minke::cli::avail_wheels_main},
    {"modulecmd", minke::cli::modulecmd_main},
    {"storage", minke::cli::storage_main},
    {"grow", minke::cli::grow_main},
    {"sweep", minke::cli::sweep_main},
    {"cp", minke::cli::cp_main},
    {"sync", minke::cli::sync_main},
    {"pack", minke::cli::pack_main},
    {"unpack", minke::cli::unpack_main},
    {"data", minke::cli::data_main},
    {"stage", minke::cli::stage_main},
    {minke::os::helper_name(minke::os::Helper::kStagedScript), minke::cli::staged_script_main},
    {minke::os::helper_name(minke::os::Helper::kStorageCount), minke::helpers::storage_count_main},
    {minke::os::helper_name(minke::os::Helper::kStorageKeep), minke::helpers::storage_keep_main},
    {minke::os::helper_name(minke::os::Helper::kStorageWatch), minke::helpers::storage_watch_main},
    {minke::os::helper_name(minke::os::Helper::kStageServer), minke::helpers::stage_server_main},
    {"restore", minke::cli::restore_main},
    {"diskusage_report", minke::cli::diskusage_report_main},
    {"shownicerquota.pl", minke::cli::shownicerquota_main},
    {"lfs", minke::cli::lfs_main},
    {"setrpaths.sh", minke::cli::setrpaths_main},
    {"farm", minke::cli::farm_main},
    {"farm_init.run", minke::cli::farm_init_main},
    {"submit.run", minke::cli::submit_run_main},
    {"resubmit.run", minke::cli::resubmit_run_main},
    {"list.run", minke::cli::list_run_main},
    {"query.run", minke::cli::query_run_main},
    {"queue.run", minke::cli::query_run_main},
    {"kill.run", minke::cli::kill_run_main},
    {"prune.run", minke::cli::prune_run_main},
    {"Status.run", minke::cli::status_run_main},
    {"clean.run", minke::cli::clean_run_main},
    {"task.run", minke::cli::task_run_main},
    {"autojob.run", minke::cli::autojob_run_main},
};

const Command* find(std::string_view name) {
  for (const Command& command : kCommands) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

std::string configuration_path() {
  const auto home = minke::os::minke_home();
  return home ? minke::os::configuration_path(*home) : "";
}

// The site's columns, for who has set none.
void take_site_variables(std::string_view command, const std::string& path) {
  constexpr std::string_view kLooking[] = {"squeue", "sinfo", "sacct", "sprio"};
  if (std::find(std::begin(kLooking), std::end(kLooking), command) == std::end(kLooking)) return;
  for (const auto& [name, value] : minke::config::read_site_variables(path))
    ::setenv(name.c_str(), value.c_str(), 0);
}

// Static objects are not destroyed: nobody would notice, and it takes a command as long as much of its work.
// Code that must restore something (a terminal) registers it with at_quick_exit(3).
[[noreturn]] void run(const Command& command, int argc, char** argv) {
  const std::optional<int> ended = minke::cli::become_slurm_program(command.name, argv);
  if (const std::string path = configuration_path(); !ended && !path.empty()) {
    minke::speak_release(minke::config::read_release(path));
    take_site_variables(command.name, path);
  }
  minke::cli::take_language(command.name);
  const int exit_code = ended ? *ended : command.run(argc, argv);
  std::fflush(nullptr);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  std::exit(exit_code);  // they report what they have found
#else
  std::quick_exit(exit_code);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  const char* slash = argc > 0 ? std::strrchr(argv[0], '/') : nullptr;
  const std::string_view called_as = argc == 0 ? "minke" : slash != nullptr ? slash + 1 : argv[0];
  if (const Command* command = find(called_as)) run(*command, argc, argv);
  // As the interpreter of a script: the kernel passes the rest of its first line as one word.
  if (argc > 1 && std::string_view(argv[1]).starts_with("script-shell "))
    return minke::cli::script_shell_main(argc, argv);
  // "minke squeue" is squeue, too.
  if (argc > 1) {
    if (const Command* command = find(argv[1])) run(*command, argc - 1, argv + 1);
  }
  minke::cli::take_language(argc > 1 ? argv[1] : "");
  return minke::cli::minke_main(argc, argv);
}
