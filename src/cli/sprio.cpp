// sprio: the priorities of the jobs that wait. Reads its options and SPRIO_FORMAT, fetches, prints.
#include <fmt/format.h>
#include <getopt.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>

#include "api/job_filter.pb.h"
#include "api/priorities.pb.h"
#include "cli/clusters.h"
#include "cli/commands.h"
#include "cli/document_output.h"
#include "cli/version_line.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "os/user_id.h"
#include "text/list.h"
#include "view/output.h"
#include "view/parameters.h"
#include "view/sprio.h"
#include "view/text.h"

namespace minke::cli {
namespace {

constexpr const char* kHelp =
    "Usage: sprio [OPTIONS]\n"
    "      --federation                display jobs in federation if a member of one\n"
    "  -h, --noheader                  no headers on output\n"
    "  -j, --jobs                      comma separated list of jobs\n"
    "                                  to view, default is all\n"
    "      --json, --yaml              the same as JSON or YAML\n"
    "      --local                     display jobs on local cluster only\n"
    "  -l, --long                      long report\n"
    "  -M, --cluster=cluster_name      cluster to issue commands to\n"
    "  -n, --norm                      display normalized values\n"
    "  -o, --format=format             format specification\n"
    "  -p, --partition=partition_name  comma separated list of partitions\n"
    "  -u, --user=user_name            comma separated list of users to view\n"
    "  -v, --verbose                   verbosity level\n"
    "  -V, --version                   output version information and exit\n"
    "  -w, --weights                   show the weights for each priority factor\n"
    "\nHelp options:\n"
    "  --help                          show this help message\n"
    "  --usage                         display a brief summary of sprio options\n";

constexpr const char* kUsage =
    "Usage: sprio [-j jid[s]] [-u user_name[s]] [-o format] [-p partitions]\n"
    "   [--federation] [--local] [--sibling] [--usage] [-hlnvVw]\n";

enum LongOption { kHelpOption = 256, kUsageOption, kIgnored };

constexpr option kLongOptions[] = {{"cluster", required_argument, nullptr, 'M'},
                                   {"clusters", required_argument, nullptr, 'M'},
                                   {"federation", no_argument, nullptr, kIgnored},
                                   {"format", required_argument, nullptr, 'o'},
                                   {"help", no_argument, nullptr, kHelpOption},
                                   {"jobs", optional_argument, nullptr, 'j'},
                                   {"json", optional_argument, nullptr, kJsonOption},
                                   {"local", no_argument, nullptr, kIgnored},
                                   {"long", no_argument, nullptr, 'l'},
                                   {"noheader", no_argument, nullptr, 'h'},
                                   {"norm", no_argument, nullptr, 'n'},
                                   {"partition", required_argument, nullptr, 'p'},
                                   {"sibling", no_argument, nullptr, kIgnored},
                                   {"sort", required_argument, nullptr, 'S'},
                                   {"usage", no_argument, nullptr, kUsageOption},
                                   {"user", required_argument, nullptr, 'u'},
                                   {"users", required_argument, nullptr, 'u'},
                                   {"verbose", no_argument, nullptr, 'v'},
                                   {"version", no_argument, nullptr, 'V'},
                                   {"weights", no_argument, nullptr, 'w'},
                                   {"yaml", optional_argument, nullptr, kYamlOption},
                                   {nullptr, 0, nullptr, 0}};

struct Arguments {
  view::SprioOptions options;
  api::JobFilter filter;
  bool no_header = false;
  bool filtered = false;  // by jobs or users
  bool job_flag = false;
  uint32_t verbose = 0;
  std::string job_list, user_list, partition_list;  // as given
  std::optional<std::string> clusters = clusters_from_environment();
  std::optional<view::DocumentFormat> document;
};

Status add_jobs(const char* list, Arguments& arguments) {
  auto references = text::parse_job_id_list(list);
  if (!references) return failure("Invalid job id: " + std::string(list));
  for (const text::JobReference& reference : *references)
    *arguments.filter.add_jobs() = engine::selector_of(reference);
  arguments.filtered = true;
  arguments.job_list = list;
  return {};
}

void add_users(const char* list, Arguments& arguments) {
  for (const std::string& user : text::split_list(list)) {
    if (auto uid = os::user_id_of(user)) {
      arguments.filter.add_uids(*uid);
    } else {
      view::print_error("sprio", uid.error().message + "\n");
      arguments.filter.add_uids(UINT32_MAX);  // nobody's
    }
  }
  arguments.options.show_user = true;
  arguments.filtered = true;
  arguments.user_list = list;
}

// --verbose: what was asked for.
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

std::optional<int> read_arguments(int argc, char** argv, Arguments& arguments) {
  view::SprioOptions& options = arguments.options;
  if (const char* value = std::getenv("SPRIO_FORMAT")) options.format = value;
  bool& jobs_flag = arguments.job_flag;
  Status status;
  optind = 0;
  int letter;
  while (status && (letter = getopt_long(argc, argv, "hj::lM:no:p:S:u:vVw", kLongOptions, nullptr)) != -1) {
    switch (letter) {
      case 'h':
        arguments.no_header = true;
        break;
      case 'j':
        jobs_flag = true;
        if (optarg != nullptr) status = add_jobs(optarg, arguments);
        break;
      case 'l':
        options.long_list = true;
        break;
      case 'M':
        arguments.clusters = optarg;
        break;
      case 'n':
        options.normalized = true;
        break;
      case 'o':
        options.format = optarg;
        break;
      case 'p':
        options.partitions = text::split_list(optarg);
        arguments.partition_list = optarg;
        break;
      case 'v':
        ++arguments.verbose;
        break;
      case 'S':  // by job id, as they are sorted anyhow
      case kIgnored:
        break;
      case 'u':
        add_users(optarg, arguments);
        break;
      case 'V':
        view::write_out(kVersionLine);
        return 0;
      case 'w':
        options.weights = true;
        break;
      case kHelpOption:
        view::write_out(kHelp);
        return 0;
      case kUsageOption:
        view::write_out(kUsage);
        return 0;
      case kJsonOption:
      case kYamlOption:
        if (auto ended = read_document_option("sprio", letter, optarg, arguments.document)) return ended;
        break;
      default:
        std::fputs("Try \"sprio --help\" for more information\n", stderr);
        return 1;
    }
  }
  if (status && optind < argc && jobs_flag && arguments.filter.jobs().empty())
    status = add_jobs(argv[optind++], arguments);
  if (!status) return view::print_error("sprio", status.error().message), 1;
  if (arguments.verbose > 0) view::write_out(asked_for(arguments));
  if (optind < argc) {
    view::print_error("sprio", std::string("Unrecognized option: ") + argv[optind]);
    view::write_out(kUsage);
    return 1;
  }
  return std::nullopt;
}

}  // namespace

int sprio_main(int argc, char** argv) {
  const view::DocumentOrigin origin = view::document_origin(argc, argv);
  Arguments arguments;
  if (auto status = read_arguments(argc, argv, arguments)) return *status;
  auto cluster = engine::open();
  if (!cluster) return view::print_error("sprio", cluster.error().message), 1;
  if (!check_clusters(**cluster, "sprio", arguments.clusters)) return 1;
  std::vector<std::string> problems;
  view::Table<view::PriorityLine> table = view::priority_table(arguments.options, problems);
  for (const std::string& field : problems)
    view::print_error("sprio", "Invalid job format specification: " + field);

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
  for (view::PriorityLine& line : lines) {
    line.weights = weights.weights;
    const auto found = parts.find({line.job->job_id(), std::string(line.partition)});
    if (found != parts.end()) line.parts = found->second;
  }
  view::DisplayContext context = view::display_context_from_environment();
  context.cluster_name = engine::fetch_cluster_name(**cluster);
  context.now = jobs.now;
  if (arguments.document) {
    DocumentOutput output(*arguments.document, origin);
    output.document().begin_array("jobs");
    for (const view::PriorityLine& line : lines) {
      view::describe_priority(output.document(), line, context);
      output.flush_if_long();
    }
    output.document().end();
    output.finish(context);
    return 0;
  }
  if (lines.empty() && arguments.filtered && !arguments.options.weights) {
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
