// SlurmEngine: the agents on the nodes of the user's jobs.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/machine.pb.h"
#include "api/measurements.pb.h"
#include "engine/slurm/agent_client.h"
#include "engine/slurm/agent_question.h"
#include "engine/slurm/slurm_engine.h"
#include "model/cluster.pb.h"
#include "model/job_record.pb.h"
#include "text/hostlist.h"
#include "text/number.h"

namespace minke::engine::slurm {
namespace {

constexpr size_t kMostNodes = 200;  // that are asked

void add_part(const api::JobMeasurement& part, api::JobMeasurement& job) {
  model::Sample& sum = *job.mutable_now();
  const model::Sample& now = part.now();
  sum.set_time(std::max(sum.time(), now.time()));
  sum.set_cpu_milliseconds(sum.cpu_milliseconds() + now.cpu_milliseconds());
  sum.set_memory_kib(sum.memory_kib() + now.memory_kib());
  sum.set_read_kib(sum.read_kib() + now.read_kib());
  sum.set_write_kib(sum.write_kib() + now.write_kib());
  sum.set_processes(sum.processes() + now.processes());
  sum.set_threads(sum.threads() + now.threads());
  sum.set_running_threads(sum.running_threads() + now.running_threads());
  sum.set_cache_kib(sum.cache_kib() + now.cache_kib());
  sum.set_shared_kib(sum.shared_kib() + now.shared_kib());
  sum.mutable_gpus()->MergeFrom(now.gpus());
  job.mutable_gpu_uuids()->MergeFrom(part.gpu_uuids());
  job.set_cores(job.cores() + part.cores());
  job.set_peak_memory_kib(job.peak_memory_kib() + part.peak_memory_kib());
  job.set_read_rate(job.read_rate() + part.read_rate());
  job.set_write_rate(job.write_rate() + part.write_rate());
}

std::vector<std::string> nodes_of(const model::JobRecord& job) {
  auto names = text::expand_hostlist(job.node_list());
  return names ? std::move(*names) : std::vector<std::string>();
}

using Parts = std::map<std::string, api::MeasurementsReply>;  // by address

// False: not measured on each of its nodes, or nowhere known.
bool add_parts(const Parts& parts, const std::set<std::string>& addresses, api::JobMeasurement& job) {
  api::JobMeasurement sum;
  bool known = false;
  for (const std::string& address : addresses) {
    const auto part = parts.find(address);
    if (part == parts.end()) return false;
    for (const api::JobMeasurement& one : part->second.jobs()) {
      if (one.job().job_id() != job.job().job_id()) continue;
      add_part(one, sum);
      if (addresses.size() == 1 && one.has_series()) *sum.mutable_series() = one.series();
      known = true;
    }
  }
  if (known) job.MergeFrom(sum);
  return known;
}

// What of `parts` is about these nodes, one measurement for each.
void take_of_nodes(std::vector<api::JobMeasurement> parts, std::set<std::string>& missing,
                   api::MeasurementsReply& reply) {
  for (api::JobMeasurement& part : parts)
    if (missing.erase(part.job().node_list()) != 0) *reply.add_jobs() = std::move(part);
}

}  // namespace

Result<api::MeasurementsReply> SlurmEngine::measured_before(const model::JobRecord& job) {
  api::MeasurementsReply reply;
  const auto known = configuration();
  if (!known) return failure(known.error());
  auto question = agent_question(*known, place().agent_port);
  const std::vector<std::string> names = nodes_of(job);
  std::set<std::string> missing(names.begin(), names.end());
  if (!question || missing.empty()) return reply;
  question->with_series = true;
  question->asked.job_id = job.job_id();
  const Munge munge(munge_socket_of(*known));
  const std::string head = head_address_of(*known);
  if (!head.empty()) {
    question->addresses = {head};
    const auto answers = ask_agents(*question, munge);
    if (answers[0]) take_of_nodes({answers[0]->jobs().begin(), answers[0]->jobs().end()}, missing, reply);
  }
  if (missing.empty()) return reply;
  // It has ended lately: the nodes' own agents know it still.
  std::map<std::string, std::string> address_of;
  (void)nodes([&](api::NodesReply& part) -> Status {
    for (const model::NodeRecord& node : part.nodes())
      address_of[node.name()] = node.address().empty() ? node.name() : node.address();
    return {};
  });
  std::vector<std::string> asked;
  question->addresses.clear();
  for (const std::string& name : missing) {
    const auto address = address_of.find(name);
    if (address == address_of.end() || asked.size() == kMostNodes) continue;
    asked.push_back(name);
    question->addresses.push_back(address->second);
  }
  const auto answers = ask_agents(*question, munge);
  for (size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i]) continue;
    for (api::JobMeasurement part : answers[i]->jobs()) {
      if (!part.job().node_list().empty()) continue;  // of another node, which this agent has collected
      part.mutable_job()->set_node_list(asked[i]);
      take_of_nodes({std::move(part)}, missing, reply);
    }
  }
  if (!reply.jobs().empty() && !missing.empty())
    reply.add_notes("not measured on " + text::compress_hostlist_sorted({missing.begin(), missing.end()}));
  return reply;
}

std::set<uint32_t> SlurmEngine::ask_nodes(bool with_series, api::MeasurementsReply& reply) {
  std::set<uint32_t> measured;
  const auto known = configuration();
  auto question = known ? agent_question(*known, place().agent_port) : std::nullopt;
  if (!question) return measured;
  question->with_series = with_series;
  std::map<std::string, std::string> address_of;
  const Status listed = nodes([&](api::NodesReply& part) -> Status {
    for (const model::NodeRecord& node : part.nodes())
      address_of[node.name()] = node.address().empty() ? node.name() : node.address();
    return {};
  });
  if (!listed) return measured;
  std::map<uint32_t, std::set<std::string>> addresses;
  std::map<std::string, std::set<std::string>> nodes_at;
  for (const api::JobMeasurement& job : reply.jobs()) {
    for (const std::string& node : nodes_of(job.job())) {
      const std::string& address = address_of[node];
      addresses[job.job().job_id()].insert(address);
      nodes_at[address].insert(node);
    }
  }
  for (const auto& [address, names] : nodes_at) {
    if (!address.empty() && question->addresses.size() < kMostNodes) question->addresses.push_back(address);
  }
  const auto answers = ask_agents(*question, Munge(munge_socket_of(*known)));
  Parts parts;
  std::vector<std::string> silent;
  std::string why;
  for (size_t i = 0; i < answers.size(); ++i) {
    const std::set<std::string>& names = nodes_at[question->addresses[i]];
    if (answers[i]) {
      parts.emplace(question->addresses[i], *answers[i]);
    } else {
      silent.insert(silent.end(), names.begin(), names.end());
      if (why.empty()) why = answers[i].error().message;
    }
  }
  for (api::JobMeasurement& job : *reply.mutable_jobs()) {
    if (add_parts(parts, addresses[job.job().job_id()], job)) measured.insert(job.job().job_id());
  }
  std::sort(silent.begin(), silent.end());
  if (parts.empty() && !silent.empty()) {
    reply.add_notes("not measured: no minke agent answers on the nodes (" + why +
                    "); cores are the mean since a job's start, and how busy GPUs are is not known");
  } else if (!silent.empty()) {
    reply.add_notes("not measured on " + text::compress_hostlist_sorted(silent) + ": " + why);
  }
  return measured;
}

}  // namespace minke::engine::slurm
