// sdiag: what the daemon has done since it started, or since `sdiag --reset`. Reads its options, asks,
// prints.
#include <getopt.h>

#include <cstdio>
#include <string>
#include <utility>

#include "cli/client.h"
#include "cli/clusters.h"
#include "cli/commands.h"
#include "cli/display/sdiag.h"
#include "cli/document/output.h"
#include "cli/fetch.h"

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
  const DocumentOrigin origin = document_origin(argc, argv);
  bool reset = false;
  std::optional<std::string> clusters = clusters_from_environment();
  RequestOrder order = RequestOrder::kByCount;
  std::optional<DocumentFormat> format;
  optind = 0;
  int letter;
  while ((letter = getopt_long(argc, argv, "ahiM:rtTV", kLongOptions, nullptr)) != -1) {
    switch (letter) {
      case 'a':
        break;
      case 'i':
        order = RequestOrder::kById;
        break;
      case 'M':
        clusters = optarg;
        break;
      case 'r':
        reset = true;
        break;
      case 't':
        order = RequestOrder::kByTotalTime;
        break;
      case 'T':
        order = RequestOrder::kByAverageTime;
        break;
      case 'V':
        write_out(kVersionLine);
        return 0;
      case 'h':
      case kHelpOption:
        write_out(kHelp);
        return 0;
      case kUsageOption:
        write_out("Usage: sdiag [-M cluster] [-aritT]\n");
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
  auto client = Client::connect();
  if (!client) return fail(client.error());
  if (!check_clusters(*client, "sdiag", clusters)) return 1;
  rpc::ClientMessage request;
  request.mutable_query_diagnostics()->set_reset(reset);
  auto answer = client->call(std::move(request));
  if (!answer) return fail(answer.error());
  if (reset) {
    write_out("Reset scheduling statistics\n");
  } else if (format) {
    DisplayContext context;
    context.now = answer->diagnostics().now();
    context.cluster_name = fetch_cluster_name(*client);
    DocumentOutput output(*format, origin);
    describe_diagnostics(output.document(), answer->diagnostics());
    output.finish(context);
  } else {
    write_out(sdiag_report(answer->diagnostics(), order));
  }
  return 0;
}

}  // namespace minke::cli
