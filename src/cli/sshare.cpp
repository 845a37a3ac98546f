// sshare: shows shares and usage. Reads its options, fetches the accounting record of the last weeks, prints.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "api/accounting.pb.h"
#include "api/accounts.pb.h"
#include "cli/clusters.h"
#include "cli/commands.h"
#include "cli/described_commands.h"
#include "cli/document_output.h"
#include "cli/read_command.h"
#include "cli/stored_names.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "options/values.h"
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

using options::Given;
using enum options::ArgumentKind;
using Ended = std::optional<int>;

struct Arguments {
  std::string format = kFormat;
  bool format_given = false;
  view::PrintLayout layout = view::PrintLayout::kFixed;
  std::vector<std::string> accounts, users;
  bool users_only = false;
  bool all = false;
  bool no_header = false;
  bool verbose = false;
  std::optional<std::string> clusters;
  std::optional<view::DocumentFormat> document;
};

// -l and -m: other fields, unless -o names some.
template <const char* const& kFields>
Ended default_format(Arguments& arguments, const Given&) {
  if (!arguments.format_given) arguments.format = kFields;
  return std::nullopt;
}

Ended format(Arguments& arguments, const Given& given) {
  arguments.format = given.text();
  arguments.format_given = true;
  return std::nullopt;
}

// A letter that Slurm's command accepts and ignores.
Ended no_quiet(Arguments&, const Given&) {
  std::fputs("Try \"sshare --help\" for more information\n", stderr);
  return 1;
}

Ended help_format(Arguments&, const Given&) {
  view::write_out(view::share_help_format());
  return 0;
}

// Columns: see options::Option.
constexpr options::Row<Arguments> kRows[] = {
    {{"accounts", 'A', kRequired, "accounts", "display specific accounts (comma separated list)",
      options::kAccountNames},
     options::list<&Arguments::accounts>},
    {{"all", 'a', kNone, "", "list all users"}, options::flag<&Arguments::all>},
    {{"cluster", '\0', kRequired}, clusters<&Arguments::clusters>},
    {{"clusters", 'M', kRequired, "names", "clusters to issue commands to", "", "SLURM_CLUSTERS"},
     clusters<&Arguments::clusters>},
    {{"format", 'o', kRequired, "fields", "comma separated list of fields (--helpformat lists them)"},
     format},
    {{"help", '\0', kNone, "", "display this usage description"}, show_help<Arguments>},
    {{"helpformat", 'e', kNone, "", "the fields of --format"}, help_format},
    {{"json", '\0', kOptional, "data_parser", "the same as JSON"}, document<&Arguments::document>},
    {{"long", 'l', kNone, "", "include normalized usage in output"}, default_format<kLongFormat>},
    {{"noheader", 'n', kNone, "", "omit header from output"}, options::flag<&Arguments::no_header>},
    {{"", 'h', kNone}, options::flag<&Arguments::no_header>},
    {{"", 'q', kNone}, no_quiet},
    {{"parsable", 'p', kNone, "", "'|' delimited output with a trailing '|'"},
     options::set_to<view::PrintLayout::kParsable, &Arguments::layout>},
    {{"parsable2", 'P', kNone, "", "'|' delimited output without a trailing '|'"},
     options::set_to<view::PrintLayout::kParsable2, &Arguments::layout>},
    {{"partition", 'm', kNone, "", "print the partition part of the association"},
     default_format<kPartitionFormat>},
    {{"usage", '\0', kNone, "", "display this usage description"}, show_help<Arguments>},
    {{"Users", 'U', kNone, "", "display only user information"}, options::flag<&Arguments::users_only>},
    {{"users", 'u', kRequired, "users", "display specific users (comma separated list)", options::kUserNames},
     options::list<&Arguments::users>},
    {{"verbose", 'v', kNone, "", "display more information"}, options::flag<&Arguments::verbose>},
    {{"version", 'V', kNone, "", "display tool version number"}, show_version<Arguments>},
    {{"yaml", '\0', kOptional, "data_parser", "the same as YAML"}, document<&Arguments::document>},
};

const options::Table<Arguments>& table() {
  static const auto* const kTable = new options::Table<Arguments>(
      {.name = "sshare", .purpose = "shares of the cluster, and their use"}, kRows);
  return *kTable;
}

// Prints what was asked for, as Slurm does.
void tell_requested(const char* what, const std::vector<std::string>& names) {
  std::fprintf(stderr, "%s requested:\n", what);
  if (names.empty()) std::fputs("\t: all\n", stderr);
  for (const std::string& name : names) std::fprintf(stderr, "\t: %s\n", name.c_str());
}

bool listed(const std::vector<std::string>& wanted, const std::string& name) {
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end();
}

void tell_requested(const Arguments& arguments) {
  const bool own = arguments.users.empty() && !arguments.all;
  tell_requested("Users", own ? std::vector{view::user_name_of(getuid())} : arguments.users);
  tell_requested("Accounts", arguments.accounts);
}

// The shares to show, and the data that the lines point into.
struct Shares {
  std::vector<view::ShareLine> lines;
  std::deque<view::ShareUsage> usages;
  int64_t now = 0;
};

// If nobody keeps accounts: root's and one's own, by the record of the last weeks.
Status add_unkept(engine::Engine& cluster, const Arguments& arguments, const std::string& user,
                  Shares& shares) {
  api::QueryAccountingRequest query;
  query.mutable_filter()->set_all_states(true);
  query.set_from(std::time(nullptr) - view::kUsageMemory);
  query.set_duplicates(true);
  view::ShareUsage& usage = shares.usages.emplace_back();
  const int64_t asked_at = std::time(nullptr);
  const auto now = engine::for_each_accounted(
      cluster, query, [&](const api::AccountedJob& job) { usage.add(job.job(), asked_at); });
  if (!now) return failure(now.error());
  shares.now = *now;
  if (listed(arguments.accounts, "root"))
    shares.lines =
        view::share_lines(listed(arguments.users, user) ? user : std::string(), usage, arguments.users_only);
  return {};
}

Status find_shares(engine::Engine& cluster, const Arguments& arguments, Shares& shares) {
  api::QueryAccountsRequest asked;
  asked.set_with_usage(true);
  const auto tree = cluster.accounts(asked);
  if (!tree) return failure(tree.error());
  const std::string user = view::user_name_of(getuid());
  if (tree->accounts_size() <= 1) return add_unkept(cluster, arguments, user, shares);  // root alone
  view::ShareWanted wanted{with_stored_names(arguments.accounts), arguments.users, arguments.users_only};
  // As in Slurm: one's own lines, unless others are asked for.
  if (wanted.users.empty() && wanted.accounts.empty() && !arguments.all) wanted.users = {user};
  shares.lines = view::share_tree_lines(*tree, wanted, shares.usages);
  shares.now = tree->now();
  return {};
}

void describe(const Shares& shares, view::DocumentFormat format, const view::DocumentOrigin& origin,
              const view::DisplayContext& context) {
  DocumentOutput output(format, origin, view::answer::kShares);
  view::Document& document = output.document();
  document.begin_object("shares");
  document.begin_array("shares");
  for (const view::ShareLine& line : shares.lines) view::describe_share(document, line, context);
  document.end();
  document.integer("total_shares", 1);
  document.end();
  output.finish(context);
}

int fail(const Error& error) {
  view::print_error("sshare", error.message);
  return 1;
}

}  // namespace

const options::Command& sshare_command() {
  return table().command;
}

int sshare_main(int argc, char** argv) {
  const view::DocumentOrigin origin = view::document_origin(argc, argv);
  Arguments arguments;
  if (const Ended ended = read_command(table(), argc, argv, arguments).status) return *ended;
  if (arguments.verbose) tell_requested(arguments);
  auto columns = view::parse_print_format(view::share_fields(), arguments.format);
  if (!columns) return fail(columns.error());
  auto cluster = engine::open();
  if (!cluster) return fail(cluster.error());
  if (!check_clusters(**cluster, "sshare", arguments.clusters)) return 1;
  Shares shares;
  if (const Status found = find_shares(**cluster, arguments, shares); !found) return fail(found.error());
  view::DisplayContext context;
  context.now = shares.now;
  context.cluster_name = engine::fetch_cluster_name(**cluster);
  if (arguments.document) return describe(shares, *arguments.document, origin, context), 0;
  std::string out;
  if (!arguments.no_header) {
    out += cluster_line(**cluster, arguments.clusters);
    append_print_header<view::ShareField>(*columns, arguments.layout, "|", out);
  }
  for (const view::ShareLine& line : shares.lines)
    append_print_line<view::ShareField>(*columns, arguments.layout, "|", line, context, out);
  view::write_out(out);
  return 0;
}

}  // namespace minke::cli
