#include "cli/scontrol/document.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <optional>
#include <utility>

#include "cli/client.h"
#include "cli/document/machine.h"
#include "cli/document/records.h"
#include "cli/fetch.h"
#include "cli/srun/launch_environment.h"
#include "model/error.h"
#include "text/hostlist.h"
#include "text/number.h"

namespace minke::cli {
namespace {

int fail(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  return 1;
}

// "job", "jobs", "JobID=12": the entity's name may be shortened, as long as it stays clear.
bool is_entity(const std::string& word, std::string_view name, size_t enough) {
  return word.size() >= enough && (text::starts_with_ignoring_case(name, word) ||
                                   text::equals_ignoring_case(word, std::string(name) + "s"));
}

int show_jobs(Client& client, const std::optional<std::string>& id, DocumentOutput& output,
              DisplayContext& context) {
  rpc::JobFilter filter;
  filter.set_all_states(true);
  if (id) {
    const auto wanted = text::parse_job_id(*id);
    if (!wanted) return fail(wanted.error().message);
    *filter.add_jobs() = selector_of(*wanted);
  }
  const auto jobs = fetch_jobs(client, filter);
  if (!jobs) return fail("slurm_load_jobs error: " + jobs.error().message);
  if (id && jobs->records.empty())
    return fail("slurm_load_jobs error: " + std::string(model::slurm_error_text(model::kInvalidJobId)));
  context.now = jobs->now;
  output.document().begin_array("jobs");
  for (const model::JobRecord* job : jobs->records) {
    describe_job(output.document(), *job, nullptr, context);
    output.flush_if_long();
  }
  output.document().end();
  output.document().number("last_backfill", std::nullopt);
  return 0;
}

int show_nodes(Client& client, const std::optional<std::string>& names, DocumentOutput& output,
               DisplayContext& context) {
  const auto nodes = fetch_nodes(client);
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
      describe_node(output.document(), *node, context);
  output.document().end();
  return 0;
}

int show_partitions(Client& client, const std::optional<std::string>& name, DocumentOutput& output,
                    DisplayContext& context) {
  const auto partitions = fetch_partitions(client);
  if (!partitions) return fail("slurm_load_partitions error: " + partitions.error().message);
  context.now = partitions->now;
  bool found = !name;
  for (const model::PartitionRecord* partition : partitions->records)
    found = found || partition->name() == *name;
  if (!found) return fail("Partition " + *name + " not found");
  output.document().begin_array("partitions");
  for (const model::PartitionRecord* partition : partitions->records)
    if (!name || partition->name() == *name) describe_partition(output.document(), "", *partition, context);
  output.document().end();
  return 0;
}

int show_steps(Client& client, const std::optional<std::string>& id, DocumentOutput& output,
               DisplayContext& context) {
  rpc::JobFilter filter;
  if (id) {
    const auto job = text::parse_job_id(*id);
    if (!job) return fail(job.error().message);
    *filter.add_jobs() = selector_of(*job);
  }
  const auto steps = fetch_steps(client, filter);
  if (!steps) return fail("slurm_get_job_steps error: " + steps.error().message);
  context.now = steps->now;
  output.document().begin_array("steps");
  for (const model::StepRecord* step : steps->records) describe_step(output.document(), *step, context);
  output.document().end();
  return 0;
}

int show_reservations(Client& client, const std::optional<std::string>& name, DocumentOutput& output,
                      DisplayContext& context) {
  rpc::ClientMessage request, about_nodes;
  request.mutable_query_reservations();
  about_nodes.mutable_query_nodes();
  const auto answer = client.call(std::move(request));
  if (!answer) return fail("slurm_load_reservations error: " + answer.error().message);
  const auto nodes = client.call(std::move(about_nodes));
  if (!nodes) return fail("slurm_load_node error: " + nodes.error().message);
  const rpc::ReservationsReply& reply = answer->reservations();
  context.now = reply.now();
  const auto is_wanted = [&](const model::ReservationRecord& one) { return !name || one.name() == *name; };
  if (name && std::none_of(reply.reservations().begin(), reply.reservations().end(), is_wanted))
    return fail("Reservation " + *name + " not found");
  output.document().begin_array("reservations");
  for (const model::ReservationRecord& one : reply.reservations()) {
    if (is_wanted(one)) describe_reservation(output.document(), one, nodes->nodes());
  }
  output.document().end();
  return 0;
}

int show_licenses(Client& client, const std::optional<std::string>& name, DocumentOutput& output,
                  DisplayContext& context) {
  rpc::ClientMessage request;
  request.mutable_query_licenses();
  const auto answer = client.call(std::move(request));
  if (!answer) return fail("slurm_load_licenses error: " + answer.error().message);
  context.now = answer->licenses().now();
  output.document().begin_array("licenses");
  for (const rpc::License& license : answer->licenses().licenses()) {
    if (!name || license.name() == *name) describe_license(output.document(), license);
  }
  output.document().end();
  return 0;
}

}  // namespace

int ping_document(DocumentFormat format, const DocumentOrigin& origin) {
  const auto begin = std::chrono::steady_clock::now();
  auto client = Client::connect();
  const auto waited = std::chrono::steady_clock::now() - begin;
  DisplayContext context = display_context_from_environment();
  context.now = std::time(nullptr);
  if (client) context.cluster_name = fetch_cluster_name(*client);
  DocumentOutput output(format, origin);
  output.document().begin_array("pings");
  describe_ping(output.document(), host_name(), client.has_value(),
                std::chrono::duration_cast<std::chrono::microseconds>(waited).count());
  output.document().end();
  output.finish(context);
  return client ? 0 : 1;
}

int show_document(const std::vector<std::string>& words, DocumentFormat format,
                  const DocumentOrigin& origin) {
  if (words.size() < 2) return fail("too few arguments for keyword:show");
  std::string entity = words[1];
  std::optional<std::string> id;
  if (const size_t equals = entity.find('='); equals != std::string::npos) {
    id = entity.substr(equals + 1);
    entity.resize(equals);
  } else if (words.size() > 2) {
    id = words[2];
  }
  auto client = Client::connect();
  if (!client) return fail("scontrol: error: " + client.error().message);
  DisplayContext context = display_context_from_environment();
  context.now = std::time(nullptr);
  context.cluster_name = fetch_cluster_name(*client);
  DocumentOutput output(format, origin);
  int status = 0;
  if (is_entity(entity, "job", 3) || is_entity(entity, "jobid", 4)) {
    status = show_jobs(*client, id, output, context);
  } else if (is_entity(entity, "node", 3) || is_entity(entity, "nodename", 5)) {
    status = show_nodes(*client, id, output, context);
  } else if (is_entity(entity, "partition", 3) || is_entity(entity, "partitionname", 10)) {
    status = show_partitions(*client, id, output, context);
  } else if (is_entity(entity, "step", 2)) {
    status = show_steps(*client, id, output, context);
  } else if (is_entity(entity, "reservation", 3) || is_entity(entity, "reservationname", 12)) {
    status = show_reservations(*client, id, output, context);
  } else if (is_entity(entity, "license", 2)) {
    status = show_licenses(*client, id, output, context);
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
