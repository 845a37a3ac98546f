// squeue: shows the jobs in the queue, or their steps. Reads its options and SQUEUE_* variables, fetches,
// prints. sq: the same for one's own jobs, with the columns that the Alliance's clusters show.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "api/job_filter.pb.h"
#include "cli/clusters.h"
#include "cli/commands.h"
#include "cli/document_output.h"
#include "cli/slurm_programs.h"
#include "cli/squeue_options.h"
#include "cli/unknown_partitions.h"
#include "engine/engine.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "model/cluster.pb.h"
#include "model/error.h"
#include "model/job_state.pb.h"
#include "os/user_id.h"
#include "text/state.h"
#include "view/output.h"
#include "view/parameters.h"
#include "view/squeue.h"
#include "view/steps.h"
#include "view/text.h"

namespace minke::cli {
namespace {

constexpr size_t kBlockSize = 1 << 20;

// Fills in the user ids. Returns false if users were named and none of them exists: there is
// nothing to ask for then.
bool resolve_users(view::SqueueOptions& options) {
  if (options.me) {
    options.uids = {getuid()};
    return true;
  }
  if (options.users.empty()) return true;
  for (const std::string& user : options.users) {
    if (auto uid = os::user_id_of(user)) {
      options.uids.push_back(*uid);
    } else {
      view::print_error("squeue", uid.error().message + "\n");
    }
  }
  return !options.uids.empty();
}

bool nodes_exist(engine::Engine& cluster, const view::SqueueOptions& options) {
  if (options.nodes.empty()) return true;
  auto nodes = engine::fetch_nodes(cluster);
  if (!nodes) return true;
  for (const std::string& name : options.nodes) {
    bool known = false;
    for (const model::NodeRecord* node : nodes->records)
      known = known || node->name() == name || node->host_name() == name;
    if (!known) return view::print_error("squeue", "Invalid node name " + name), false;
  }
  return true;
}

void print_problems(const std::vector<std::string>& problems, const char* what) {
  for (const std::string& field : problems)
    view::print_error("squeue", std::string("Invalid ") + what + " format specification: " + field);
}

template <typename Line>
void print_table(const view::Table<Line>& table, const std::vector<Line>& lines,
                 const view::SqueueOptions& options, const view::DisplayContext& context) {
  std::string out;
  out.reserve(kBlockSize + 4096);
  if (!options.no_header && (options.iterate_seconds != 0 || options.long_list || options.verbose))
    out += view::date_line(context.now);
  if (!options.no_header) table.append_header(out);
  for (const Line& line : lines) {
    table.append_line(line, context, out);
    if (out.size() >= kBlockSize) {
      view::write_out(out);
      out.clear();
    }
  }
  if (options.iterate_seconds != 0) out += '\n';
  view::write_out(out);
}

std::string parameters(const view::SqueueOptions& options) {
  const auto joined = [](const std::vector<std::string>& words) {
    return view::list_parameter(fmt::format("{}", fmt::join(words, ",")));
  };
  std::vector<std::string> jobs, steps, states;
  const auto digit = [](bool value) { return std::string(value ? "1" : "0"); };
  for (const api::JobSelector& job : options.jobs) jobs.push_back(std::to_string(job.job_id()));
  for (const model::JobState state : options.states) states.emplace_back(text::job_state_name(state));
  for (const view::StepSelector& step : options.steps) steps.push_back(std::to_string(step.job.job_id()));
  return view::parameter_list(
             {{"all", view::yes_or_no_parameter(options.all_states)},
              {"array", view::yes_or_no_parameter(options.array)},
              {"federation", "false"},
              {"format", view::list_parameter(options.format.value_or(options.long_format.value_or("")))},
              {"iterate", std::to_string(options.iterate_seconds)},
              {"job_flag", digit(!options.jobs.empty())},
              {"jobs", joined(jobs)},
              {"licenses", joined(options.licenses)},
              {"local", "false"},
              {"names", joined(options.names)},
              {"nodes", fmt::format("{}", fmt::join(options.nodes, ","))},
              {"only_job_state", view::yes_or_no_parameter(options.only_job_state)},
              {"partitions", joined(options.partitions)},
              {"priority", view::yes_or_no_parameter(options.per_partition)},
              {"reservation", joined(options.reservations)},
              {"sibling     ", "false"},
              {"sort", view::list_parameter(options.sort.value_or(""))},
              {"start_flag", digit(options.start)},
              {"states", options.all_states ? "all" : joined(states)},
              {"step_flag", digit(options.show_steps)},
              {"steps", joined(steps)},
              {"users", joined(options.users)},
              {"verbose", "1"}}) +
         "\n\n";
}

int fail(const char* call, const Error& error) {
  std::fprintf(stderr, "%s error: %s\n", call, error.message.c_str());
  return 1;
}

Result<engine::JobRecords> jobs_asked_for(engine::Engine& cluster, const view::SqueueOptions& options,
                                          bool nothing, bool brief) {
  if (nothing) return engine::JobRecords();
  auto fetched = engine::fetch_jobs(cluster, view::job_filter(options), options.start, brief);
  if (fetched && fetched->records.empty() && options.jobs.size() == 1)
    return failure(std::string(model::slurm_error_text(model::kInvalidJobId)), model::kInvalidJobId);
  return fetched;
}

int describe_jobs(engine::Engine& cluster, const view::SqueueOptions& options, bool nothing,
                  const view::DocumentOrigin& origin, view::DisplayContext& context) {
  const Result<engine::JobRecords> jobs = jobs_asked_for(cluster, options, nothing, options.only_job_state);
  if (!jobs) return fail("slurm_load_jobs", jobs.error());
  context.now = jobs->now != 0 ? jobs->now : context.now;
  const auto lines = view::job_lines(jobs->records, options, context);
  if (!lines) return view::print_error("squeue", lines.error().message), 1;
  DocumentOutput output(*options.document, origin,
                        options.only_job_state ? view::answer::kJobStates : view::answer::kJobs);
  const auto nodes = options.only_job_state ? Result<engine::NodeRecords>(engine::NodeRecords())
                                            : engine::fetch_nodes(cluster);
  const view::NodeLayouts layouts = nodes ? view::layouts_of(nodes->records) : view::NodeLayouts();
  view::Document& document = output.document();
  document.begin_array("jobs");
  for (const view::JobLine& line : *lines) {
    const uint32_t* waiting_task = line.waiting_task ? &*line.waiting_task : nullptr;
    if (options.only_job_state) {
      view::describe_job_state(document, *line.job, waiting_task, context);
    } else {
      view::describe_job(document, *line.job, waiting_task, context, &layouts);
    }
    output.flush_if_long();
  }
  document.end();
  document.number("last_backfill", std::nullopt);
  document.number("last_update", context.now);
  output.finish(context);
  return 0;
}

int show_jobs(engine::Engine& cluster, const view::SqueueOptions& options, bool nothing,
              view::DisplayContext& context) {
  std::vector<std::string> problems;
  view::Table<view::JobLine> table = view::job_table(options, problems);
  print_problems(problems, "job");
  auto jobs = jobs_asked_for(cluster, options, nothing, view::brief_records_suffice(options, table));
  if (!jobs) return fail("slurm_load_jobs", jobs.error());
  context.now = jobs->now != 0 ? jobs->now : context.now;
  auto lines = view::job_lines(jobs->records, options, context);
  if (!lines) return view::print_error("squeue", lines.error().message), 1;
  print_table(table, *lines, options, context);
  // Hundreds of thousands of records take long to free one by one, and the process ends anyway.
  [[maybe_unused]] static engine::JobRecords* kept = nullptr;
  if (options.iterate_seconds == 0) kept = new engine::JobRecords(std::move(*jobs));
  return 0;
}

int show_steps(engine::Engine& cluster, const view::SqueueOptions& options, bool nothing,
               const view::DocumentOrigin& origin, view::DisplayContext& context) {
  std::vector<std::string> problems;
  view::Table<view::StepLine> table = view::step_table(options, problems);
  print_problems(problems, "job step");
  engine::StepRecords steps;
  engine::JobRecords jobs;
  if (!nothing) {
    auto fetched_steps = engine::fetch_steps(cluster, view::job_filter(options));
    if (!fetched_steps) return fail("slurm_get_job_steps", fetched_steps.error());
    auto fetched_jobs = engine::fetch_jobs(cluster, view::job_filter(options));
    if (!fetched_jobs) return fail("slurm_load_jobs", fetched_jobs.error());
    steps = std::move(*fetched_steps);
    jobs = std::move(*fetched_jobs);
  }
  context.now = steps.now != 0 ? steps.now : context.now;
  auto lines = view::step_lines(steps.records, jobs.records, options);
  if (!lines) return view::print_error("squeue", lines.error().message), 1;
  if (!options.document) return print_table(table, *lines, options, context), 0;
  DocumentOutput output(*options.document, origin, view::answer::kSteps);
  output.document().begin_array("steps");
  for (const view::StepLine& line : *lines) {
    view::describe_queued_step(output.document(), *line.step, *line.job, context);
    output.flush_if_long();
  }
  output.document().end();
  output.document().number("last_update", context.now);
  output.finish(context);
  return 0;
}

// Adds the tiers of the partitions, for the lines of --priority.
Status add_partition_tiers(engine::Engine& cluster, view::SqueueOptions& options) {
  if (!options.per_partition) return {};
  const auto partitions = engine::fetch_partitions(cluster);
  if (!partitions) return failure(partitions.error());
  for (const model::PartitionRecord* partition : partitions->records)
    options.partition_tiers[partition->name()] = partition->priority_tier();
  return {};
}

// Where partitions are hidden from this user (root sees all), the jobs in them are, too, unless he asks for
// them. Minke's own cluster shows all.
void leave_out_hidden(engine::Engine& cluster, view::SqueueOptions& options) {
  if (getuid() == 0 || options.all_partitions || !options.partitions.empty() || !options.jobs.empty()) return;
  if (const auto self = cluster.identity(); !self || self->product != "Slurm") return;
  const auto partitions = engine::fetch_partitions(cluster);
  if (!partitions || partitions->records.empty()) return;
  for (const model::PartitionRecord* one : partitions->records)
    if (!one->hidden()) options.partitions.push_back(one->name());
}

bool needs_cluster_name(const view::SqueueOptions& options) {
  return options.document ||
         (options.long_format && options.long_format->find("luster") != std::string::npos);
}

int show_once(engine::Engine& cluster, const view::SqueueOptions& options, bool nothing,
              const view::DocumentOrigin& origin, view::DisplayContext& context) {
  if (options.document && !options.show_steps)
    return describe_jobs(cluster, options, nothing, origin, context);
  if (!options.no_header && !options.document) view::write_out(cluster_line(cluster, options.clusters));
  return options.show_steps ? show_steps(cluster, options, nothing, origin, context)
                            : show_jobs(cluster, options, nothing, context);
}

}  // namespace

int squeue_main(int argc, char** argv) {
  view::SqueueOptions options;
  const view::DocumentOrigin origin = view::document_origin(argc, argv);
  if (std::optional<int> status = read_squeue_arguments(argc, argv, options)) return *status;
  if (options.document && options.only_job_state) options.array = true;  // each task has a line of its own
  if (options.show_steps) {
    if (const auto ended = become_slurm_program_for_this("squeue", argv)) return *ended;
  }
  bool nothing = !resolve_users(options) || options.nothing;
  auto cluster = engine::open();
  if (!cluster) return fail("slurm_load_jobs", cluster.error());
  if (!check_clusters(**cluster, "squeue", options.clusters) || !nodes_exist(**cluster, options)) return 1;
  if (const Status added = add_partition_tiers(**cluster, options); !added)
    return fail("slurm_load_partitions", added.error());
  if (options.verbose && !options.document) view::write_out(parameters(options));
  if (!options.document) tell_of_unknown_partitions(**cluster, "squeue", options.partitions);
  leave_out_hidden(**cluster, options);
  view::DisplayContext context = view::display_context_from_environment();
  context.convert_units = !options.no_convert;
  context.expand_patterns = options.expand_patterns;
  context.now = std::time(nullptr);
  if (needs_cluster_name(options)) context.cluster_name = engine::fetch_cluster_name(**cluster);
  while (true) {
    const int status = show_once(**cluster, options, nothing, origin, context);
    if (options.iterate_seconds == 0 || status != 0) return status;
    sleep(options.iterate_seconds);
  }
}

int sq_main(int argc, char** argv) {
  setenv("SQUEUE_FORMAT", "%.15i %.8u %.12a %.14j %.3t %.10L %.5D %.4C %.10b %.7m %N (%r) ", 0);
  setenv("SQUEUE_SORT", "-t,e,S", 0);
  std::string option = "--user=" + view::user_name_of(getuid());
  std::vector<char*> arguments(argv, argv + argc);
  arguments.insert(arguments.begin() + (argc > 0 ? 1 : 0), option.data());
  arguments.push_back(nullptr);
  return squeue_main(static_cast<int>(arguments.size()) - 1, arguments.data());
}

}  // namespace minke::cli
