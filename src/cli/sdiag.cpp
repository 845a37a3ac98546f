// sdiag: the daemon's statistics since it started, or since `sdiag --reset`. Reads its
// options, asks, prints.
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "api/diagnostics.pb.h"
#include "cli/clusters.h"
#include "cli/commands.h"
#include "cli/described_commands.h"
#include "cli/document_output.h"
#include "cli/read_command.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "view/output.h"
#include "view/sdiag.h"
#include "view/text.h"

namespace minke::cli {
namespace {

using enum options::ArgumentKind;
using Ended = std::optional<int>;

struct Arguments {
  bool reset = false;
  std::optional<std::string> clusters;
  view::RequestOrder order = view::RequestOrder::kByCount;
  std::optional<view::DocumentFormat> document;
};

// Columns: see options::Option.
constexpr options::Row<Arguments> kRows[] = {
    {{"all", 'a', kNone, "", "all statistics"}, options::ignored<Arguments>},
    {{"cluster", '\0', kRequired}, clusters<&Arguments::clusters>},
    {{"clusters", 'M', kRequired, "cluster", "direct the request to a specific cluster", "",
      "SLURM_CLUSTERS"},
     clusters<&Arguments::clusters>},
    {{"help", 'h', kNone, "", "show this help message"}, show_help<Arguments>},
    {{"json", '\0', kOptional, "data_parser", "the same as JSON"}, document<&Arguments::document>},
    {{"no-trunc", '\0', kNone, "", "users' names in full, as they always are here"},
     options::ignored<Arguments>},
    {{"reset", 'r', kNone, "", "reset statistics"}, options::flag<&Arguments::reset>},
    {{"sort-by-id", 'i', kNone, "", "sort RPCs by id"},
     options::set_to<view::RequestOrder::kById, &Arguments::order>},
    {{"sort-by-time", 't', kNone, "", "sort RPCs by total run time"},
     options::set_to<view::RequestOrder::kByTotalTime, &Arguments::order>},
    {{"sort-by-time2", 'T', kNone, "", "sort RPCs by average run time"},
     options::set_to<view::RequestOrder::kByAverageTime, &Arguments::order>},
    {{"usage", '\0', kNone, "", "display brief usage message"}, show_usage<Arguments>},
    {{"version", 'V', kNone, "", "display current version number"}, show_version<Arguments>},
    {{"yaml", '\0', kOptional, "data_parser", "the same as YAML"}, document<&Arguments::document>},
};

const options::Table<Arguments>& table() {
  static const auto* const kTable =
      new options::Table<Arguments>({.name = "sdiag",
                                     .purpose = "what the daemon has done since it started",
                                     .usage = "Usage: sdiag [-M cluster] [-aritT]\n"},
                                    kRows);
  return *kTable;
}

int fail(const Error& error) {
  std::fprintf(stderr, "slurm_get_statistics: %s\n", error.message.c_str());
  return 1;
}

}  // namespace

const options::Command& sdiag_command() {
  return table().command;
}

int sdiag_main(int argc, char** argv) {
  const view::DocumentOrigin origin = view::document_origin(argc, argv);
  Arguments arguments;
  if (const Ended ended = read_command(table(), argc, argv, arguments).status) return *ended;
  auto cluster = engine::open();
  if (!cluster) return fail(cluster.error());
  if (!check_clusters(**cluster, "sdiag", arguments.clusters)) return 1;
  const auto ability = (*cluster)->administration();
  if (!ability) return fail(ability.error());
  api::QueryDiagnosticsRequest request;
  request.set_reset(arguments.reset);
  const auto answer = (*ability)->diagnostics(request);
  if (!answer) return fail(answer.error());
  if (arguments.reset) {
    view::write_out("Reset scheduling statistics\n");
  } else if (arguments.document) {
    view::DisplayContext context;
    context.now = answer->now();
    context.cluster_name = engine::fetch_cluster_name(**cluster);
    DocumentOutput output(*arguments.document, origin, view::answer::kDiagnostics);
    view::describe_diagnostics(output.document(), *answer);
    output.finish(context);
  } else {
    view::write_out(view::sdiag_report(*answer, arguments.order));
  }
  return 0;
}

}  // namespace minke::cli
