#include "farming/farm_worker.h"

#include <sched.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>
#include <utility>

#include "engine/open.h"
#include "farm/wishes.h"
#include "farming/farm_directory.h"
#include "farming/farm_jobs.h"
#include "farming/reclaim.h"
#include "farming/table_file.h"
#include "farming/worker.h"
#include "text/number.h"

namespace minke::farming {
namespace {

constexpr uint32_t kMostAtOnce = 4096;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

uint64_t number_from(const char* name, uint64_t otherwise) {
  return text::parse_unsigned(variable(name)).value_or(otherwise);
}

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = "";
  ::gethostname(name, sizeof name - 1);
  const std::string whole = name;
  return whole.substr(0, whole.find('.'));
}

std::vector<std::string> own_gpus() {
  std::vector<std::string> gpus;
  const std::string list = variable("CUDA_VISIBLE_DEVICES");
  if (list.empty()) return gpus;
  for (const std::string_view one : text::split(list, ',')) gpus.emplace_back(one);
  return gpus;
}

uint32_t own_cpus() {
  if (const uint64_t told = number_from("SLURM_CPUS_ON_NODE", 0); told > 0)
    return static_cast<uint32_t>(told);
  cpu_set_t mask;
  const int count = ::sched_getaffinity(0, sizeof mask, &mask) == 0 ? CPU_COUNT(&mask) : 1;
  return static_cast<uint32_t>(std::max(1, count));
}

// What each case runs: the farm's command with the case's values. With several GPUs each slot has its own.
class FarmCases : public Cases {
 public:
  FarmCases(FarmSettings settings, TableFile table, std::optional<farm::CommandTemplate> command)
      : settings_(std::move(settings)),
        table_(std::move(table)),
        command_(std::move(command)),
        gpus_(own_gpus()) {}

  Result<CaseCommand> command(uint64_t number, uint32_t attempt, uint16_t slot) override {
    const auto line = table_.line(number);
    if (!line) return failure(line.error());
    CaseCommand command;
    if (command_) {
      const auto values = farm::values_of(settings_.form, settings_.columns, number, *line);
      if (!values) return failure(values.error());
      auto words = command_->fill(*values);
      if (!words) return failure(words.error().message, EINVAL);
      command.arguments = std::move(*words);
    } else {
      command.arguments = {"/bin/sh", "-c", std::string(*line)};
    }
    command.environment = {"MINKE_FARM_CASE=" + std::to_string(number),
                           "MINKE_FARM_ATTEMPT=" + std::to_string(attempt),
                           "MINKE_FARM_SLOT=" + std::to_string(slot)};
    if (gpus_.size() > 1) command.environment.push_back("CUDA_VISIBLE_DEVICES=" + gpus_[slot % gpus_.size()]);
    return command;
  }
  uint32_t gpus() const { return static_cast<uint32_t>(gpus_.size()); }

 private:
  FarmSettings settings_;
  TableFile table_;
  std::optional<farm::CommandTemplate> command_;
  std::vector<std::string> gpus_;
};

Result<FarmCases> open_cases(const std::string& directory, const FarmSettings& settings) {
  auto table = TableFile::open(directory + "/table");
  if (!table) return failure(table.error());
  std::optional<farm::CommandTemplate> command;
  if (!settings.words.empty()) {
    auto made = farm::CommandTemplate::make(settings.words);
    if (!made) return failure(made.error());
    command = std::move(*made);
  }
  return FarmCases(settings, std::move(*table), std::move(command));
}

// A GPU is for one case at a time; else a case gets its CPUs.
uint32_t cases_at_once(const FarmSettings& settings, uint32_t gpus) {
  if (settings.at_once > 0) return std::min(settings.at_once, kMostAtOnce);
  if (gpus > 0) return gpus;
  return std::clamp(own_cpus() / std::max(1u, settings.cpus_per_case), 1u, kMostAtOnce);
}

WorkerSettings worker_settings(const std::string& directory, const FarmSettings& farm, uint32_t level,
                               uint32_t gpus) {
  WorkerSettings settings;
  settings.directory = directory;
  settings.slots = cases_at_once(farm, gpus);
  settings.level = level;
  settings.job = variable("SLURM_JOB_ID");
  if (const std::string array = variable("SLURM_ARRAY_JOB_ID"); !array.empty())
    settings.job = array + "_" + variable("SLURM_ARRAY_TASK_ID");
  const std::string node = variable("SLURMD_NODENAME");
  settings.host = node.empty() ? host_name() : node;
  if (!settings.job.empty()) settings.end_time = static_cast<int64_t>(number_from("SLURM_JOB_END_TIME", 0));
  settings.keeps_output = true;
  settings.rule = farm.rule;
  return settings;
}

// What is left, and nobody is there for: by jobs like this one. Who was of no use has no successor.
Status let_others_follow(const std::string& directory, const WorkerEnd& end, uint32_t level) {
  if (end.why == Farewell::kStopped || end.why == Farewell::kFarmStopped) return {};
  auto journal = Journal::open(directory);
  if (!journal) return failure(journal.error());
  std::vector<farm::Wish> wishes;
  {
    const auto turn = Turn::take(*journal);
    if (!turn) return failure(turn.error());
    std::vector<uint32_t> alive;
    for (const auto& [number, member] : journal->ledger().members()) {
      if (member.gone || number == end.number) continue;
      const auto lives = journal->is_alive(number);
      if (lives && *lives) alive.push_back(number);
    }
    wishes = farm::wishes(journal->ledger(), farm::present_by_ledger(journal->ledger(), alive));
    // One that was at its time's end is followed by one, whoever else is there.
    const bool followed = !wishes.empty() && wishes.front().level == 0 && wishes.front().other_than.empty();
    if (end.why == Farewell::kNoTime && end.ended > 0 && journal->ledger().fresh() > 0 && !followed)
      wishes.push_back({level, "", journal->ledger().fresh()});
  }
  std::erase_if(wishes, [&](const farm::Wish& wish) {
    return wish.level <= level && wish.other_than.empty() && end.ended == 0;
  });
  if (wishes.empty()) return {};
  const auto cluster = engine::open(engine::Start::kNever);
  if (!cluster) return failure(cluster.error());
  const uint64_t per_cpu = number_from("SLURM_MEM_PER_CPU", 0) * own_cpus();
  for (const farm::Wish& wish : wishes) {
    JobOrder order;
    order.level = wish.level;
    order.other_than = wish.other_than;
    order.memory_mib = number_from("SLURM_MEM_PER_NODE", per_cpu) >> std::min(level, farm::kHighestLevel);
    const auto job = submit_jobs(**cluster, *journal, order);
    if (!job) return failure(job.error());
    std::fprintf(stderr, "farm: %llu cases are left for job %u\n",
                 static_cast<unsigned long long>(wish.cases), *job);
  }
  return {};
}

int complain(const Error& error) {
  std::fprintf(stderr, "minke farm: error: %s\n", error.message.c_str());
  return 1;
}

}  // namespace

int farm_worker_main(int argc, char** argv) {
  const auto level = argc == 3 ? text::parse_unsigned(argv[2], farm::kHighestLevel) : std::nullopt;
  if (!level) {
    std::fputs("farm-worker: it runs inside a job that minke farm has submitted\n", stderr);
    return EX_USAGE;
  }
  const std::string directory = argv[1];
  const auto farm = read_settings(directory);
  if (!farm) return complain(farm.error());
  if (::chdir(farm->directory.c_str()) != 0)
    return complain({errno, farm->directory + ": cannot be entered"});
  auto cases = open_cases(directory, *farm);
  if (!cases) return complain(cases.error());
  const auto own_level = static_cast<uint32_t>(*level);
  const WorkerSettings settings = worker_settings(directory, *farm, own_level, cases->gpus());
  const auto end = run_worker(settings, *cases);
  if (!end) return complain(end.error());
  if (const Status done = let_others_follow(directory, *end, own_level); !done) return complain(done.error());
  return 0;
}

}  // namespace minke::farming
