// sdiag: what the daemon has done since it started, or since `sdiag --reset`. Reads its options, asks,
// prints.
#include <getopt.h>

#include <cstdio>
#include <string>
#include <utility>

#include "api/diagnostics.pb.h"
#include "cli/clusters.h"
#include "cli/commands.h"
#include "cli/document_output.h"
#include "cli/version_line.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "view/output.h"
#include "view/sdiag.h"
#include "view/text.h"

namespace minke::cli {
namespace {

constexpr const char* kHelp =
    "Usage: sdiag [OPTIONS]\n"
    "  -a, --all           all statistics\n"
    "  -r, --reset         reset statistics\n"
    "  -M, --cluster       direct the request to a specific cluster\n"
    "  -i, --sort-by-id    sort RPCs by id\n"
    "  -t, --sort-by-time  sort RPCs by total run time\n"
    "  -T, --sort-by-time2 sort RPCs by average run time\n"
    "  -V, --version       display current version number\n"
    "      --json, --yaml  the same as JSON or YAML\n"
    "\nHelp options:\n"
    "  --help          show this help message\n"
    "  --usage         display brief usage message\n";

enum LongOption { kHelpOption = 256, kUsageOption };

constexpr option kLongOptions[] = {{"all", no_argument, nullptr, 'a'},
                                   {"cluster", required_argument, nullptr, 'M'},
                                   {"clusters", required_argument, nullptr, 'M'},
                                   {"help", no_argument, nullptr, kHelpOption},
                                   {"json", optional_argument, nullptr, kJsonOption},
                                   {"reset", no_argument, nullptr, 'r'},
                                   {"sort-by-id", no_argument, nullptr, 'i'},
                                   {"sort-by-time", no_argument, nullptr, 't'},
                                   {"sort-by-time2", no_argument, nullptr, 'T'},
                                   {"usage", no_argument, nullptr, kUsageOption},
                                   {"version", no_argument, nullptr, 'V'},
                                   {"yaml", optional_argument, nullptr, kYamlOption},
                                   {nullptr, 0, nullptr, 0}};

int fail(const Error& error) {
  std::fprintf(stderr, "slurm_get_statistics: %s\n", error.message.c_str());
  return 1;
}

}  // namespace

int sdiag_main(int argc, char** argv) {
  const view::DocumentOrigin origin = view::document_origin(argc, argv);
  bool reset = false;
  std::optional<std::string> clusters = clusters_from_environment();
  view::RequestOrder order = view::RequestOrder::kByCount;
  std::optional<view::DocumentFormat> format;
  optind = 0;
  int letter;
  while ((letter = getopt_long(argc, argv, "ahiM:rtTV", kLongOptions, nullptr)) != -1) {
    switch (letter) {
      case 'a':
        break;
      case 'i':
        order = view::RequestOrder::kById;
        break;
      case 'M':
        clusters = optarg;
        break;
      case 'r':
        reset = true;
        break;
      case 't':
        order = view::RequestOrder::kByTotalTime;
        break;
      case 'T':
        order = view::RequestOrder::kByAverageTime;
        break;
      case 'V':
        view::write_out(kVersionLine);
        return 0;
      case 'h':
      case kHelpOption:
        view::write_out(kHelp);
        return 0;
      case kUsageOption:
        view::write_out("Usage: sdiag [-M cluster] [-aritT]\n");
        return 0;
      case kJsonOption:
      case kYamlOption:
        if (auto ended = read_document_option("sdiag", letter, optarg, format)) return *ended;
        break;
      default:
        std::fputs("Try \"sdiag --help\" for more information\n", stderr);
        return 1;
    }
  }
  auto cluster = engine::open();
  if (!cluster) return fail(cluster.error());
  if (!check_clusters(**cluster, "sdiag", clusters)) return 1;
  const auto ability = (*cluster)->administration();
  if (!ability) return fail(ability.error());
  api::QueryDiagnosticsRequest request;
  request.set_reset(reset);
  const auto answer = (*ability)->diagnostics(request);
  if (!answer) return fail(answer.error());
  if (reset) {
    view::write_out("Reset scheduling statistics\n");
  } else if (format) {
    view::DisplayContext context;
    context.now = answer->now();
    context.cluster_name = engine::fetch_cluster_name(**cluster);
    DocumentOutput output(*format, origin);
    view::describe_diagnostics(output.document(), *answer);
    output.finish(context);
  } else {
    view::write_out(view::sdiag_report(*answer, order));
  }
  return 0;
}

}  // namespace minke::cli
