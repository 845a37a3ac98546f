// scontrol show: selects the records, and prints a message if there are none.
#include "cli/scontrol/show.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "api/accounts.pb.h"
#include "api/field.pb.h"
#include "api/job_filter.pb.h"
#include "api/machine.pb.h"
#include "base/version.h"
#include "cli/scontrol/commands.h"
#include "cli/scontrol/show_limits.h"
#include "engine/fetch.h"
#include "model/cluster.pb.h"
#include "model/error.h"
#include "model/job_record.pb.h"
#include "model/job_terms.pb.h"
#include "model/step_record.pb.h"
#include "text/array_spec.h"
#include "text/hostlist.h"
#include "text/job_id.h"
#include "text/nearest.h"
#include "text/number.h"
#include "text/printable.h"
#include "view/output.h"
#include "view/reservation_text.h"
#include "view/text.h"

namespace minke::cli {
namespace {

bool is_entity(std::string_view word, std::string_view entity, size_t enough) {
  return word.size() >= enough && text::starts_with_ignoring_case(entity, word);
}

bool tracks_wckeys(engine::Engine& cluster) {
  const auto answer = cluster.configuration();
  return answer && std::any_of(answer->values().begin(), answer->values().end(), [](const api::Field& field) {
           return field.name() == "TrackWCKey" && field.value() == "Yes";
         });
}

std::string hint_at_ended(const std::string& id) {
  return " (no such job waits or runs; of an ended one tell sacct -j " + text::printable(id) +
         " and minke why)";
}

int show_nothing(Scontrol&, const std::string&, const std::vector<std::string>&) {
  return 0;
}

// Every node reaches every other alike: as a Slurm without topology.yaml tells it.
int show_topologies() {
  view::write_out(
      "%YAML 1.1\n---\n- topology: default\n  cluster_default: false\n  block: {}\n  flat: {}\n  ring: {}\n"
      "  torus3d: {}\n  tree: {}\n...\n");
  return 0;
}

constexpr std::string_view kHostList = "hostlist", kHostListSorted = "hostlistsorted",
                           kHostNames = "hostnames";

}  // namespace

template <const std::string_view& kEntity>
int Scontrol::show_hosts(Scontrol& its, const std::string& id, const Words& words) {
  return its.show_hosts(std::string(kEntity), words.size() > 2 ? std::optional(id) : std::nullopt);
}

// Finds the first one whose name the word abbreviates, with at least `shortest` letters.
struct Scontrol::Entity {
  std::string_view name;
  size_t shortest;
  int (*show)(Scontrol& its, const std::string& id, const Words& words);
};

const Scontrol::Entity Scontrol::kEntities[] = {
    {"hostlistsorted", 9, show_hosts<kHostListSorted>},
    {"hostlist", 5, show_hosts<kHostList>},
    {"hostnames", 5, show_hosts<kHostNames>},
    {"aliases", 1, [](Scontrol& its, const std::string&, const Words&) { return its.show_aliases(); }},
    {"assoc_mgr", 2,
     [](Scontrol& its, const std::string&, const Words& words) { return its.show_limits(words); }},
    {"burstbuffer", 1, show_nothing},
    {"dwstat", 2, show_nothing},
    {"bbstat", 2, show_nothing},
    {"federation", 2, show_nothing},
    {"frontend", 2,
     [](Scontrol& its, const std::string&, const Words& words) {
       if (spoken_release() >= kSlurm26)
         return its.complain("invalid entity:" + words[1] + " for keyword:show");
       return view::write_out("No nodes in the system\n"), 0;
     }},
    {"topoconf", 5, [](Scontrol&, const std::string&, const Words&) { return show_topologies(); }},
    {"topology", 1,
     [](Scontrol& its, const std::string&, const Words&) {
       if (spoken_release() < kSlurm24)
         (void)its.complain("scontrol: error: No topology information available");
       return 0;
     }},
    {"config", 1, [](Scontrol& its, const std::string&, const Words&) { return its.show_configuration(); }},
    {"daemons", 1,
     [](Scontrol&, const std::string&, const Words&) { return view::write_out("slurmctld slurmd\n"), 0; }},
    {"jobs", 1, [](Scontrol& its, const std::string& id, const Words&) { return its.show_jobs(id); }},
    {"jobid", 1, [](Scontrol& its, const std::string& id, const Words&) { return its.show_jobs(id); }},
    {"licenses", 2, [](Scontrol& its, const std::string& id, const Words&) { return its.show_licenses(id); }},
    {"nodes", 1, [](Scontrol& its, const std::string& id, const Words&) { return its.show_nodes(id); }},
    {"partitions", 1,
     [](Scontrol& its, const std::string& id, const Words&) { return its.show_partitions(id); }},
    {"partitionname", 1,
     [](Scontrol& its, const std::string& id, const Words&) { return its.show_partitions(id); }},
    {"reservations", 1,
     [](Scontrol& its, const std::string& id, const Words&) { return its.show_reservations(id); }},
    {"reservationname", 1,
     [](Scontrol& its, const std::string& id, const Words&) { return its.show_reservations(id); }},
    {"slurmd", 2, [](Scontrol& its, const std::string&, const Words&) { return its.show_slurmd(); }},
    {"steps", 2, [](Scontrol& its, const std::string& id, const Words&) { return its.show_steps(id); }},
    {"stepid", 5, [](Scontrol& its, const std::string& id, const Words&) { return its.show_steps(id); }},
};

int Scontrol::show(const Words& words) {
  // "show job=12" is "show job 12".
  const size_t equals = words.size() == 2 ? words[1].find('=') : std::string::npos;
  const std::string entity = words[1].substr(0, equals);
  const std::string id = words.size() > 2              ? words[2]
                         : equals != std::string::npos ? words[1].substr(equals + 1)
                                                       : std::string();
  if (words.size() > 3 && !is_entity(words[1], "assoc_mgr", 2))
    return complain("too many arguments for keyword:" + words[0]);
  for (const Entity& one : kEntities)
    if (is_entity(entity, one.name, one.shortest)) return one.show(*this, id, words);
  std::vector<std::string_view> names;
  for (const Entity& one : kEntities) names.push_back(one.name);
  const std::string_view meant = text::nearest(entity, names);
  return complain("invalid entity:" + entity + " for keyword:" + words[0] +
                  (spoken_release() < kSlurm26 ? " " : "") +
                  (meant.empty() ? " (write job, node, partition, reservation, config or another of "
                                   "scontrol --help)"
                                 : " (did you mean " + std::string(meant) + "?)"));
}

std::string Scontrol::heading(int64_t now, size_t records) {
  if (!verbose_) return "";
  std::string out = "last_update_time=";
  view::append_time(out, now, context(now), "Unknown");
  return out + ", records=" + std::to_string(records) + "\n";
}

int Scontrol::show_jobs(const std::string& id) {
  api::JobFilter filter;
  std::optional<text::JobReference> wanted;
  // Job 0 means all jobs, or with a task's number those tasks of all arrays.
  const size_t digits = std::min(id.size(), id.find_first_not_of('0'));
  const bool any_job = digits == id.size() || id[digits] == '_';
  if (digits < id.size()) {
    auto reference = text::parse_job_id(any_job ? "1" + id.substr(digits) : id);
    if (!reference || reference->step)
      return complain(
          "scontrol_print_job error: " + std::string(model::slurm_error_text(model::kInvalidJobId)) +
          " (write 12, or 12_3 for a task of an array)");
    wanted = *reference;
    if (!any_job) *filter.add_jobs() = engine::selector_of(*wanted);
  }
  filter.set_all_states(true);
  engine::Engine* cluster = open_cluster();
  if (cluster == nullptr) return 1;
  auto jobs = engine::fetch_jobs(*cluster, std::move(filter), true);
  const bool of_task = wanted && !wanted->tasks.ranges().empty();
  if (!jobs && !(of_task && jobs.error().code == model::kInvalidJobId))
    return complain("slurm_load_jobs error: " + jobs.error().message +
                    (jobs.error().code == model::kInvalidJobId ? hint_at_ended(id) : ""));

  std::string out;
  bool found = false;
  view::DisplayContext display = context(jobs ? jobs->now : 0);
  std::vector<const model::JobRecord*> records;
  if (jobs) records = jobs->records;
  std::stable_sort(records.begin(), records.end(),
                   [](const auto* left, const auto* right) { return left->job_id() < right->job_id(); });
  options_.wckeys = std::any_of(records.begin(), records.end(),
                                [](const auto* job) { return !job->spec().wckey().empty(); }) &&
                    tracks_wckeys(*cluster);
  for (const model::JobRecord* job : records) {
    if (!of_task || (job->has_array_task_id() && text::contains_index(wanted->tasks, job->array_task_id()))) {
      if (wanted && !of_task && job->job_id() != wanted->job_id && job->array_job_id() != wanted->job_id &&
          job->het_job_id() != wanted->job_id)
        continue;
      if (wanted && wanted->het_offset && job->het_job_offset() != *wanted->het_offset) continue;
      append_job_block(out, *job, nullptr, display, options_);
      found = true;
      continue;
    }
    if (job->has_array_task_id() || (!any_job && job->array_job_id() != wanted->job_id)) continue;
    for (const model::IndexRange& range : wanted->tasks.ranges()) {
      for (uint64_t task = range.first(); task <= range.last(); task += std::max(1u, range.step())) {
        uint32_t index = static_cast<uint32_t>(task);
        if (!text::contains_index(job->array_pending(), index)) continue;
        append_job_block(out, *job, &index, display, options_);
        found = true;
      }
    }
  }
  if (!found && of_task) {
    if (!quiet_) view::write_out("Job " + id + " not found\n");
    return 1;
  }
  if (!found && wanted)
    return complain("slurm_load_jobs error: " + std::string(model::slurm_error_text(model::kInvalidJobId)) +
                    hint_at_ended(id));
  if (!found && !quiet_) out = "No jobs in the system\n";
  view::write_out(heading(display.now, records.size()) + out);
  return 0;
}

int Scontrol::show_limits(const Words& words) {
  const auto wanted = parse_limits_wanted(std::span(words).subspan(2));
  if (!wanted) return complain(wanted.error().message);
  engine::Engine* cluster = open_cluster();
  if (cluster == nullptr) return 1;
  api::QueryAccountsRequest request;
  request.set_with_usage(true);
  const auto accounts = cluster->accounts(request);
  if (!accounts) return complain("slurm_load_assoc_mgr error: " + accounts.error().message);
  const auto jobs = engine::fetch_jobs(*cluster, {});
  if (!jobs) return complain("slurm_load_assoc_mgr error: " + jobs.error().message);
  view::DisplayContext display = context(jobs->now);
  display.cluster_name = engine::fetch_cluster_name(*cluster);
  std::string out;
  append_limits(out, *accounts, jobs->records, *wanted, display, options_);
  view::write_out(out);
  return 0;
}

int Scontrol::show_steps(const std::string& id) {
  api::JobFilter filter;
  std::optional<text::JobReference> wanted;
  const std::string invalid(model::slurm_error_text(model::kInvalidJobId));
  if (!id.empty()) {
    auto reference = text::parse_job_id(id);
    if (!reference) return complain("slurm_get_job_steps error: " + invalid);
    wanted = *reference;
    *filter.add_jobs() = engine::selector_of(*wanted);
  }
  engine::Engine* cluster = open_cluster();
  if (cluster == nullptr) return 1;
  auto steps = engine::fetch_steps(*cluster, filter);
  if (!steps) return complain("slurm_get_job_steps error: " + steps.error().message);
  auto jobs = engine::fetch_jobs(*cluster, filter);
  if (!jobs) return complain("slurm_get_job_steps error: " + jobs.error().message);
  std::unordered_map<uint32_t, const model::JobRecord*> job_by_id;
  for (const model::JobRecord* job : jobs->records) job_by_id.emplace(job->job_id(), job);

  std::vector<const model::StepRecord*> shown;
  for (const model::StepRecord* step : steps->records) {
    if (wanted && wanted->step &&
        (wanted->step->kind != step->kind() ||
         (step->kind() == model::STEP_NORMAL && wanted->step->step_id != step->step_id())))
      continue;
    if (job_by_id.contains(step->job_id())) shown.push_back(step);
  }
  // In the order in which they began: a job's script comes before its steps.
  std::stable_sort(shown.begin(), shown.end(),
                   [](const model::StepRecord* left, const model::StepRecord* right) {
                     return std::pair(left->job_id(), left->kind() == model::STEP_NORMAL) <
                            std::pair(right->job_id(), right->kind() == model::STEP_NORMAL);
                   });
  std::stable_sort(shown.begin(), shown.end(), [](const auto* left, const auto* right) {
    return std::pair(left->job_id(), view::step_rank(*left)) <
           std::pair(right->job_id(), view::step_rank(*right));
  });
  std::string out;
  for (const model::StepRecord* step : shown)
    append_step_block(out, *step, *job_by_id[step->job_id()], context(steps->now), options_);
  if (!shown.empty() || quiet_) {
    view::write_out(out);
    return 0;
  }
  view::write_out(wanted ? "Job step " + id + " not found\n" : "No job steps in the system\n");
  return wanted ? 1 : 0;
}

int Scontrol::show_nodes(const std::string& names) {
  engine::Engine* cluster = open_cluster();
  if (cluster == nullptr) return 1;
  auto nodes = engine::fetch_nodes(*cluster);
  if (!nodes) return complain("slurm_load_node error: " + nodes.error().message);
  view::DisplayContext display = context(nodes->now);
  std::string out;
  int status = 0;
  if (names.empty() || text::equals_ignoring_case(names, "all")) {
    for (const model::NodeRecord* node : nodes->records) {
      if (node->state() != model::NODE_FUTURE) append_node_block(out, *node, display, options_);
    }
  } else {
    auto hosts = text::expand_hostlist(names);
    if (!hosts) hosts = std::vector<std::string>{names};
    for (const std::string& name : *hosts) {
      auto found = std::find_if(nodes->records.begin(), nodes->records.end(),
                                [&](const auto* node) { return node->name() == name; });
      if (found != nodes->records.end() && (*found)->state() != model::NODE_FUTURE) {
        append_node_block(out, **found, display, options_);
      } else {
        if (!quiet_) out += "Node " + name + " not found\n";
        status = 1;
      }
    }
  }
  view::write_out(heading(nodes->now, nodes->records.size()) + out);
  return status;
}

int Scontrol::show_aliases() {
  engine::Engine* cluster = open_cluster();
  if (cluster == nullptr) return 1;
  auto nodes = engine::fetch_nodes(*cluster);
  if (!nodes) return complain("slurm_load_node error: " + nodes.error().message);
  std::string out;
  for (const model::NodeRecord* node : nodes->records) out += (out.empty() ? "" : " ") + node->name();
  view::write_out(out + "\n");
  return 0;
}

int Scontrol::show_partitions(const std::string& name) {
  engine::Engine* cluster = open_cluster();
  if (cluster == nullptr) return 1;
  auto partitions = engine::fetch_partitions(*cluster);
  if (!partitions) return complain("slurm_load_partitions error: " + partitions.error().message);
  std::string out;
  for (const model::PartitionRecord* partition : partitions->records)
    if (name.empty() ? !partition->hidden() || all_ : partition->name() == name)
      append_partition_block(out, *partition, context(partitions->now), options_);
  const bool missing = out.empty();
  if (missing && !quiet_)
    out = name.empty() ? "No partitions in the system\n" : "Partition " + name + " not found\n";
  view::write_out(heading(partitions->now, partitions->records.size()) + out);
  return missing && !name.empty() ? 1 : 0;
}

int Scontrol::show_reservations(const std::string& name) {
  engine::Engine* cluster = open_cluster();
  if (cluster == nullptr) return 1;
  const auto reply = cluster->reservations();
  if (!reply) return complain("slurm_load_reservations error: " + reply.error().message);
  api::NodesReply nodes;
  const Status told = cluster->nodes([&](api::NodesReply& part) -> Status {
    nodes.MergeFrom(part);
    return {};
  });
  if (!told) return complain("slurm_load_reservations error: " + told.error().message);
  std::string out;
  for (const model::ReservationRecord& reservation : reply->reservations()) {
    if (name.empty() || reservation.name() == name)
      view::append_reservation_block(out, reservation, *reply, nodes, context(reply->now()), options_);
  }
  const bool missing = out.empty();
  if (missing && !quiet_)
    out = name.empty() ? "No reservations in the system\n" : "Reservation " + name + " not found\n";
  view::write_out(heading(reply->now(), static_cast<size_t>(reply->reservations_size())) + out);
  return missing && !name.empty() ? 1 : 0;
}

int Scontrol::show_configuration() {
  engine::Engine* cluster = open_cluster();
  if (cluster == nullptr) return 1;
  const auto answer = cluster->configuration();
  if (!answer) return complain("slurm_load_ctl_conf error: " + answer.error().message);
  std::string out;
  append_configuration(out, *answer, context(answer->now()));
  view::write_out(out);
  return ping();
}

int Scontrol::show_hosts(const std::string& entity, std::optional<std::string> argument) {
  const bool names = entity == "hostnames";
  if (!argument && names) {
    for (const char* variable : {"SLURM_JOB_NODELIST", "SLURM_NODELIST"})
      if (const char* value = argument ? nullptr : std::getenv(variable)) argument = value;
    if (!argument) {  // in Slurm this does not change the exit status
      if (!quiet_) view::print_error("scontrol", "host list is empty");
      return 0;
    }
  }
  if (!argument) return complain("invalid encode argument");
  // hostlist also takes the path of a file with names in it, or "-" for its input.
  if (!names && (argument->starts_with('/') || *argument == "-")) {
    std::ifstream file;
    if (*argument != "-") file.open(*argument);
    std::stringstream content;
    if (*argument == "-") {
      char buffer[4096];
      while (size_t got = std::fread(buffer, 1, sizeof buffer, stdin))
        content.write(buffer, static_cast<std::streamsize>(got));
    } else if (file) {
      content << file.rdbuf();
    } else {
      view::print_error("scontrol", "Unable to open " + *argument);
      return 1;
    }
    argument = content.str();
  }
  auto hosts = text::expand_hostlist(*argument);
  if (!hosts) return complain(hosts.error().message);
  std::string out;
  if (names) {
    for (const std::string& host : *hosts) out += host + "\n";
  } else {
    if (entity == "hostlistsorted") text::sort_hosts(*hosts);
    out = text::compress_hostlist(*hosts) + "\n";
  }
  view::write_out(out);
  return 0;
}

}  // namespace minke::cli
