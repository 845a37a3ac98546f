// sinfo: shows the partitions and nodes. Fetches, prints.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "api/machine.pb.h"
#include "cli/clusters.h"
#include "cli/commands.h"
#include "cli/document_output.h"
#include "cli/sinfo_options.h"
#include "cli/unknown_partitions.h"
#include "engine/engine.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "view/output.h"
#include "view/parameters.h"
#include "view/reservation_text.h"
#include "view/sinfo.h"
#include "view/text.h"

namespace minke::cli {
namespace {

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
    DocumentOutput output(*options.document, origin, view::answer::kNodeLines);
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
  if (std::optional<int> status = read_sinfo_arguments(argc, argv, options)) return *status;
  auto cluster = engine::open();
  if (!cluster) {
    std::fprintf(stderr, "slurm_load_partitions: %s\n", cluster.error().message.c_str());
    return 1;
  }
  if (!check_clusters(**cluster, "sinfo", options.clusters)) return 1;
  if (options.verbose) view::write_out(parameters(options));
  if (!options.document) tell_of_unknown_partitions(**cluster, "sinfo", options.partitions);
  view::DisplayContext context = view::display_context_from_environment();
  if (options.clusters) context.cluster_name = engine::fetch_cluster_name(**cluster);  // needed only by %V
  while (true) {
    if (!options.no_header && !options.document) view::write_out(cluster_line(**cluster, options.clusters));
    int status = show(**cluster, options, origin, context);
    if (options.iterate_seconds == 0 || status != 0) return status;
    sleep(options.iterate_seconds);
  }
}

}  // namespace minke::cli
