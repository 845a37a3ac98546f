// SlurmEngine: minke poll, which asks slurmctld for all users of a machine. It runs as root, who sees
// everything: so only that is shared which everybody sees alike. Where a cluster hides jobs, nodes,
// partitions or reservations from some (PrivateData, hidden partitions and those of groups, MCS labels), each
// user asks for those himself.
#include <algorithm>
#include <set>

#include "api/job_filter.pb.h"
#include "api/jobs.pb.h"
#include "api/machine.pb.h"
#include "engine/slurm/show_lines.h"
#include "engine/slurm/shown_machine.h"
#include "engine/slurm/slurm_engine.h"
#include "model/cluster.pb.h"
#include "text/number.h"

namespace minke::engine::slurm {
namespace {

constexpr const char* kQueueAndMachine[] = {"jobs", "nodes", "partitions"};

void keep_private(const api::ConfigReply& configuration, std::set<std::string>& kinds) {
  for (const api::Field& one : configuration.values()) {
    if (one.name() == "PrivateData") {
      for (const std::string_view word : text::split(one.value(), ',')) {
        kinds.erase(std::string(text::trim(word)));
        if (word == "partitions" || word == "all") kinds.erase("jobs");
        if (word == "all") kinds.clear();
      }
    }
    const bool labels = one.name() == "MCSPlugin" && !one.value().empty() && one.value() != "(null)" &&
                        one.value() != "none" && one.value() != "mcs/none";
    for (const char* kind : kQueueAndMachine) {
      if (labels) kinds.erase(kind);
    }
  }
}

}  // namespace

std::vector<std::string> SlurmEngine::poll() {
  std::set<std::string> kinds = {"jobs",     "nodes", "partitions",   "reservations",
                                 "licenses", "load",  "configuration"};
  const std::vector<std::string> all(kinds.begin(), kinds.end());
  if (std::all_of(all.begin(), all.end(),
                  [this](const std::string& kind) { return answers_.is_fresh(kind); }))
    return all;
  // As it is now: what is hidden may have changed.
  bool everybody_sees_all = true;
  api::ConfigReply now;
  const Status known = programs_.lines({"scontrol", "show", "config"}, [&](std::string_view line) -> Status {
    add_setting(line, now);
    return {};
  });
  if (known) {
    keep_private(now, kinds);
    const Status shown = programs_.lines(
        {"scontrol", "--oneliner", "--all", "show", "partitions"}, [&](std::string_view line) -> Status {
          const model::PartitionRecord partition = partition_of(ShownRecord(line));
          if (partition.hidden() || !partition.allow_groups().empty()) everybody_sees_all = false;
          return {};
        });
    everybody_sees_all = everybody_sees_all && shown.has_value();
  } else {
    kinds.clear();
  }
  for (const char* kind : kQueueAndMachine) {
    if (!everybody_sees_all) kinds.erase(kind);
  }
  for (const std::string& kind : all) {
    if (!kinds.contains(kind)) answers_.forget(kind);
  }
  const auto old = [&](const char* kind) { return kinds.contains(kind) && !answers_.is_fresh(kind); };
  // What fails is kept as a failure, which no user takes for his own.
  if (old("configuration")) {
    configuration_.reset();
    (void)configuration();
  }
  if (old("load")) [[maybe_unused]]
    const Load asked = load();
  if (old("nodes")) (void)nodes([](api::NodesReply&) { return Status(); });
  if (old("partitions")) (void)partitions([](api::PartitionsReply&) { return Status(); });
  if (old("reservations")) (void)reservations();
  if (old("licenses")) (void)licenses();
  if (old("jobs")) (void)jobs(api::QueryJobsRequest(), [](api::JobsReply&) { return Status(); });
  return {kinds.begin(), kinds.end()};
}

}  // namespace minke::engine::slurm
