#include "cli/carry.h"

#include <algorithm>
#include <cstdio>
#include <functional>

#include "api/accounts.pb.h"
#include "api/machine.pb.h"
#include "cli/complain.h"
#include "engine/engine.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "grow/carry/carry.h"
#include "os/capture.h"
#include "os/minke_home.h"
#include "text/duration.h"
#include "text/number.h"

namespace minke::cli {
namespace {

constexpr int kPatience = 120;  // s

grow::NewSlurm slurm_of(const CarryOptions& options) {
  grow::NewSlurm slurm{.programs = options.programs,
                       .daemons = options.daemons,
                       .database_configuration = options.database_configuration};
  if (!options.start_controller.empty()) {
    slurm.start_controller = [command = options.start_controller]() -> Status {
      const auto said = os::run_captured({"/bin/sh", "-c", command}, {.timeout_seconds = kPatience});
      if (!said) return failure(said.error());
      if (said->exit_code != 0) return failure(command + ": " + said->output);
      return {};
    };
  }
  return slurm;
}

int complain_of(const Error& error) {
  complain(error);
  return 1;
}

Result<grow::OldCluster> old_cluster(engine::Engine& cluster) {
  api::QueryAccountsRequest question;
  const auto accounts = cluster.accounts(question);
  if (!accounts) return failure(accounts.error());
  const auto configuration = cluster.configuration();
  if (!configuration) return failure(configuration.error());
  grow::OldCluster old{.home = os::minke_home_path(),
                       .name = engine::fetch_cluster_name(cluster),
                       .half_life = static_cast<int64_t>(accounts->usage_half_life())};
  for (const api::Field& one : configuration->values()) {
    if (one.name() == "PriorityWeightAge")
      old.weight_age = static_cast<uint32_t>(text::parse_unsigned(one.value(), 0xffffffff).value_or(0));
    if (one.name() == "PriorityMaxAge") old.max_age = text::parse_seconds(one.value()).value_or(old.max_age);
  }
  return old;
}

struct Part {
  const char* name;
  Result<grow::Brought> (*bring)(const std::string& directory, const grow::NewSlurm& slurm);
};
constexpr Part kParts[] = {{"accounts", grow::bring_accounts},
                           {"usage", grow::bring_usage},
                           {"record", grow::bring_record},
                           {"waiting", grow::bring_waiting_jobs}};

}  // namespace

int carry_take(const CarryOptions& options) {
  auto cluster = engine::open(engine::Start::kNever);
  if (!cluster) return complain_of(cluster.error());
  const auto old = old_cluster(**cluster);
  if (!old) return complain_of(old.error());
  const Status taken = grow::take_snapshot(**cluster, *old, options.directory);
  if (!taken) return complain_of(taken.error());
  const auto next = grow::next_job_id(options.directory);
  if (!next) return complain_of(next.error());
  std::printf("%s has the cluster %s; FirstJobId of its slurm.conf is %u or more\n",
              options.directory.c_str(), old->name.c_str(), *next);
  return 0;
}

int carry_bring(const CarryOptions& options) {
  const grow::NewSlurm slurm = slurm_of(options);
  bool whole = true;
  for (const Part& part : kParts) {
    const auto& wanted = options.parts;
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), part.name) == wanted.end()) continue;
    const auto brought = part.bring(options.directory, slurm);
    if (!brought) return complain_of(brought.error());
    std::printf("%s: %llu added, %llu changed, %llu there already\n", part.name,
                static_cast<unsigned long long>(brought->added),
                static_cast<unsigned long long>(brought->changed),
                static_cast<unsigned long long>(brought->there_already));
    for (const std::string& remark : brought->remarks) std::printf("  %s\n", remark.c_str());
    whole = whole && brought->remarks.empty();
  }
  return whole ? 0 : 3;
}

int carry_check(const CarryOptions& options) {
  const auto comparison = grow::check(options.directory, slurm_of(options));
  if (!comparison) return complain_of(comparison.error());
  std::fputs(grow::in_words(*comparison).c_str(), stdout);
  return comparison->differences.empty() ? 0 : 3;
}

int carry_back(const CarryOptions& options) {
  const auto back = grow::way_back(options.directory, slurm_of(options));
  if (!back) return complain_of(back.error());
  std::printf("%zu waiting jobs taken back\n", back->taken_back.size());
  if (back->begun.empty()) return 0;
  std::string list;
  for (const std::string& id : back->begun) list += " " + id;
  std::printf("these have begun there: cancel them here before partitions are opened\n  scancel%s\n",
              list.c_str());
  return 3;
}

}  // namespace minke::cli
