#include "cli/scontrol/document.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "api/job_filter.pb.h"
#include "api/machine.pb.h"
#include "api/step_usage.pb.h"
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
#include "view/document/configuration.h"
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
  const auto nodes = engine::fetch_nodes(cluster);
  const view::NodeLayouts layouts = nodes ? view::layouts_of(nodes->records) : view::NodeLayouts();
  output.document().begin_array("jobs");
  for (const model::JobRecord* job : jobs->records) {
    view::describe_job(output.document(), *job, nullptr, context, &layouts);
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
  const auto jobs = engine::fetch_jobs(cluster, filter);
  if (!jobs) return fail("slurm_load_jobs error: " + jobs.error().message);
  context.now = steps->now;
  std::map<uint32_t, const model::JobRecord*> by_id;
  for (const model::JobRecord* job : jobs->records) by_id[job->job_id()] = job;
  output.document().begin_array("steps");
  for (const model::StepRecord* step : steps->records)
    if (const auto job = by_id.find(step->job_id()); job != by_id.end())
      view::describe_queued_step(output.document(), *step, *job->second, context);
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

int show_configuration(engine::Engine& cluster, const std::optional<std::string>&, DocumentOutput& output,
                       view::DisplayContext& context) {
  const auto answer = cluster.configuration();
  if (!answer) return fail("slurm_load_ctl_conf error: " + answer.error().message);
  context.now = answer->now();
  view::describe_configuration(output.document(), *answer);
  return 0;
}

int list_steps(engine::Engine& cluster, const std::string& node, bool jobs_only, DocumentOutput& output) {
  const auto steps = engine::fetch_steps(cluster, api::JobFilter());
  if (!steps) return fail("scontrol: error: " + steps.error().message);
  output.document().begin_array(jobs_only ? "jobs" : "steps");
  std::set<uint32_t> told;
  for (const model::StepRecord* step : steps->records) {
    const auto hosts = text::expand_hostlist(step->node_list());
    if (!node.empty() && (!hosts || std::find(hosts->begin(), hosts->end(), node) == hosts->end())) continue;
    if (!jobs_only || told.insert(step->job_id()).second)
      view::describe_listed_step(output.document(), *step);
  }
  output.document().end();
  return 0;
}

int list_processes(engine::Engine& cluster, const std::string& id, DocumentOutput& output) {
  api::QueryPidsRequest query;
  if (!id.empty() && id != "*") {
    const auto wanted = text::parse_job_id(id);
    if (!wanted) return fail("scontrol: error: Invalid job id: " + id);
    *query.mutable_filter()->add_jobs() = engine::selector_of(*wanted);
    if (wanted->step) {
      query.set_batch_only(wanted->step->kind == model::STEP_BATCH);
      if (wanted->step->kind == model::STEP_NORMAL) query.set_step_id(wanted->step->step_id);
    }
  }
  const auto measurements = cluster.measurements();
  if (!measurements) return fail("scontrol: error: " + measurements.error().message);
  const auto answer = (*measurements)->pids(query);
  if (!answer) return fail("scontrol: error: " + answer.error().message);
  output.document().begin_array("pids");
  for (const api::PidsReply::Process& process : answer->processes())
    view::describe_listed_process(output.document(), process);
  output.document().end();
  return 0;
}

// What can be shown as a document. A name may be abbreviated to `shortest` letters.
struct Entity {
  std::string_view name;
  size_t shortest;
  std::string_view answer;
  int (*show)(engine::Engine& cluster, const std::optional<std::string>& id, DocumentOutput& output,
              view::DisplayContext& context);
  int since = view::kOldestParser;
};
constexpr Entity kEntities[] = {
    {"config", 1, view::answer::kConfiguration, show_configuration, 45},
    {"job", 1, view::answer::kJobs, show_jobs},
    {"jobid", 4, view::answer::kJobs, show_jobs},
    {"node", 1, view::answer::kNodes, show_nodes},
    {"nodename", 5, view::answer::kNodes, show_nodes},
    {"partition", 1, view::answer::kPartitions, show_partitions},
    {"partitionname", 10, view::answer::kPartitions, show_partitions},
    {"step", 2, view::answer::kSteps, show_steps},
    {"stepid", 5, view::answer::kSteps, show_steps},
    {"reservation", 1, view::answer::kReservations, show_reservations},
    {"reservationname", 12, view::answer::kReservations, show_reservations},
    {"license", 2, view::answer::kLicenses, show_licenses},
};

}  // namespace

int ping_document(view::DocumentFormat format, const view::DocumentOrigin& origin) {
  const auto begin = std::chrono::steady_clock::now();
  const auto cluster = engine::open();
  const auto waited = std::chrono::steady_clock::now() - begin;
  view::DisplayContext context = view::display_context_from_environment();
  context.now = std::time(nullptr);
  if (cluster) context.cluster_name = engine::fetch_cluster_name(**cluster);
  DocumentOutput output(format, origin, view::answer::kPings);
  output.document().begin_array("pings");
  view::describe_ping(output.document(), host_name(), cluster.has_value(),
                      std::chrono::duration_cast<std::chrono::microseconds>(waited).count());
  output.document().end();
  output.finish(context);
  return cluster ? 0 : 1;
}

std::optional<int> list_document(const std::vector<std::string>& words, view::DocumentFormat format,
                                 const view::DocumentOrigin& origin) {
  const std::string& word = words[0];
  const bool jobs = text::equals_ignoring_case(word, "listjobs"),
             steps = text::equals_ignoring_case(word, "liststeps"),
             processes = text::equals_ignoring_case(word, "listpids");
  if ((!jobs && !steps && !processes) || view::data_parser() < 42) return std::nullopt;
  const auto cluster = engine::open();
  if (!cluster) return fail("scontrol: error: " + cluster.error().message);
  view::DisplayContext context = view::display_context_from_environment();
  context.cluster_name = engine::fetch_cluster_name(**cluster);
  DocumentOutput output(format, origin,
                        jobs    ? view::answer::kListedJobs
                        : steps ? view::answer::kListedSteps
                                : view::answer::kListedProcesses);
  const std::string about = words.size() > 1 ? words[1] : "";
  const int status =
      processes ? list_processes(**cluster, about, output) : list_steps(**cluster, about, jobs, output);
  if (status != 0) return status;
  output.finish(context);
  return 0;
}

std::optional<int> show_document(const std::vector<std::string>& words, view::DocumentFormat format,
                                 const view::DocumentOrigin& origin) {
  if (words.size() < 2) return std::nullopt;
  std::string entity = words[1];
  std::optional<std::string> id;
  if (const size_t equals = entity.find('='); equals != std::string::npos) {
    id = entity.substr(equals + 1);
    entity.resize(equals);
  } else if (words.size() > 2) {
    id = words[2];
  }
  const auto* wanted = std::find_if(std::begin(kEntities), std::end(kEntities), [&](const Entity& one) {
    return is_entity(entity, one.name, one.shortest);
  });
  if (wanted == std::end(kEntities) || view::data_parser() < wanted->since) return std::nullopt;
  const auto cluster = engine::open();
  if (!cluster) return fail("scontrol: error: " + cluster.error().message);
  view::DisplayContext context = view::display_context_from_environment();
  context.now = std::time(nullptr);
  context.cluster_name = engine::fetch_cluster_name(**cluster);
  DocumentOutput output(format, origin, wanted->answer);
  if (const int status = wanted->show(**cluster, id, output, context); status != 0) return status;
  output.document().number("last_update", context.now);
  output.finish(context);
  return 0;
}

}  // namespace minke::cli
