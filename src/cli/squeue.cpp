// squeue: the jobs in the queue, or their steps. Reads its options and SQUEUE_* variables, fetches, prints.
// sq: the same for one's own jobs, with the columns that the Alliance's clusters show.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "cli/client.h"
#include "cli/clusters.h"
#include "cli/commands.h"
#include "cli/display/parameters.h"
#include "cli/display/squeue.h"
#include "cli/display/steps.h"
#include "cli/document/output.h"
#include "cli/fetch.h"
#include "model/error.h"
#include "text/state.h"

namespace minke::cli {
namespace {

constexpr size_t kBlockSize = 1 << 20;

// Fills in the user ids. False where users were named and none of them exists: then there is nothing to ask
// for.
bool resolve_users(SqueueOptions& options) {
  if (options.me) {
    options.uids = {getuid()};
    return true;
  }
  if (options.users.empty()) return true;
  for (const std::string& user : options.users) {
    if (auto uid = user_id_of(user)) {
      options.uids.push_back(*uid);
    } else {
      print_error("squeue", uid.error().message + "\n");
    }
  }
  return !options.uids.empty();
}

bool nodes_exist(Client& client, const SqueueOptions& options) {
  if (options.nodes.empty()) return true;
  auto nodes = fetch_nodes(client);
  if (!nodes) return true;
  for (const std::string& name : options.nodes) {
    bool known = false;
    for (const model::NodeRecord* node : nodes->records)
      known = known || node->name() == name || node->host_name() == name;
    if (!known) return print_error("squeue", "Invalid node name " + name), false;
  }
  return true;
}

void print_problems(const std::vector<std::string>& problems, const char* what) {
  for (const std::string& field : problems)
    print_error("squeue", std::string("Invalid ") + what + " format specification: " + field);
}

template <typename Line>
void print_table(const Table<Line>& table, const std::vector<Line>& lines, const SqueueOptions& options,
                 const DisplayContext& context) {
  std::string out;
  out.reserve(kBlockSize + 4096);
  if (!options.no_header && (options.iterate_seconds != 0 || options.long_list || options.verbose))
    out += date_line(context.now);
  if (!options.no_header) table.append_header(out);
  for (const Line& line : lines) {
    table.append_line(line, context, out);
    if (out.size() >= kBlockSize) {
      write_out(out);
      out.clear();
    }
  }
  if (options.iterate_seconds != 0) out += '\n';
  write_out(out);
}

std::string parameters(const SqueueOptions& options) {
  const auto joined = [](const std::vector<std::string>& words) {
    return list_parameter(fmt::format("{}", fmt::join(words, ",")));
  };
  std::vector<std::string> jobs, steps, states;
  for (const rpc::JobSelector& job : options.jobs) jobs.push_back(std::to_string(job.job_id()));
  for (const model::JobState state : options.states) states.emplace_back(text::job_state_name(state));
  return parameter_list(
      {{"all", yes_or_no_parameter(options.all_states)},
       {"array", yes_or_no_parameter(options.array)},
       {"format", list_parameter(options.format.value_or(options.long_format.value_or("")))},
       {"iterate", std::to_string(options.iterate_seconds)},
       {"jobs", joined(jobs)},
       {"licenses", joined(options.licenses)},
       {"names", joined(options.names)},
       {"nodes", joined(options.nodes)},
       {"partitions", joined(options.partitions)},
       {"priority", yes_or_no_parameter(options.per_partition)},
       {"reservation", joined(options.reservations)},
       {"sort", list_parameter(options.sort.value_or(""))},
       {"start_flag", yes_or_no_parameter(options.start)},
       {"states", joined(states)},
       {"step_flag", yes_or_no_parameter(options.show_steps)},
       {"users", joined(options.users)},
       {"verbose", "1"}});
}

int fail(const char* call, const Error& error) {
  std::fprintf(stderr, "%s error: %s\n", call, error.message.c_str());
  return 1;
}

Result<JobRecords> jobs_asked_for(Client& client, const SqueueOptions& options, bool nothing, bool brief) {
  if (nothing) return JobRecords();
  auto fetched = fetch_jobs(client, job_filter(options), options.start, brief);
  if (fetched && fetched->records.empty() && options.jobs.size() == 1)
    return failure(std::string(model::slurm_error_text(model::kInvalidJobId)), model::kInvalidJobId);
  return fetched;
}

int describe_jobs(Client& client, const SqueueOptions& options, bool nothing, const DocumentOrigin& origin,
                  DisplayContext& context) {
  const Result<JobRecords> jobs = jobs_asked_for(client, options, nothing, false);
  if (!jobs) return fail("slurm_load_jobs", jobs.error());
  context.now = jobs->now != 0 ? jobs->now : context.now;
  const auto lines = job_lines(jobs->records, options, context);
  if (!lines) return print_error("squeue", lines.error().message), 1;
  DocumentOutput output(*options.document, origin);
  Document& document = output.document();
  document.begin_array("jobs");
  for (const JobLine& line : *lines) {
    describe_job(document, *line.job, line.waiting_task ? &*line.waiting_task : nullptr, context);
    output.flush_if_long();
  }
  document.end();
  document.number("last_backfill", std::nullopt);
  document.number("last_update", context.now);
  output.finish(context);
  return 0;
}

int show_jobs(Client& client, const SqueueOptions& options, bool nothing, DisplayContext& context) {
  std::vector<std::string> problems;
  Table<JobLine> table = job_table(options, problems);
  print_problems(problems, "job");
  auto jobs = jobs_asked_for(client, options, nothing, brief_records_suffice(options, table));
  if (!jobs) return fail("slurm_load_jobs", jobs.error());
  context.now = jobs->now != 0 ? jobs->now : context.now;
  auto lines = job_lines(jobs->records, options, context);
  if (!lines) return print_error("squeue", lines.error().message), 1;
  print_table(table, *lines, options, context);
  // Hundreds of thousands of records take long to free one by one; the process ends anyhow.
  [[maybe_unused]] static JobRecords* kept = nullptr;
  if (options.iterate_seconds == 0) kept = new JobRecords(std::move(*jobs));
  return 0;
}

int show_steps(Client& client, const SqueueOptions& options, bool nothing, DisplayContext& context) {
  std::vector<std::string> problems;
  Table<StepLine> table = step_table(options, problems);
  print_problems(problems, "job step");
  StepRecords steps;
  JobRecords jobs;
  if (!nothing) {
    auto fetched_steps = fetch_steps(client, job_filter(options));
    if (!fetched_steps) return fail("slurm_get_job_steps", fetched_steps.error());
    auto fetched_jobs = fetch_jobs(client, job_filter(options));
    if (!fetched_jobs) return fail("slurm_load_jobs", fetched_jobs.error());
    steps = std::move(*fetched_steps);
    jobs = std::move(*fetched_jobs);
  }
  context.now = steps.now != 0 ? steps.now : context.now;
  auto lines = step_lines(steps.records, jobs.records, options);
  if (!lines) return print_error("squeue", lines.error().message), 1;
  print_table(table, *lines, options, context);
  return 0;
}

}  // namespace

int squeue_main(int argc, char** argv) {
  SqueueOptions options;
  const DocumentOrigin origin = document_origin(argc, argv);
  if (std::optional<int> status = read_squeue_arguments(argc, argv, options)) return *status;
  bool nothing = !resolve_users(options) || options.nothing;
  auto client = Client::connect();
  if (!client) return fail("slurm_load_jobs", client.error());
  if (!check_clusters(*client, "squeue", options.clusters) || !nodes_exist(*client, options)) return 1;
  if (options.per_partition) {
    const auto partitions = fetch_partitions(*client);
    if (!partitions) return fail("slurm_load_partitions", partitions.error());
    for (const model::PartitionRecord* partition : partitions->records)
      options.partition_tiers[partition->name()] = partition->priority_tier();
  }
  if (options.verbose && !options.document) write_out(parameters(options));
  DisplayContext context = display_context_from_environment();
  context.convert_units = !options.no_convert;
  context.now = std::time(nullptr);
  if (options.document || (options.long_format && options.long_format->find("luster") != std::string::npos))
    context.cluster_name = fetch_cluster_name(*client);
  while (true) {
    if (!options.no_header && !options.document) write_out(cluster_line(*client, options.clusters));
    int status = options.document     ? describe_jobs(*client, options, nothing, origin, context)
                 : options.show_steps ? show_steps(*client, options, nothing, context)
                                      : show_jobs(*client, options, nothing, context);
    if (options.iterate_seconds == 0 || status != 0) return status;
    sleep(options.iterate_seconds);
  }
}

int sq_main(int argc, char** argv) {
  setenv("SQUEUE_FORMAT", "%.15i %.8u %.12a %.14j %.3t %.10L %.5D %.4C %.10b %.7m %N (%r) ", 0);
  setenv("SQUEUE_SORT", "-t,e,S", 0);
  std::string option = "--user=" + user_name_of(getuid());
  std::vector<char*> arguments(argv, argv + argc);
  arguments.insert(arguments.begin() + (argc > 0 ? 1 : 0), option.data());
  arguments.push_back(nullptr);
  return squeue_main(static_cast<int>(arguments.size()) - 1, arguments.data());
}

}  // namespace minke::cli
