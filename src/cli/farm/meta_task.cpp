// task.run: the last line of a farm's job_script.sh. Takes cases of the run that its job belongs to, one
// after the other (whole nodes: many at once), and gives each to the farm's single_case.sh, as META-Farm
// does.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>

#include "cli/farm/meta.h"
#include "cli/farm/meta_directory.h"
#include "cli/srun/launch_environment.h"
#include "farming/worker.h"
#include "text/number.h"
#include "view/output.h"

namespace minke::cli {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

class SingleCases : public farming::Cases {
 public:
  explicit SingleCases(std::string table) : table_(std::move(table)) {
    if (::access("single_case.sh", X_OK) != 0) interpreter_ = "bash";
  }
  Result<farming::CaseCommand> command(uint64_t number, uint32_t, uint16_t) override {
    farming::CaseCommand command;
    if (!interpreter_.empty()) command.arguments.push_back(interpreter_);
    command.arguments.insert(command.arguments.end(), {"./single_case.sh", table_, std::to_string(number)});
    return command;
  }

 private:
  std::string table_, interpreter_;
};

// Which job this is, as META names its status files.
std::string metajob_id() {
  if (const std::string array = variable("SLURM_ARRAY_JOB_ID"); !array.empty())
    return array + "_" + variable("SLURM_ARRAY_TASK_ID");
  const std::string job = variable("SLURM_JOB_ID");
  return job.empty() ? std::to_string(::getpid()) : job;
}

int64_t end_of_job(const MetaRun& run) {
  if (variable("SLURM_JOB_ID").empty()) return 0;
  if (const auto end = text::parse_unsigned(variable("SLURM_JOB_END_TIME"), 1ull << 40); end && *end > 0)
    return static_cast<int64_t>(*end);
  const auto start = text::parse_unsigned(variable("SLURM_JOB_START_TIME"), 1ull << 40);
  return (start ? static_cast<int64_t>(*start) : std::time(nullptr)) + run.runtime;
}

// The run whose job this is: resubmit.run may have begun another since.
Result<MetaRun> run_of_job() {
  auto run = read_last_run();
  if (!run || run->number == 0) return run;
  const std::string own = variable("MINKE_FARM_RUN");
  if (own.starts_with("MISC/run-")) {
    const auto number = text::parse_unsigned(std::string_view(own).substr(9), 1u << 30);
    if (number && *number >= 1 && *number <= run->number) run->number = static_cast<uint32_t>(*number);
  }
  return run;
}

const char* farewell(farming::Farewell why) {
  switch (why) {
    case farming::Farewell::kNoneLeft:
      return "No cases left; exiting.";
    case farming::Farewell::kNoTime:
      return "Not enough runtime left; exiting.";
    case farming::Farewell::kGuard:
      return "Too many failed (very short) cases - exiting";
    case farming::Farewell::kEnough:
      return "Exiting after processing one case (-1 option)";
    case farming::Farewell::kStopped:
      return "The job is being stopped; exiting.";
    case farming::Farewell::kFarmStopped:
      return "The farm was stopped; exiting.";
  }
  return "";
}

}  // namespace

int task_run_main(int, char**) {
  const auto run = run_of_job();
  if (!run) return farm_complain(run.error().message);
  if (run->number == 0) return farm_complain(kNoFarm);
  const auto content = read_farm_file("config.h");
  const auto config =
      content ? farm::read_meta_config(*content) : Result<farm::MetaConfig>(failure(content.error()));
  if (!config) return farm_complain(config.error().message);

  const std::string id = metajob_id();
  ::setenv("METAJOB_ID", id.c_str(), 1);
  farming::WorkerSettings settings;
  settings.directory = run->directory();
  settings.slots = run->at_once;
  settings.job = id;
  const std::string node = variable("SLURMD_NODENAME");
  settings.host = node.empty() ? host_name() : node;
  settings.end_time = end_of_job(*run);
  settings.rule.lost = false;  // resubmit.run runs it again
  settings.guard_cases = config->n_failed_max;
  settings.guard_seconds = config->dt_failed;
  if (run->simple) settings.most_cases = run->at_once;
  SingleCases cases(settings.directory + "/table.dat");
  const auto end = farming::run_worker(settings, cases);
  if (!end) return farm_complain(end.error().message);
  view::write_out(std::string(farewell(end->why)) + "\n");
  return end->why == farming::Farewell::kGuard ? 1 : 0;
}

}  // namespace minke::cli
