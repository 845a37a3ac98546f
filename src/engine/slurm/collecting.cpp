#include "engine/slurm/collecting.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <thread>
#include <utility>

#include "api/machine.pb.h"
#include "engine/slurm/agent_client.h"
#include "engine/slurm/agent_question.h"
#include "model/cluster.pb.h"
#include "model/job_record.pb.h"

namespace minke::engine::slurm {
namespace {

constexpr size_t kAtOnce = 32;  // nodes whose answers are held in memory
constexpr int kMostTurns = 50;  // of one node in one round

}  // namespace

Status Collecting::round() {
  const auto configuration = cluster_.configuration();
  if (!configuration) return failure(configuration.error());
  auto question = agent_question(*configuration, cluster_.place().agent_port);
  if (!question) return failure("the cluster's agents are not asked: agent_port is 0, or it has no munge");
  question->with_series = true;
  const Munge munge(munge_socket_of(*configuration));
  std::vector<std::pair<std::string, std::string>> nodes;  // with their addresses
  const Status listed = cluster_.nodes([&](api::NodesReply& part) -> Status {
    for (const model::NodeRecord& node : part.nodes())
      nodes.emplace_back(node.name(), node.address().empty() ? node.name() : node.address());
    return {};
  });
  if (!listed) return listed;
  for (size_t at = 0; at < nodes.size(); at += kAtOnce) {
    const auto begin = nodes.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = nodes.begin() + static_cast<std::ptrdiff_t>(std::min(at + kAtOnce, nodes.size()));
    if (const Status asked = ask({begin, end}, *question, munge); !asked) return asked;
  }
  return {};
}

Status Collecting::ask(std::vector<std::pair<std::string, std::string>> nodes, AgentQuestion question,
                       const Munge& munge) {
  for (int turn = 0; turn < kMostTurns && !nodes.empty(); ++turn) {
    question.addresses.clear();
    question.each.clear();
    for (const auto& [name, address] : nodes) {
      question.addresses.push_back(address);
      question.each.push_back({.job_id = {}, .ended_after = known_[name]});
    }
    const auto answers = ask_agents(question, munge);
    std::vector<std::pair<std::string, std::string>> more;
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (!answers[i] || answers[i]->jobs().empty()) continue;
      const std::string& name = nodes[i].first;
      if (const Status kept = jobs_.keep(name, *answers[i]); !kept) return kept;
      const api::JobMeasurement& last = *std::prev(answers[i]->jobs().end());
      known_[name] = {last.now().time(), last.job().job_id()};
      more.push_back(std::move(nodes[i]));
    }
    nodes = std::move(more);
  }
  return {};
}

void Collecting::run(std::chrono::seconds period) {
  for (std::string told;; std::this_thread::sleep_for(period)) {
    const Status done = round();
    const std::string why = done ? "" : done.error().message;
    if (!why.empty() && why != told)
      std::fprintf(stderr, "minke agent: what jobs have used is not collected now: %s\n", why.c_str());
    told = why;
  }
}

}  // namespace minke::engine::slurm
