// sshare: shares and usage. Reads its options, fetches the accounting record of the last weeks, prints.
#include <getopt.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string>
#include <utility>

#include "api/accounting.pb.h"
#include "api/accounts.pb.h"
#include "cli/clusters.h"
#include "cli/commands.h"
#include "cli/document_output.h"
#include "cli/version_line.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "text/list.h"
#include "view/output.h"
#include "view/sshare.h"
#include "view/text.h"

namespace minke::cli {
namespace {

constexpr const char* kFormat = "Account,User,RawShares,NormShares,RawUsage,EffectvUsage,FairShare";
constexpr const char* kPartitionFormat =
    "Account,User,Partition,RawShares,NormShares,RawUsage,EffectvUsage,FairShare";
constexpr const char* kLongFormat =
    "Account,User,RawShares,NormShares,RawUsage,NormUsage,EffectvUsage,FairShare,LevelFS,GrpTRESMins,"
    "TRESRunMins";

constexpr const char* kHelp =
    "Usage:  sshare [OPTION]\n"
    "  Valid OPTIONs are:\n"
    "    -a or --all            list all users\n"
    "    -A or --accounts=      display specific accounts (comma separated list)\n"
    "    -e or --helpformat     Print a list of fields that can be specified\n"
    "                           with the '--format' option\n"
    "          --json, --yaml   the same as JSON or YAML\n"
    "    -l or --long           include normalized usage in output\n"
    "    -m or --partition      print the partition part of the association\n"
    "    -M or --cluster=names  clusters to issue commands to\n"
    "    -n or --noheader       omit header from output\n"
    "    -o or --format=        Comma separated list of fields (use\n"
    "                           \"--helpformat\" for a list of available fields).\n"
    "    -p or --parsable       '|' delimited output with a trailing '|'\n"
    "    -P or --parsable2      '|' delimited output without a trailing '|'\n"
    "    -u or --users=         display specific users (comma separated list)\n"
    "    -U or --Users          display only user information\n"
    "    -v or --verbose        display more information\n"
    "    -V or --version        display tool version number\n"
    "          --help           display this usage description\n"
    "          --usage          display this usage description\n\n";

enum LongOption { kHelpOption = 256 };

constexpr option kLongOptions[] = {{"accounts", required_argument, nullptr, 'A'},
                                   {"all", no_argument, nullptr, 'a'},
                                   {"cluster", required_argument, nullptr, 'M'},
                                   {"clusters", required_argument, nullptr, 'M'},
                                   {"format", required_argument, nullptr, 'o'},
                                   {"help", no_argument, nullptr, kHelpOption},
                                   {"helpformat", no_argument, nullptr, 'e'},
                                   {"json", optional_argument, nullptr, kJsonOption},
                                   {"long", no_argument, nullptr, 'l'},
                                   {"noheader", no_argument, nullptr, 'n'},
                                   {"parsable", no_argument, nullptr, 'p'},
                                   {"parsable2", no_argument, nullptr, 'P'},
                                   {"partition", no_argument, nullptr, 'm'},
                                   {"usage", no_argument, nullptr, kHelpOption},
                                   {"Users", no_argument, nullptr, 'U'},
                                   {"users", required_argument, nullptr, 'u'},
                                   {"verbose", no_argument, nullptr, 'v'},
                                   {"version", no_argument, nullptr, 'V'},
                                   {"yaml", optional_argument, nullptr, kYamlOption},
                                   {nullptr, 0, nullptr, 0}};

struct Arguments {
  std::string format = kFormat;
  bool format_given = false;
  view::PrintLayout layout = view::PrintLayout::kFixed;
  std::vector<std::string> accounts, users;
  bool users_only = false;
  bool all = false;
  bool no_header = false;
  bool verbose = false;
  std::optional<std::string> clusters = clusters_from_environment();
  std::optional<view::DocumentFormat> document;
};

std::optional<int> read_arguments(int argc, char** argv, Arguments& arguments) {
  const auto default_format = [&](const char* format) {
    if (!arguments.format_given) arguments.format = format;
  };
  optind = 0;
  int letter;
  while ((letter = getopt_long(argc, argv, "aA:ehlM:mno:pPqu:UvV", kLongOptions, nullptr)) != -1) {
    switch (letter) {
      case 'a':
        arguments.all = true;
        break;
      case 'v':
        arguments.verbose = true;
        break;
      case 'A':
        arguments.accounts = text::split_list(optarg);
        break;
      case 'e':
        view::write_out(view::share_help_format());
        return 0;
      case 'l':
        default_format(kLongFormat);
        break;
      case 'm':
        default_format(kPartitionFormat);
        break;
      case 'M':
        arguments.clusters = optarg;
        break;
      case 'h':
      case 'n':
        arguments.no_header = true;
        break;
      case 'o':
        arguments.format = optarg;
        arguments.format_given = true;
        break;
      case 'p':
        arguments.layout = view::PrintLayout::kParsable;
        break;
      case 'P':
        arguments.layout = view::PrintLayout::kParsable2;
        break;
      case 'u':
        arguments.users = text::split_list(optarg);
        break;
      case 'U':
        arguments.users_only = true;
        break;
      case 'V':
        view::write_out(kVersionLine);
        return 0;
      case kHelpOption:
        view::write_out(kHelp);
        return 0;
      case kJsonOption:
      case kYamlOption:
        if (auto ended = read_document_option("sshare", letter, optarg, arguments.document)) return ended;
        break;
      default:
        std::fputs("Try \"sshare --help\" for more information\n", stderr);
        return 1;
    }
  }
  return std::nullopt;
}

// What was asked for, as Slurm's tells it.
void tell_requested(const char* what, const std::vector<std::string>& names) {
  std::fprintf(stderr, "%s requested:\n", what);
  if (names.empty()) std::fputs("\t: all\n", stderr);
  for (const std::string& name : names) std::fprintf(stderr, "\t: %s\n", name.c_str());
}

bool listed(const std::vector<std::string>& wanted, const std::string& name) {
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end();
}

}  // namespace

int sshare_main(int argc, char** argv) {
  const view::DocumentOrigin origin = view::document_origin(argc, argv);
  Arguments arguments;
  if (auto status = read_arguments(argc, argv, arguments)) return *status;
  if (arguments.verbose) {
    const bool own = arguments.users.empty() && !arguments.all;
    tell_requested("Users", own ? std::vector{view::user_name_of(getuid())} : arguments.users);
    tell_requested("Accounts", arguments.accounts);
  }
  auto columns = view::parse_print_format(view::share_fields(), arguments.format);
  if (!columns) return view::print_error("sshare", columns.error().message), 1;
  auto cluster = engine::open();
  if (!cluster) return view::print_error("sshare", cluster.error().message), 1;
  if (!check_clusters(**cluster, "sshare", arguments.clusters)) return 1;

  api::QueryAccountsRequest asked;
  asked.set_with_usage(true);
  const auto tree = (*cluster)->accounts(asked);
  if (!tree) return view::print_error("sshare", tree.error().message), 1;
  // root alone: nobody keeps accounts here.
  const bool kept = tree->accounts_size() > 1;
  api::QueryAccountingRequest query;
  query.mutable_filter()->set_all_states(true);
  query.set_from(std::time(nullptr) - view::kUsageMemory);
  query.set_duplicates(true);
  view::ShareUsage usage;
  const int64_t asked_at = std::time(nullptr);
  const auto now = kept ? Result<int64_t>(tree->now())
                        : engine::for_each_accounted(**cluster, query, [&](const api::AccountedJob& job) {
                            usage.add(job.job(), asked_at);
                          });
  if (!now) return view::print_error("sshare", now.error().message), 1;
  view::DisplayContext context;
  context.now = *now;
  context.cluster_name = engine::fetch_cluster_name(**cluster);
  const std::string user = view::user_name_of(getuid());
  std::vector<view::ShareLine> lines;
  std::deque<view::ShareUsage> usages;
  if (kept) {
    view::ShareWanted wanted{arguments.accounts, arguments.users, arguments.users_only};
    // As Slurm: the own lines, unless others are asked for.
    if (wanted.users.empty() && wanted.accounts.empty() && !arguments.all) wanted.users = {user};
    lines = view::share_tree_lines(*tree, wanted, usages);
  } else if (listed(arguments.accounts, "root"))
    lines =
        view::share_lines(listed(arguments.users, user) ? user : std::string(), usage, arguments.users_only);
  if (arguments.document) {
    DocumentOutput output(*arguments.document, origin);
    view::Document& document = output.document();
    document.begin_object("shares");
    document.begin_array("shares");
    for (const view::ShareLine& line : lines) view::describe_share(document, line, context);
    document.end();
    document.integer("total_shares", 1);
    document.end();
    output.finish(context);
    return 0;
  }
  std::string out;
  if (!arguments.no_header) {
    out += cluster_line(**cluster, arguments.clusters);
    append_print_header<view::ShareField>(*columns, arguments.layout, "|", out);
  }
  for (const view::ShareLine& line : lines)
    append_print_line<view::ShareField>(*columns, arguments.layout, "|", line, context, out);
  view::write_out(out);
  return 0;
}

}  // namespace minke::cli
