#include "farming/cluster_means.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "accounts/account_book.h"
#include "api/accounts.pb.h"
#include "api/job_filter.pb.h"
#include "api/submission.pb.h"
#include "engine/fetch.h"
#include "engine/fetch_accounts.h"
#include "farming/farm_directory.h"
#include "model/job_spec.pb.h"
#include "model/job_state.pb.h"
#include "text/duration.h"
#include "text/gres_count.h"
#include "text/job_id.h"
#include "text/number.h"

namespace minke::farming {
namespace {

constexpr uint64_t kSecond = 1'000'000;

using Names = std::vector<std::string>;

bool has(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The partitions that the farm's jobs may run in; the first one counts where they differ.
Names partitions_of(const model::JobSpec& spec, const engine::PartitionRecords& all) {
  Names names;
  if (!spec.partition().empty())
    for (const std::string_view name : text::split(spec.partition(), ',')) names.emplace_back(name);
  for (const model::PartitionRecord* one : all.records)
    if (names.empty() && one->is_default()) names.push_back(one->name());
  return names;
}

// What one job needs of a node; 0: nothing of it.
struct Share {
  uint64_t cpus = 1, memory_mib = 0, gpus = 0;
  bool all_memory = false;
  uint64_t jobs_in(uint64_t cpus_there, uint64_t memory_there, uint64_t gpus_there) const {
    uint64_t jobs = cpus_there / cpus;
    if (memory_mib > 0) jobs = std::min(jobs, memory_there / memory_mib);
    return gpus > 0 ? std::min(jobs, gpus_there / gpus) : jobs;
  }
};

// A job that asks for no memory has what its partition gives, and --mem=0 is all of a node's.
Share share_of(const model::JobSpec& spec, uint32_t cpus, const model::PartitionRecord* partition) {
  Share share;
  share.cpus = std::max(1u, cpus);
  share.gpus = std::max(
      {text::gpus_in(spec.gres_per_node()), text::gpus_in(spec.gpus()), text::gpus_in(spec.gpus_per_task())});
  if (spec.has_mem_per_node_mib()) {
    share.memory_mib = spec.mem_per_node_mib();
    share.all_memory = share.memory_mib == 0;
  } else if (spec.has_mem_per_cpu_mib()) {
    share.memory_mib = spec.mem_per_cpu_mib() * share.cpus;
  } else if (spec.has_mem_per_gpu_mib()) {
    share.memory_mib = spec.mem_per_gpu_mib() * share.gpus;
  } else if (partition == nullptr) {
    return share;
  } else if (share.gpus > 0 && partition->has_default_mem_per_gpu_mib()) {
    share.memory_mib = partition->default_mem_per_gpu_mib() * share.gpus;
  } else if (partition->has_default_mem_per_cpu_mib()) {
    share.memory_mib = partition->default_mem_per_cpu_mib() * share.cpus;
  } else {
    share.memory_mib = partition->default_mem_per_node_mib();
  }
  return share;
}

void add_nodes(engine::Engine& cluster, const Names& partitions, const Share& share, farm::Means& means) {
  const auto nodes = engine::fetch_nodes(cluster);
  if (!nodes) return;
  for (const model::NodeRecord* node : nodes->records) {
    const bool is_there = std::any_of(node->partitions().begin(), node->partitions().end(),
                                      [&](const std::string& name) { return has(partitions, name); });
    if (node->state() != model::NODE_IDLE || (!is_there && !partitions.empty())) continue;
    const auto left = [](uint64_t all, uint64_t used) { return all - std::min(all, used); };
    const uint64_t gpus = text::gpus_in(node->gres());
    const uint64_t memory = left(node->memory_mib(), node->allocated_memory_mib());
    uint64_t all = share.jobs_in(node->cpus(), node->memory_mib(), gpus);
    uint64_t free = share.jobs_in(left(node->cpus(), node->allocated_cpus()), memory,
                                  left(gpus, text::gpus_in(node->allocated_gres())));
    if (share.all_memory) {
      all = std::min<uint64_t>(all, 1);
      free = memory == node->memory_mib() ? std::min<uint64_t>(free, 1) : 0;
    }
    means.all_jobs += all;
    means.free_jobs += free;
  }
}

void set_time(uint64_t minutes, const std::string& by, farm::Means& means) {
  if (minutes == 0 || minutes >= text::kUnlimited) return;
  if (means.most_minutes != 0 && means.most_minutes <= minutes) return;
  means.most_minutes = minutes;
  means.time_by = by;
}

// This user's jobs that are none of the farm's, and those of the farm that run.
struct OtherJobs {
  uint64_t submitted = 0, running = 0, of_farm = 0;
};

// The jobs of the queue: this user's own, and when one that waits now could start. Those that wait already
// come first; where none waits, the next end of one that runs makes room.
OtherJobs add_queue(engine::Engine& cluster, const Names& partitions, const farm::Ledger& ledger,
                    farm::Means& means) {
  OtherJobs others;
  const auto queue = engine::fetch_jobs(cluster, api::JobFilter(), true);
  if (!queue) return others;
  int64_t last_start = 0, first_end = 0;
  for (const model::JobRecord* job : queue->records) {
    const auto& own = ledger.submissions();
    const bool is_of_farm = std::any_of(own.begin(), own.end(), [&](const farm::Submission& one) {
      return one.job_id == text::shown_number(*job);
    });
    const bool is_pending = job->state() == model::JOB_PENDING;
    if (job->uid() == ::getuid() && !is_of_farm) {
      others.submitted += text::jobs_in(*job);
      others.running += is_pending ? 0 : 1;
    }
    const auto places = text::split(job->partition(), ',');
    const bool is_there = std::any_of(places.begin(), places.end(), [&](std::string_view name) {
      return has(partitions, std::string(name));
    });
    others.of_farm += is_of_farm && !is_pending ? 1 : 0;
    if (!is_there || is_of_farm) continue;
    if (is_pending) last_start = std::max(last_start, job->start_time());
    const bool ends = !is_pending && job->time_limit_minutes() != text::kUnlimited && job->end_time() > 0;
    if (ends && (first_end == 0 || job->end_time() < first_end)) first_end = job->end_time();
  }
  const int64_t start = last_start > 0 ? last_start : first_end;
  const int64_t now = queue->now > 0 ? queue->now : std::time(nullptr);
  if (start > now) means.wait_us = static_cast<uint64_t>(start - now) * kSecond;
  return others;
}

void add_bound(uint64_t limit, uint64_t taken, const std::string& whose, const std::string& what,
               farm::Means& means) {
  const uint64_t left = std::max<uint64_t>(1, limit - std::min(limit, taken));
  means.bounds.push_back({left, whose + " lets " + what + std::to_string(limit) +
                                    (taken > 0 ? ", and " + std::to_string(taken) + " are others" : "")});
}

// A limit of the QOS takes the place of the association's.
void add_limits(const model::Limits& first, const std::string& first_name, const model::Limits& second,
                const std::string& second_name, const OtherJobs& others, farm::Means& means) {
  const auto either = [&](bool has_first, uint32_t one, bool has_second,
                          uint32_t other) -> std::optional<std::pair<uint32_t, std::string>> {
    if (has_first) return std::pair(one, first_name);
    if (has_second) return std::pair(other, second_name);
    return std::nullopt;
  };
  if (const auto most = either(first.has_max_submit_jobs(), first.max_submit_jobs(),
                               second.has_max_submit_jobs(), second.max_submit_jobs()))
    add_bound(most->first, others.submitted, most->second + " (MaxSubmitJobs)",
              "you have so many jobs: ", means);
  if (const auto most =
          either(first.has_max_jobs(), first.max_jobs(), second.has_max_jobs(), second.max_jobs()))
    add_bound(most->first, others.running, most->second + " (MaxJobs)", "so many of your jobs run: ", means);
  if (const auto most =
          either(first.has_max_wall(), first.max_wall(), second.has_max_wall(), second.max_wall()))
    set_time(most->first, most->second + " (MaxWall)", means);
}

void add_accounts(engine::Engine& cluster, const model::JobSpec& spec, const Names& partitions,
                  const OtherJobs& others, farm::Means& means) {
  const auto reply = cluster.accounts(api::QueryAccountsRequest());
  const auto book =
      reply ? engine::account_book_of(*reply) : Result<accounts::AccountBook>(failure(reply.error()));
  const passwd* self = ::getpwuid(::getuid());
  if (!book || self == nullptr) return;
  const std::string user = self->pw_name;
  const std::string account = spec.account().empty() ? book->default_account(user) : spec.account();
  const auto* association =
      book->find_for_job(account, user, partitions.empty() ? std::string() : partitions.front());
  model::Limits own;
  std::string qos_name = spec.qos();
  if (association != nullptr) {
    own = book->effective_limits(association->id());
    if (qos_name.empty()) qos_name = book->default_qos(association->id());
  }
  const model::QosRecord* qos = book->qos(qos_name.empty() ? "normal" : qos_name);
  add_limits(qos == nullptr ? model::Limits() : qos->limits(), "QOS " + (qos == nullptr ? "" : qos->name()),
             own, "account " + account, others, means);
}

}  // namespace

farm::Means cluster_means(engine::Engine& cluster, const Journal& journal, uint32_t cpus) {
  farm::Means means;
  const auto request = read_job_request(journal.directory());
  if (!request) return means;
  const model::JobSpec& spec = request->spec();
  Names partitions;
  const auto all = engine::fetch_partitions(cluster);
  const model::PartitionRecord* first = nullptr;
  if (all) {
    partitions = partitions_of(spec, *all);
    for (const model::PartitionRecord* one : all->records)
      if (!partitions.empty() && one->name() == partitions.front()) first = one;
  }
  if (first != nullptr) set_time(first->max_time_minutes(), "partition " + first->name(), means);
  add_nodes(cluster, partitions, share_of(spec, cpus, first), means);
  const OtherJobs others = add_queue(cluster, partitions, journal.ledger(), means);
  if (means.all_jobs > 0) means.free_jobs += others.of_farm;  // they need not start any more
  add_accounts(cluster, spec, partitions, others, means);
  return means;
}

}  // namespace minke::farming
