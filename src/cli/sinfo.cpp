// sinfo: the partitions and nodes. Reads its options and SINFO_* variables, fetches, prints.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <getopt.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/machine.pb.h"
#include "cli/clusters.h"
#include "cli/commands.h"
#include "cli/document_output.h"
#include "cli/version_line.h"
#include "engine/engine.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "text/hostlist.h"
#include "text/list.h"
#include "text/number.h"
#include "view/output.h"
#include "view/parameters.h"
#include "view/print_fields.h"
#include "view/reservation_text.h"
#include "view/sinfo.h"
#include "view/text.h"

namespace minke::cli {
namespace {

constexpr const char* kUsage =
    "Usage: sinfo [-abdelNRrsTv] [-i seconds] [-t states] [-p partition] [-n nodes]\n"
    "             [-S fields] [-o format] [-O Format] [--federation] [--local]\n";

constexpr const char* kHelp =
    "Usage: sinfo [OPTIONS]\n"
    "  -a, --all                  also hidden partitions\n"
    "  -d, --dead                 only nodes that do not respond\n"
    "  -e, --exact                group nodes only on exact match of configuration\n"
    "  -h, --noheader             no headers on output\n"
    "      --hide                 no hidden partitions\n"
    "  -i, --iterate=seconds      again every so many seconds\n"
    "  -l, --long                 long output\n"
    "      --noconvert            sizes as they are (they always are here)\n"
    "  -N, --Node                 a line for each node\n"
    "  -n, --nodes=hostlist       these nodes\n"
    "  -O, --Format=format        what to print: name[:[.]width],...\n"
    "  -o, --format=format        what to print: %[[.]width]letter\n"
    "  -p, --partition=partition  these partitions\n"
    "  -R, --list-reasons         why nodes are down or drained\n"
    "  -r, --responding           only nodes that respond\n"
    "  -S, --sort=fields          comma separated list of fields to sort on\n"
    "  -s, --summarize            a line for each partition\n"
    "  -T, --reservation          reservations\n"
    "  -t, --states=states        nodes in these states\n"
    "  -V, --version              version and exit\n"
    "      --json, --yaml[=data_parser]  all that is known of them\n"
    "\nHelp options:\n"
    "      --help                 show this help message\n"
    "      --usage                display brief usage message\n";

enum LongOption { kHelpOption = 256, kHelpFormat, kUsageOption, kIgnored };

constexpr option kLongOptions[] = {{"all", no_argument, nullptr, 'a'},
                                   {"cluster", required_argument, nullptr, 'M'},
                                   {"clusters", required_argument, nullptr, 'M'},
                                   {"dead", no_argument, nullptr, 'd'},
                                   {"exact", no_argument, nullptr, 'e'},
                                   {"federation", no_argument, nullptr, kIgnored},
                                   {"future", no_argument, nullptr, 'F'},
                                   {"help", no_argument, nullptr, kHelpOption},
                                   {"helpFormat", no_argument, nullptr, kHelpFormat},
                                   {"helpformat", no_argument, nullptr, kHelpFormat},
                                   {"hide", no_argument, nullptr, kIgnored},
                                   {"iterate", required_argument, nullptr, 'i'},
                                   {"json", optional_argument, nullptr, kJsonOption},
                                   {"local", no_argument, nullptr, kIgnored},
                                   {"long", no_argument, nullptr, 'l'},
                                   {"Node", no_argument, nullptr, 'N'},
                                   {"noconvert", no_argument, nullptr, kIgnored},
                                   {"nodes", required_argument, nullptr, 'n'},
                                   {"noheader", no_argument, nullptr, 'h'},
                                   {"Format", required_argument, nullptr, 'O'},
                                   {"format", required_argument, nullptr, 'o'},
                                   {"partition", required_argument, nullptr, 'p'},
                                   {"responding", no_argument, nullptr, 'r'},
                                   {"list-reasons", no_argument, nullptr, 'R'},
                                   {"reservation", no_argument, nullptr, 'T'},
                                   {"summarize", no_argument, nullptr, 's'},
                                   {"sort", required_argument, nullptr, 'S'},
                                   {"states", required_argument, nullptr, 't'},
                                   {"usage", no_argument, nullptr, kUsageOption},
                                   {"verbose", no_argument, nullptr, 'v'},
                                   {"version", no_argument, nullptr, 'V'},
                                   {"yaml", optional_argument, nullptr, kYamlOption},
                                   {nullptr, 0, nullptr, 0}};

Status set_states(std::string_view text, view::SinfoOptions& options) {
  auto states = view::parse_node_states(text);
  if (!states) {
    view::print_error("sinfo", states.error().message);
    return failure(
        "valid states: "
        "unknown,down,idle,allocated,mixed,future,drain,drained,draining,no_respond,reserved,perfctrs,"
        "cloud,completing,powering_down,powered_down,power_down,powering_up,fail,maint,reboot");
  }
  options.states = std::move(*states);
  return {};
}

// Reads the command line; an exit status where the command ends here.
std::optional<int> read_arguments(int argc, char** argv, view::SinfoOptions& options) {
  if (const char* value = std::getenv("SINFO_FORMAT")) options.format = value;
  if (const char* value = std::getenv("SINFO_SORT")) options.sort = value;
  if (const char* value = std::getenv("SINFO_PARTITION")) options.partitions = text::split_list(value);
  options.all = std::getenv("SINFO_ALL") != nullptr;
  options.clusters = clusters_from_environment();
  const auto conflict = [](std::string_view all, std::string_view partition) {
    view::print_error(
        "sinfo", fmt::format("Conflicting options, {} and {}, specified. Please choose one or the other.",
                             all, partition));
    return 1;
  };
  if (options.all && std::getenv("SINFO_PARTITION") != nullptr)
    return conflict("SINFO_ALL", "SINFO_PARTITION");
  bool given_all = false, given_partition = false;  // by options: those that a variable says give way
  Status status;
  optind = 0;
  int letter;
  while (status &&
         (letter = getopt_long(argc, argv, "adeFhi:lM:n:No:O:p:rRsS:t:TvV", kLongOptions, nullptr)) != -1) {
    switch (letter) {
      case 'a':
        options.all = given_all = true;
        break;
      case 'd':
        options.dead = true;
        break;
      case 'e':
        options.exact = true;
        break;
      case 'M':
        options.clusters = optarg;
        break;
      case 'v':
        options.verbose = true;
        break;
      case 'F':
      case kIgnored:
        break;
      case 'h':
        options.no_header = true;
        break;
      case 'i': {
        auto seconds = text::parse_unsigned(optarg, 1000000);
        if (!seconds || *seconds == 0)
          return view::print_error("sinfo", std::string("invalid entry for --iterate=") + optarg), 1;
        options.iterate_seconds = static_cast<unsigned>(*seconds);
        break;
      }
      case 'l':
        options.long_list = true;
        break;
      case 'n': {
        auto hosts = text::expand_hostlist(optarg);
        if (!hosts)
          return view::print_error("sinfo", "'" + std::string(optarg) + "' invalid entry for --nodes"), 1;
        options.nodes = std::move(*hosts);
        options.filter_nodes = true;
        break;
      }
      case 'N':
        options.node_oriented = true;
        break;
      case 'o':
        options.format = optarg;
        options.long_format.reset();
        break;
      case 'O':
        options.long_format = optarg;
        options.format.reset();
        break;
      case 'p':
        given_partition = true;
        options.partitions = text::split_list(optarg);
        break;
      case 'r':
        options.responding = true;
        break;
      case 'R':
        options.list_reasons = true;
        break;
      case 's':
        options.summarize = true;
        break;
      case 'S':
        options.sort = optarg;
        break;
      case 't':
        status = set_states(optarg, options);
        break;
      case 'T':
        options.reservations = true;
        break;
      case 'V':
        view::write_out(kVersionLine);
        return 0;
      case kJsonOption:
      case kYamlOption:
        if (auto ended = read_document_option("sinfo", letter, optarg, options.document)) return ended;
        break;
      case kHelpFormat: {
        std::vector<std::string_view> names;
        for (const auto& field : view::node_fields()) names.push_back(field.name);
        view::write_out(view::print_help_format(names, 19));
        return 0;
      }
      case kHelpOption:
        view::write_out(kHelp);
        return 0;
      case kUsageOption:
        view::write_out(kUsage);
        return 0;
      default:
        std::fputs("Try \"sinfo --help\" for more information\n", stderr);
        return 1;
    }
  }
  if (!status) return view::print_error("sinfo", status.error().message), 1;
  if (given_all && given_partition) return conflict("-a", "-p");
  return std::nullopt;
}

std::string parameters(const view::SinfoOptions& options) {
  const auto joined = [](const std::vector<std::string>& words) {
    return view::list_parameter(fmt::format("{}", fmt::join(words, ",")));
  };
  std::string states;
  for (const auto& words : options.states)
    states += (states.empty() ? "" : ",") + fmt::format("{}", fmt::join(words, "&"));
  return view::parameter_list(
      {{"dead", view::yes_or_no_parameter(options.dead)},
       {"exact", view::yes_or_no_parameter(options.exact)},
       {"format", view::list_parameter(options.format.value_or(options.long_format.value_or("")))},
       {"iterate", std::to_string(options.iterate_seconds)},
       {"long", view::yes_or_no_parameter(options.long_list)},
       {"no_header", view::yes_or_no_parameter(options.no_header)},
       {"node_format", view::yes_or_no_parameter(options.node_oriented)},
       {"nodes", joined(options.nodes)},
       {"partition", joined(options.partitions)},
       {"responding", view::yes_or_no_parameter(options.responding)},
       {"states", view::list_parameter(states)},
       {"sort", view::list_parameter(options.sort.value_or(""))},
       {"summarize", view::yes_or_no_parameter(options.summarize)},
       {"verbose", "1"}});
}

int show_reservations(engine::Engine& cluster, const view::SinfoOptions& options,
                      view::DisplayContext& context) {
  const auto answer = cluster.reservations();
  if (!answer) {
    std::fprintf(stderr, "slurm_load_reservations: %s\n", answer.error().message.c_str());
    return 1;
  }
  context.now = answer->now();
  std::string out;
  if (answer->reservations().empty()) {
    out = "No reservations in the system\n";
  } else {
    view::append_reservation_table(out, *answer, !options.no_header, context);
  }
  view::write_out(out);
  return 0;
}

int show(engine::Engine& cluster, const view::SinfoOptions& options, const view::DocumentOrigin& origin,
         view::DisplayContext& context) {
  if (options.reservations) return show_reservations(cluster, options, context);
  auto nodes = engine::fetch_nodes(cluster);
  auto partitions = nodes ? engine::fetch_partitions(cluster) : failure(nodes.error());
  if (!partitions) {
    std::fprintf(stderr, "slurm_load_partitions: %s\n", partitions.error().message.c_str());
    return 1;
  }
  context.now = nodes->now != 0 ? nodes->now : std::time(nullptr);
  std::vector<std::string> problems;
  view::Table<view::NodeLine> table =
      view::node_table(options, nodes->records, partitions->records, problems);
  for (const std::string& field : problems) {
    if (options.long_format) {
      view::print_error("sinfo", "Invalid job format specification: " + field);
    } else {
      std::fprintf(stderr, "Invalid node format specification: %s\n", field.c_str());
    }
  }
  const std::vector<view::NodeLine> lines =
      view::node_lines(options, table, nodes->records, partitions->records, context);
  if (options.document) {
    context.cluster_name = engine::fetch_cluster_name(cluster);
    DocumentOutput output(*options.document, origin);
    output.document().begin_array("sinfo");
    for (const view::NodeLine& line : lines) view::describe_node_line(output.document(), line, context);
    output.document().end();
    output.finish(context);
    return 0;
  }
  std::string out;
  if (!options.no_header && (options.long_list || options.iterate_seconds != 0 || options.verbose))
    out += view::date_line(context.now);
  if (!options.no_header) table.append_header(out);
  for (const view::NodeLine& line : lines) table.append_line(line, context, out);
  if (options.iterate_seconds != 0) out += '\n';
  view::write_out(out);
  return 0;
}

}  // namespace

int sinfo_main(int argc, char** argv) {
  view::SinfoOptions options;
  const view::DocumentOrigin origin = view::document_origin(argc, argv);
  if (std::optional<int> status = read_arguments(argc, argv, options)) return *status;
  auto cluster = engine::open();
  if (!cluster) {
    std::fprintf(stderr, "slurm_load_partitions: %s\n", cluster.error().message.c_str());
    return 1;
  }
  if (!check_clusters(**cluster, "sinfo", options.clusters)) return 1;
  if (options.verbose) view::write_out(parameters(options));
  view::DisplayContext context = view::display_context_from_environment();
  if (options.clusters) context.cluster_name = engine::fetch_cluster_name(**cluster);  // %V says it only then
  while (true) {
    if (!options.no_header && !options.document) view::write_out(cluster_line(**cluster, options.clusters));
    int status = show(**cluster, options, origin, context);
    if (options.iterate_seconds == 0 || status != 0) return status;
    sleep(options.iterate_seconds);
  }
}

}  // namespace minke::cli
