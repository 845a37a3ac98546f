#include "cli/scontrol/document.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <optional>
#include <utility>

#include "api/job_filter.pb.h"
#include "api/machine.pb.h"
#include "cli/srun/launch_environment.h"
#include "engine/engine.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "model/cluster.pb.h"
#include "model/error.h"
#include "model/job_record.pb.h"
#include "model/step_record.pb.h"
#include "text/hostlist.h"
#include "text/number.h"
#include "view/document/machine.h"
#include "view/document/records.h"
#include "view/text.h"

namespace minke::cli {
namespace {

int fail(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  return 1;
}

// "job", "jobs", "JobID=12": the entity's name may be abbreviated, as long as it stays unambiguous.
bool is_entity(const std::string& word, std::string_view name, size_t enough) {
  return word.size() >= enough && (text::starts_with_ignoring_case(name, word) ||
                                   text::equals_ignoring_case(word, std::string(name) + "s"));
}

int show_jobs(engine::Engine& cluster, const std::optional<std::string>& id, DocumentOutput& output,
              view::DisplayContext& context) {
  api::JobFilter filter;
  filter.set_all_states(true);
  if (id) {
    const auto wanted = text::parse_job_id(*id);
    if (!wanted) return fail(wanted.error().message);
    *filter.add_jobs() = engine::selector_of(*wanted);
  }
  const auto jobs = engine::fetch_jobs(cluster, filter);
  if (!jobs) return fail("slurm_load_jobs error: " + jobs.error().message);
  if (id && jobs->records.empty())
    return fail("slurm_load_jobs error: " + std::string(model::slurm_error_text(model::kInvalidJobId)));
  context.now = jobs->now;
  output.document().begin_array("jobs");
  for (const model::JobRecord* job : jobs->records) {
    view::describe_job(output.document(), *job, nullptr, context);
    output.flush_if_long();
  }
  output.document().end();
  output.document().number("last_backfill", std::nullopt);
  return 0;
}

int show_nodes(engine::Engine& cluster, const std::optional<std::string>& names, DocumentOutput& output,
               view::DisplayContext& context) {
  const auto nodes = engine::fetch_nodes(cluster);
  if (!nodes) return fail("slurm_load_node error: " + nodes.error().message);
  std::vector<std::string> wanted;
  if (names) {
    auto hosts = text::expand_hostlist(*names);
    if (!hosts) return fail(hosts.error().message);
    wanted = std::move(*hosts);
  }
  for (const std::string& name : wanted)
    if (std::none_of(nodes->records.begin(), nodes->records.end(),
                     [&](auto* node) { return node->name() == name; }))
      return fail("Node " + name + " not found");
  context.now = nodes->now;
  output.document().begin_array("nodes");
  for (const model::NodeRecord* node : nodes->records)
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), node->name()) != wanted.end())
      view::describe_node(output.document(), *node, context);
  output.document().end();
  return 0;
}

int show_partitions(engine::Engine& cluster, const std::optional<std::string>& name, DocumentOutput& output,
                    view::DisplayContext& context) {
  const auto partitions = engine::fetch_partitions(cluster);
  if (!partitions) return fail("slurm_load_partitions error: " + partitions.error().message);
  context.now = partitions->now;
  bool found = !name;
  for (const model::PartitionRecord* partition : partitions->records)
    found = found || partition->name() == *name;
  if (!found) return fail("Partition " + *name + " not found");
  output.document().begin_array("partitions");
  for (const model::PartitionRecord* partition : partitions->records)
    if (!name || partition->name() == *name)
      view::describe_partition(output.document(), "", *partition, context);
  output.document().end();
  return 0;
}

int show_steps(engine::Engine& cluster, const std::optional<std::string>& id, DocumentOutput& output,
               view::DisplayContext& context) {
  api::JobFilter filter;
  if (id) {
    const auto job = text::parse_job_id(*id);
    if (!job) return fail(job.error().message);
    *filter.add_jobs() = engine::selector_of(*job);
  }
  const auto steps = engine::fetch_steps(cluster, filter);
  if (!steps) return fail("slurm_get_job_steps error: " + steps.error().message);
  context.now = steps->now;
  output.document().begin_array("steps");
  for (const model::StepRecord* step : steps->records) view::describe_step(output.document(), *step, context);
  output.document().end();
  return 0;
}

int show_reservations(engine::Engine& cluster, const std::optional<std::string>& name, DocumentOutput& output,
                      view::DisplayContext& context) {
  const auto reply = cluster.reservations();
  if (!reply) return fail("slurm_load_reservations error: " + reply.error().message);
  api::NodesReply nodes;
  const Status told = cluster.nodes([&](api::NodesReply& part) -> Status {
    nodes.MergeFrom(part);
    return {};
  });
  if (!told) return fail("slurm_load_node error: " + told.error().message);
  context.now = reply->now();
  const auto is_wanted = [&](const model::ReservationRecord& one) { return !name || one.name() == *name; };
  if (name && std::none_of(reply->reservations().begin(), reply->reservations().end(), is_wanted))
    return fail("Reservation " + *name + " not found");
  output.document().begin_array("reservations");
  for (const model::ReservationRecord& one : reply->reservations()) {
    if (is_wanted(one)) view::describe_reservation(output.document(), one, nodes);
  }
  output.document().end();
  return 0;
}

int show_licenses(engine::Engine& cluster, const std::optional<std::string>& name, DocumentOutput& output,
                  view::DisplayContext& context) {
  const auto answer = cluster.licenses();
  if (!answer) return fail("slurm_load_licenses error: " + answer.error().message);
  context.now = answer->now();
  output.document().begin_array("licenses");
  for (const api::License& license : answer->licenses()) {
    if (!name || license.name() == *name) view::describe_license(output.document(), license);
  }
  output.document().end();
  return 0;
}

}  // namespace

int ping_document(view::DocumentFormat format, const view::DocumentOrigin& origin) {
  const auto begin = std::chrono::steady_clock::now();
  const auto cluster = engine::open();
  const auto waited = std::chrono::steady_clock::now() - begin;
  view::DisplayContext context = view::display_context_from_environment();
  context.now = std::time(nullptr);
  if (cluster) context.cluster_name = engine::fetch_cluster_name(**cluster);
  DocumentOutput output(format, origin);
  output.document().begin_array("pings");
  view::describe_ping(output.document(), host_name(), cluster.has_value(),
                      std::chrono::duration_cast<std::chrono::microseconds>(waited).count());
  output.document().end();
  output.finish(context);
  return cluster ? 0 : 1;
}

int show_document(const std::vector<std::string>& words, view::DocumentFormat format,
                  const view::DocumentOrigin& origin) {
  if (words.size() < 2) return fail("too few arguments for keyword:show");
  std::string entity = words[1];
  std::optional<std::string> id;
  if (const size_t equals = entity.find('='); equals != std::string::npos) {
    id = entity.substr(equals + 1);
    entity.resize(equals);
  } else if (words.size() > 2) {
    id = words[2];
  }
  const auto cluster = engine::open();
  if (!cluster) return fail("scontrol: error: " + cluster.error().message);
  view::DisplayContext context = view::display_context_from_environment();
  context.now = std::time(nullptr);
  context.cluster_name = engine::fetch_cluster_name(**cluster);
  DocumentOutput output(format, origin);
  int status = 0;
  if (is_entity(entity, "job", 3) || is_entity(entity, "jobid", 4)) {
    status = show_jobs(**cluster, id, output, context);
  } else if (is_entity(entity, "node", 3) || is_entity(entity, "nodename", 5)) {
    status = show_nodes(**cluster, id, output, context);
  } else if (is_entity(entity, "partition", 3) || is_entity(entity, "partitionname", 10)) {
    status = show_partitions(**cluster, id, output, context);
  } else if (is_entity(entity, "step", 2)) {
    status = show_steps(**cluster, id, output, context);
  } else if (is_entity(entity, "reservation", 3) || is_entity(entity, "reservationname", 12)) {
    status = show_reservations(**cluster, id, output, context);
  } else if (is_entity(entity, "license", 2)) {
    status = show_licenses(**cluster, id, output, context);
  } else {
    return fail(
        "scontrol: error: \"" + entity +
        "\" cannot be shown as JSON or YAML; jobs, steps, nodes, partitions, reservations and licenses can");
  }
  if (status != 0) return status;
  output.document().number("last_update", context.now);
  output.finish(context);
  return 0;
}

}  // namespace minke::cli
