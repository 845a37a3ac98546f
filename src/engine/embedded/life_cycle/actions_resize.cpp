// A running job gives nodes back: by scontrol update, or with --no-kill where a node fails. The node with the
// script stays. Tasks of steps on lost nodes are killed, and the steps go on with their other tasks. The
// original request is kept for a requeue. State's thread.
#include <algorithm>

#include "api/field.pb.h"
#include "api/updates.pb.h"
#include "engine/embedded/core.h"
#include "engine/embedded/life_cycle/actions.h"
#include "engine/embedded/life_cycle/kept_nodes.h"
#include "engine/embedded/scheduling/scheduling.h"
#include "engine/embedded/steps/steps.h"
#include "text/hostlist.h"

namespace minke::engine {

using namespace model;

namespace {

// The nodes that the job keeps: the first `count`, or the named ones.
Result<NodeList> kept_nodes(const NodeList& nodes, const api::Field& field, const JobSpec& wanted) {
  NodeList kept;
  if (field.name() == "NumNodes" || field.name() == "ReqNodes") {
    const int count = static_cast<int>(std::min<uint32_t>(wanted.min_nodes(), INT32_MAX));
    if (count > nodes.size()) return failure("a running job takes no further nodes", kNotSupported);
    if (count == 0) return failure("", kJobNotPending);
    for (int i = 0; i < count; ++i) *kept.Add() = nodes[i];
    return kept;
  }
  const auto names = text::expand_hostlist(wanted.node_list());
  if (!names || names->empty()) return failure("", kInvalidNodeName);
  for (const NodeAllocation& node : nodes) {
    if (std::find(names->begin(), names->end(), node.node()) != names->end()) *kept.Add() = node;
  }
  for (const std::string& name : *names) {
    const bool own =
        std::any_of(kept.begin(), kept.end(), [&](const auto& node) { return node.node() == name; });
    if (!own) return failure("", kInvalidNodeName);
  }
  return kept;
}

}  // namespace

bool Actions::is_resize(const Job& job, const api::UpdateJobRequest& request) {
  constexpr std::string_view kNames[] = {"NumNodes", "ReqNodes", "NodeList", "ReqNodeList"};
  return job.state == JOB_RUNNING && !job.completing && request.fields_size() == 1 &&
         std::find(std::begin(kNames), std::end(kNames), request.fields(0).name()) != std::end(kNames);
}

Status Actions::give_nodes_back(Job& job, const api::Field& field, const JobSpec& wanted) {
  if (job.het_job_id != 0) return failure("a heterogeneous job keeps its nodes", kNotSupported);
  NodeList& nodes = job.need_details().nodes;
  auto kept = kept_nodes(nodes, field, wanted);
  if (!kept) return failure(kept.error());
  if (kept->size() == nodes.size()) return failure("", kJobNotPending);
  return keep_nodes(core_, job, std::move(*kept));
}

Status keep_nodes(Core& core, Job& job, NodeList kept) {
  NodeList& nodes = job.need_details().nodes;
  const std::string script_node = nodes[job.details->script_node].node();
  const auto of_script =
      std::find_if(kept.begin(), kept.end(), [&](const auto& node) { return node.node() == script_node; });
  if (job.has_script() && of_script == kept.end())
    return failure("the script runs on " + script_node, kInvalidNodeName);
  core.committer.job_changed(job.id);  // before its steps learn of it
  for (const NodeAllocation& node : nodes) {
    const bool stays =
        std::any_of(kept.begin(), kept.end(), [&](const auto& one) { return one.node() == node.node(); });
    if (!stays) core.steps->leave(job, node.node());
  }
  core.scheduling->release(job);
  job.details->script_node = of_script == kept.end() ? 0 : static_cast<int>(of_script - kept.begin());
  nodes = std::move(kept);
  const Status booked = core.scheduling->adopt(job);
  MINKE_CHECK(booked);  // a part of what it had
  return {};
}

}  // namespace minke::engine
