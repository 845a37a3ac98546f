// sprio: shows the priorities of pending jobs. Reads its options and SPRIO_FORMAT, fetches, prints.
#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "api/job_filter.pb.h"
#include "api/priorities.pb.h"
#include "base/version.h"
#include "cli/clusters.h"
#include "cli/commands.h"
#include "cli/described_commands.h"
#include "cli/document_output.h"
#include "cli/read_command.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "options/values.h"
#include "os/user_id.h"
#include "text/list.h"
#include "view/output.h"
#include "view/parameters.h"
#include "view/sprio.h"
#include "view/text.h"

namespace minke::cli {
namespace {

using options::Given;
using enum options::ArgumentKind;
using Ended = std::optional<int>;

constexpr std::string_view kUsage =
    "Usage: sprio [-j jid[s]] [-u user_name[s]] [-o format] [-p partitions]\n"
    "   [--federation] [--local] [--sibling] [--usage] [-hlnvVw]\n";

struct Arguments {
  view::SprioOptions options;
  api::JobFilter filter;
  bool no_header = false;
  bool filtered = false;  // by jobs or users
  bool job_flag = false;
  uint32_t verbose = 0;
  std::string job_list, user_list, partition_list;  // as given
  std::optional<std::string> clusters;
  std::optional<view::DocumentFormat> document;
};

int wrong(const std::string& message) {
  view::print_error("sprio", message);
  return 1;
}

Ended add_jobs(Arguments& arguments, const std::string& list) {
  auto references = text::parse_job_id_list(list);
  if (!references) return wrong("Invalid job id: " + list + " (write 12, or 12_3 for a task of an array)");
  for (const text::JobReference& reference : *references)
    *arguments.filter.add_jobs() = engine::selector_of(reference);
  arguments.filtered = true;
  arguments.job_list = list;
  return std::nullopt;
}

Ended jobs(Arguments& arguments, const Given& given) {
  arguments.job_flag = true;
  return given.value ? add_jobs(arguments, *given.value) : std::nullopt;
}

Ended users(Arguments& arguments, const Given& given) {
  for (const std::string& user : text::split_list(given.text())) {
    if (auto uid = os::user_id_of(user)) {
      arguments.filter.add_uids(*uid);
    } else {
      wrong(uid.error().message + "\n");
      arguments.filter.add_uids(UINT32_MAX);  // an id that nobody has
    }
  }
  arguments.options.show_user = true;
  arguments.filtered = true;
  arguments.user_list = given.text();
  return std::nullopt;
}

Ended partitions(Arguments& arguments, const Given& given) {
  arguments.options.partitions = text::split_list(given.text());
  arguments.partition_list = given.text();
  return std::nullopt;
}

Ended help_format(Arguments&, const Given&) {
  view::write_out(view::priority_help_format());
  return 0;
}

// --verbose: prints what was asked for.
std::string asked_for(const Arguments& arguments) {
  const std::string rule = std::string(29, '-') + "\n";
  const auto line = [](const char* name, const std::string& value) {
    return fmt::format("{:<10} = {}\n", name, value);
  };
  return rule + line("format", view::list_parameter(arguments.options.format.value_or(""))) +
         line("job_flag", std::to_string(arguments.job_flag ? 1 : 0)) +
         line("jobs", view::list_parameter(arguments.job_list)) +
         line("partition", view::list_parameter(arguments.partition_list)) +
         line("users", view::list_parameter(arguments.user_list)) +
         line("verbose", std::to_string(arguments.verbose)) + rule + "\n\n";
}

template <auto kMember>
constexpr auto flag = options::flag<&Arguments::options, kMember>;
constexpr auto kIgnored = &options::ignored<Arguments>;

// Columns: see options::Option.
constexpr options::Row<Arguments> kRows[] = {
    {{"cluster", '\0', kRequired}, clusters<&Arguments::clusters>},
    {{"clusters", 'M', kRequired, "cluster_name", "cluster to issue commands to", "", "SLURM_CLUSTERS"},
     clusters<&Arguments::clusters>},
    {{"federation", '\0', kNone, "", "display jobs in federation if a member of one"}, kIgnored},
    {{"format", 'o', kRequired, "format", "format specification", "", "SPRIO_FORMAT"},
     options::keep<&Arguments::options, &view::SprioOptions::format>},
    {{"help", '\0', kNone, "", "show this help message"}, show_help<Arguments>},
    {{"helpformat", '\0', kNone, "", "the letters of --format"}, help_format},
    {{"jobs", 'j', kOptional, "jobs", "comma separated list of jobs to view, default is all",
      options::kJobIds},
     jobs},
    {{"json", '\0', kOptional, "data_parser", "the same as JSON"}, document<&Arguments::document>},
    {{"local", '\0', kNone, "", "display jobs on local cluster only"}, kIgnored},
    {{"long", 'l', kNone, "", "long report"}, flag<&view::SprioOptions::long_list>},
    {{"noheader", 'h', kNone, "", "no headers on output"}, options::flag<&Arguments::no_header>},
    {{"norm", 'n', kNone, "", "display normalized values"}, flag<&view::SprioOptions::normalized>},
    {{"partition", 'p', kRequired, "partition_name", "comma separated list of partitions",
      options::kPartitionNames},
     partitions},
    {{"sibling", '\0', kNone}, kIgnored},
    {{"sort", 'S', kRequired, "fields", "accepted: lines are sorted by job id"}, kIgnored},
    {{"usage", '\0', kNone, "", "display a brief summary of sprio options"}, show_usage<Arguments>},
    {{"user", 'u', kRequired, "user_name", "comma separated list of users to view", options::kUserNames},
     users},
    {{"users", '\0', kRequired}, users},
    {{"verbose", 'v', kNone, "", "verbosity level"}, options::count<&Arguments::verbose>},
    {{"version", 'V', kNone, "", "output version information and exit"}, show_version<Arguments>},
    {{"weights", 'w', kNone, "", "show the weights for each priority factor"},
     flag<&view::SprioOptions::weights>},
    {{"yaml", '\0', kOptional, "data_parser", "the same as YAML"}, document<&Arguments::document>},
};

const options::Table<Arguments>& table() {
  static const auto* const kTable = new options::Table<Arguments>(
      {.name = "sprio", .purpose = "the priorities of the jobs that wait", .usage = kUsage}, kRows);
  return *kTable;
}

Ended read_arguments(int argc, char** argv, Arguments& arguments) {
  CommandRead read = read_command(table(), argc, argv, arguments);
  if (read.status) return read.status;
  // "-j 12": an optional argument may stand in a word of its own.
  size_t taken = 0;
  if (!read.operands.empty() && arguments.job_flag && arguments.filter.jobs().empty()) {
    if (const Ended ended = add_jobs(arguments, read.operands[taken++])) return ended;
  }
  if (arguments.verbose > 0) view::write_out(asked_for(arguments));
  if (taken < read.operands.size()) {
    wrong("Unrecognized option: " + read.operands[taken]);
    view::write_out(kUsage);
    return 1;
  }
  return std::nullopt;
}

}  // namespace

const options::Command& sprio_command() {
  return table().command;
}

int sprio_main(int argc, char** argv) {
  const view::DocumentOrigin origin = view::document_origin(argc, argv);
  Arguments arguments;
  if (auto status = read_arguments(argc, argv, arguments)) return *status;
  arguments.options.release = spoken_release();
  auto cluster = engine::open();
  if (!cluster) return view::print_error("sprio", cluster.error().message), 1;
  if (!check_clusters(**cluster, "sprio", arguments.clusters)) return 1;
  engine::JobRecords jobs;
  std::vector<view::PriorityLine> lines;
  if (!arguments.options.weights) {
    auto fetched = engine::fetch_jobs(**cluster, arguments.filter);
    if (fetched) jobs = std::move(*fetched);
    lines = view::priority_lines(jobs.records, arguments.options);
  }
  api::QueryPrioritiesRequest asked;
  *asked.mutable_filter() = arguments.filter;
  const auto priorities = (*cluster)->priorities(asked);
  if (!priorities) return view::print_error("sprio", priorities.error().message), 1;
  std::map<std::pair<uint32_t, std::string>, const api::JobPriority*> parts;
  for (const api::JobPriority& one : priorities->jobs()) parts[{one.job_id(), one.partition()}] = &one;
  view::PriorityLine weights;
  if (priorities->multifactor()) weights.weights = &priorities->weights();
  std::vector<std::string> problems;
  view::Table<view::PriorityLine> table = view::priority_table(arguments.options, problems, weights.weights);
  for (const std::string& field : problems)
    view::print_error("sprio", "Invalid job format specification: " + field);
  for (view::PriorityLine& line : lines) {
    line.weights = weights.weights;
    const auto found = parts.find({line.job->job_id(), std::string(line.partition)});
    if (found != parts.end()) line.parts = found->second;
  }
  view::DisplayContext context = view::display_context_from_environment();
  context.cluster_name = engine::fetch_cluster_name(**cluster);
  context.now = jobs.now;
  if (arguments.document) {
    DocumentOutput output(*arguments.document, origin, {});
    output.document().begin_array("jobs");
    for (const view::PriorityLine& line : lines) {
      view::describe_priority(output.document(), line, context);
      output.flush_if_long();
    }
    output.document().end();
    output.finish(context);
    return 0;
  }
  if (lines.empty() && arguments.filtered && !arguments.options.weights && spoken_release() < kSlurm24) {
    view::write_out("Unable to find jobs matching user/id(s) specified\n");
    return 0;
  }
  std::string out;
  if (!arguments.no_header) {
    out += cluster_line(**cluster, arguments.clusters);
    table.append_header(out);
  }
  if (arguments.options.weights) table.append_line(weights, context, out);
  for (const view::PriorityLine& line : lines) table.append_line(line, context, out);
  view::write_out(out);
  return 0;
}

}  // namespace minke::cli
