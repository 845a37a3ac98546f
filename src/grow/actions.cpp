#include "grow/actions.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>
#include <utility>

#include "api/accounts.pb.h"
#include "api/daemon.pb.h"
#include "api/machine.pb.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "grow/carry/carry.h"
#include "grow/host.h"
#include "model/accounts.pb.h"
#include "os/files.h"
#include "text/number.h"

namespace minke::grow {
namespace {

constexpr std::chrono::seconds kBetweenLooks{2};

// Minke's own, whatever minke.toml says by now.
Result<std::unique_ptr<engine::Engine>> old_cluster(const Home& home) {
  ::setenv("MINKE_CLUSTER", "embedded", 1);
  auto cluster = engine::open(engine::Start::kNever);
  if (!cluster)
    return failure("Minke's own cluster in " + home.path + " does not answer: " + cluster.error().message +
                       "; minke up starts it",
                   cluster.error().code);
  return cluster;
}

// A job that has begun to end has no next state that would let it run again: it is waited for, too.
Result<uint64_t> running_jobs(const Home& home) {
  auto cluster = old_cluster(home);
  if (!cluster) return failure(cluster.error());
  const auto ability = (*cluster)->administration();
  if (!ability) return failure(ability.error());
  const auto answer = (*ability)->status();
  if (!answer) return failure(answer.error());
  return answer->jobs_running();
}

Status drain(const Home& home, const Tell& tell) {
  uint64_t told = 0;
  while (true) {
    const auto running = running_jobs(home);
    if (!running) return failure(running.error());
    if (*running == 0) return {};
    if (*running != told) tell("drain: " + std::to_string(*running) + " still run");
    told = *running;
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

OldCluster described(const Home& home) {
  OldCluster old;
  old.home = home.path;
  old.name = home.configuration.cluster_name;
  old.half_life = home.configuration.priority.half_life;
  old.weight_age = home.configuration.priority.multifactor ? home.configuration.priority.weights.age : 0;
  old.max_age = home.configuration.priority.weights.max_age;
  return old;
}

Status keep_snapshot(const Home& home, const std::string& directory, const std::string& snapshot) {
  auto cluster = old_cluster(home);
  if (!cluster) return failure(cluster.error());
  if (const Status taken = take_snapshot(**cluster, described(home), snapshot); !taken) return taken;
  const auto next = next_job_id(snapshot);
  if (!next) return failure(next.error());
  return os::replace_file(directory + "/first_job_id", std::to_string(*next) + "\n", 0600);
}

NewSlurm new_slurm() {
  NewSlurm slurm;
  slurm.start_controller = []() -> Status {
    const auto said =
        run_on_host("", std::string(script_prelude()) + "start slurmctld && until_true 60 slurmctld_answers");
    if (!said) return failure(said.error());
    return said->exit_code == 0 ? Status() : failure("slurmctld does not start: " + said->words());
  };
  return slurm;
}

void tell_of(const std::string& name, const Brought& brought, const Tell& tell) {
  tell("  " + name + ": " + std::to_string(brought.added) + " brought over, " +
       std::to_string(brought.changed) + " changed, " + std::to_string(brought.there_already) +
       " there already");
  for (const std::string& remark : brought.remarks) tell("  " + name + ": " + remark);
}

// What has ended under Minke since the snapshot, when it was left to end there.
Status bring_what_was_left(const Home& home, const std::string& directory, const Tell& tell) {
  const std::string before = directory + "/snapshot", after = directory + "/left";
  const auto running = running_jobs(home);
  // Minke has been stopped, after a snapshot that is whole, by a call that was interrupted.
  if (!running && ::access((after + "/snapshot.json").c_str(), F_OK) != 0) return failure(running.error());
  if (running && *running != 0)
    return failure(std::to_string(*running) + " jobs still run under Minke", EAGAIN);
  if (running) {
    auto cluster = old_cluster(home);
    if (!cluster) return failure(cluster.error());
    if (const Status taken = take_snapshot(**cluster, described(home), after); !taken) return taken;
  }
  const auto brought = bring_left(before, after, new_slurm());
  if (!brought) return failure(brought.error());
  tell_of("left", *brought, tell);
  return {};
}

// Names that are no user's are left out, and each is there once.
void add_name(std::string_view user, std::vector<std::string>& names) {
  const bool plain =
      !user.empty() && user.front() != '-' && std::all_of(user.begin(), user.end(), [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
      });
  if (plain && std::find(names.begin(), names.end(), user) == names.end()) names.emplace_back(user);
}

}  // namespace

Result<std::vector<std::string>> people_of_slurm() {
  const auto said = run_on_host("", "sacctmgr -n -P show assoc format=user", {.changes = false});
  if (!said) return failure(said.error());
  if (said->exit_code != 0) return failure("slurmdbd does not say who has accounts: " + said->words());
  std::vector<std::string> names;
  for (const std::string_view line : text::split(said->output, '\n')) add_name(text::trim(line), names);
  return names;
}

Result<std::vector<std::string>> people_with_accounts(const Home& home) {
  auto cluster = old_cluster(home);
  if (!cluster) return failure(cluster.error());
  const auto answer = (*cluster)->accounts(api::QueryAccountsRequest());
  if (!answer) return failure(answer.error());
  std::vector<std::string> names;
  for (const model::AssociationRecord& association : answer->associations())
    if (association.cluster().empty()) add_name(association.user(), names);
  return names;
}

Result<std::vector<model::PartitionRecord>> partitions_of(const Home& home) {
  auto cluster = old_cluster(home);
  if (!cluster) return failure(cluster.error());
  const auto answer = engine::fetch_partitions(**cluster);
  if (!answer) return failure(answer.error());
  std::vector<model::PartitionRecord> partitions;
  for (const model::PartitionRecord* partition : answer->records) partitions.push_back(*partition);
  return partitions;
}

Result<std::vector<model::ReservationRecord>> reservations_of(const Home& home) {
  auto cluster = old_cluster(home);
  if (!cluster) return failure(cluster.error());
  const auto answer = (*cluster)->reservations();
  if (!answer) return failure(answer.error());
  return std::vector<model::ReservationRecord>(answer->reservations().begin(), answer->reservations().end());
}

Result<std::string> compare_with_before(const Home& home, bool& equal) {
  const auto compared = check(home.path + "/grow/snapshot", new_slurm());
  if (!compared) return failure(compared.error());
  equal = compared->differences.empty();
  return in_words(*compared);
}

Actions actions_for(const Home& home, const std::string& directory, const Tell& tell) {
  const std::string snapshot = directory + "/snapshot";
  Actions actions;
  actions["drain"] = [&home, tell] { return drain(home, tell); };
  actions["left"] = [&home, directory, tell] { return bring_what_was_left(home, directory, tell); };
  actions["snapshot"] = [&home, directory, snapshot] { return keep_snapshot(home, directory, snapshot); };
  using Bring = Result<Brought> (*)(const std::string&, const NewSlurm&);
  constexpr std::pair<const char*, Bring> kBrought[] = {{"accounts", bring_accounts},
                                                        {"usage", bring_usage},
                                                        {"record", bring_record},
                                                        {"waiting", bring_waiting_jobs}};
  for (const auto& [name, bring] : kBrought) {
    actions[name] = [name = std::string(name), bring = bring, snapshot, tell]() -> Status {
      const auto brought = bring(snapshot, new_slurm());
      if (!brought) return failure(brought.error());
      tell_of(name, *brought, tell);
      return {};
    };
  }
  actions["check"] = [directory, snapshot, tell]() -> Status {
    const auto compared = check(snapshot, new_slurm());
    if (!compared) return failure(compared.error());
    const std::string words = in_words(*compared);
    for (const std::string_view line : text::split(words, '\n'))
      if (!line.empty()) tell("  " + std::string(line));
    return os::replace_file(directory + "/check.txt", words, 0600);
  };
  return actions;
}

}  // namespace minke::grow
