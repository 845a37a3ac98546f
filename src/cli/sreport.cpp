// sreport: reports on usage. One report from the command line, or many commands from stdin.
#include <cstdio>
#include <ctime>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/accounting.pb.h"
#include "cli/commands.h"
#include "cli/described_commands.h"
#include "cli/read_command.h"
#include "engine/engine.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "model/cluster.pb.h"
#include "model/job_terms.pb.h"
#include "text/gres_count.h"
#include "view/output.h"
#include "view/reservation_text.h"
#include "view/sreport.h"

namespace minke::cli {
namespace {

using options::Given;
using enum options::ArgumentKind;
using Ended = std::optional<int>;

constexpr std::string_view kCommands =
    "  <COMMAND> may be omitted: then sreport reads commands from its input, until \"exit\".\n"
    "\n"
    "    Valid <COMMAND> values are:\n"
    "     cluster AccountUtilizationByUser | UserUtilizationByAccount | UserUtilizationByWckey |\n"
    "             Utilization | WCKeyUtilizationByUser\n"
    "     job SizesByAccount | SizesByWckey\n"
    "     reservation Utilization\n"
    "     user TopUsage\n"
    "     exit | help | noheader | parsable | parsable2 | nonparsable | quiet | time <time_format> | verbose "
    "| "
    "version\n"
    "\n"
    "    and after each report: Start=<time> End=<time> Format=<fields> Accounts=<list> Users=<list>\n"
    "     Wckeys=<list> Partitions=<list> Nodes=<list> Gid=<list> Jobs=<list> Grouping=<sizes> "
    "PrintJobCount\n"
    "     TopCount=<number> Group\n"
    "  The window is yesterday unless Start and End say otherwise. All words may be shortened, in any "
    "case.\n";

int fail(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  return 1;
}

bool is_word(const std::string& word, std::string_view full, size_t least) {
  return word.size() >= least && text::starts_with_ignoring_case(full, word);
}

Result<view::ClusterSize> cluster_size(engine::Engine& cluster) {
  auto nodes = engine::fetch_nodes(cluster);
  if (!nodes) return failure(nodes.error());
  view::ClusterSize size;
  size.name = engine::fetch_cluster_name(cluster);
  for (const model::NodeRecord* node : nodes->records) {
    size.cpus += node->cpus();
    size.memory_mib += static_cast<double>(node->memory_mib());
    size.nodes += 1;
    size.gpus += static_cast<double>(text::gpus_in(node->gres()));
  }
  return size;
}

// Those that there are: of earlier ones no record is kept.
Status add_reservations(engine::Engine& cluster, view::Tally& tally) {
  const auto nodes = engine::fetch_nodes(cluster);
  if (!nodes) return failure(nodes.error());
  const auto answer = cluster.reservations();
  if (!answer) return failure(answer.error());
  for (const model::ReservationRecord& one : answer->reservations())
    tally.add(one, view::reservation_cpus(one, nodes->records));
  return {};
}

int print_report(engine::Engine& cluster, const std::vector<std::string>& words,
                 view::ReportOptions options) {
  const int64_t now = std::time(nullptr);
  const std::string group = text::lower_case(words.front());
  if (words.size() < 2) return fail("too few arguments for keyword:" + words.front());
  auto report = view::find_report(group, words[1]);
  if (!report) return fail(report.error().message);
  options.report = *report;
  view::set_default_window(now, options);
  for (size_t i = 2; i < words.size(); ++i)
    if (const Status read = view::read_report_option(words[i], now, options); !read)
      return fail(read.error().message);
  if (options.start >= options.end) options.end = options.start + 3600;  // as in Slurm: an hour

  api::QueryAccountingRequest query;
  query.mutable_filter()->set_all_states(true);
  query.set_from(options.start);
  query.set_until(options.end);
  query.set_duplicates(true);
  view::Tally tally(options, now);
  if (options.report == view::Report::kReservationUtilization) {
    if (const Status added = add_reservations(cluster, tally); !added)
      return fail("sreport: error: " + added.error().message);
  }
  const auto taken =
      engine::for_each_accounted(cluster, query, [&](const api::AccountedJob& job) { tally.add(job.job()); });
  if (!taken) return fail("sreport: error: " + taken.error().message);
  auto size = cluster_size(cluster);
  if (!size) return fail("sreport: error: " + size.error().message);
  auto text = tally.print(*size);
  if (!text) return fail(text.error().message);
  view::write_out(*text);
  return 0;
}

struct Session {
  engine::Engine& cluster;
  view::ReportOptions options;
  bool ended = false;
};

using Words = std::vector<std::string>;
const options::Table<view::ReportOptions>& table();

int end_session(Session& session, const Words&) {
  session.ended = true;
  return 0;
}

int tell_help(Session&, const Words&) {
  view::write_out(options::help_text(table().command));
  return 0;
}

int tell_version(Session&, const Words&) {
  return *show_version();
}

int leave_out_header(Session& session, const Words&) {
  session.options.no_header = true;
  return 0;
}

template <view::PrintLayout kLayout>
int set_layout(Session& session, const Words&) {
  session.options.layout = kLayout;
  return 0;
}

Ended set_unit(view::ReportOptions& options, const std::string& name) {
  auto unit = view::find_unit(name);
  if (!unit) return fail(unit.error().message);
  options.unit = *unit;
  return std::nullopt;
}

int time_format(Session& session, const Words& words) {
  if (words.size() < 2) return fail("invalid keyword: " + words.front());
  return set_unit(session.options, words[1]).value_or(0);
}

template <const std::string_view& kGroup>
int report(Session& session, const Words& words) {
  Words full = words;
  full.front() = kGroup;
  return print_report(session.cluster, full, session.options);
}

int do_nothing(Session&, const Words&) {
  return 0;
}

constexpr std::string_view kCluster = "cluster", kJob = "job", kReservation = "reservation", kUser = "user";

// Finds the first one that the word abbreviates, with at least `shortest` letters.
struct Verb {
  std::string_view name;
  size_t shortest;
  int (*run)(Session&, const Words&);
};
constexpr Verb kVerbs[] = {{"exit", 1, end_session},
                           {"quit", 4, end_session},
                           {"help", 2, tell_help},
                           {"?", 1, tell_help},
                           {"noheader", 3, leave_out_header},
                           {"nonparsable", 4, set_layout<view::PrintLayout::kFixed>},
                           {"parsable2", 9, set_layout<view::PrintLayout::kParsable2>},
                           {"parsable", 2, set_layout<view::PrintLayout::kParsable>},
                           {"time", 1, time_format},
                           {"version", 4, tell_version},
                           {kCluster, 1, report<kCluster>},
                           {kJob, 1, report<kJob>},
                           {kReservation, 1, report<kReservation>},
                           {kUser, 1, report<kUser>},
                           {"quiet", 4, do_nothing},
                           {"verbose", 4, do_nothing}};

int run(Session& session, const Words& words) {
  for (const Verb& verb : kVerbs)
    if (is_word(words.front(), verb.name, verb.shortest)) return verb.run(session, words);
  return fail("invalid keyword: " + words.front());
}

// Splits words at blanks; quotes keep blanks together.
std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  std::string word;
  char quote = '\0';
  for (char c : line + "\n") {
    if (quote != '\0') {
      if (c == quote) quote = '\0';
      if (quote != '\0') word += c;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      if (!word.empty()) words.push_back(std::exchange(word, {}));
    } else {
      word += c;
    }
  }
  return words;
}

Ended unit(view::ReportOptions& options, const Given& given) {
  return set_unit(options, given.text());
}

Ended tres(view::ReportOptions& options, const Given& given) {
  auto tres = view::find_tres(given.text());
  if (!tres) return fail("sreport: fatal: " + tres.error().message);
  options.tres = std::move(*tres);
  return std::nullopt;
}

constexpr auto kIgnored = &options::ignored<view::ReportOptions>;

// Columns: see options::Option.
constexpr options::Row<view::ReportOptions> kRows[] = {
    {{"all_clusters", 'a', kNone, "", "use all clusters; there is one"}, kIgnored},
    {{"cluster", 'M', kRequired, "name", "the cluster; there is one"}, kIgnored},
    {{"federation", '\0', kNone}, kIgnored},
    {{"help", 'h', kNone, "", "equivalent to \"help\" command"}, show_help<view::ReportOptions>},
    {{"local", '\0', kNone}, kIgnored},
    {{"noheader", 'n', kNone, "", "equivalent to \"noheader\" command"},
     options::flag<&view::ReportOptions::no_header>},
    {{"parsable", 'p', kNone, "", "output will be '|' delimited with a '|' at the end"},
     options::set_to<view::PrintLayout::kParsable, &view::ReportOptions::layout>},
    {{"parsable2", 'P', kNone, "", "output will be '|' delimited without a '|' at the end"},
     options::set_to<view::PrintLayout::kParsable2, &view::ReportOptions::layout>},
    {{"quiet", 'Q', kNone, "", "equivalent to \"quiet\" command"}, kIgnored},
    {{"", 't', kRequired, "time_format", "Second, Minute, Hour, Percent, SecPer, MinPer, HourPer",
      "Second Minute Hour Percent SecPer MinPer HourPer"},
     unit},
    {{"tres", 'T', kRequired, "list", "comma separated list of TRES, or 'ALL' for all TRES"}, tres},
    {{"usage", '\0', kNone, "", "the same as --help"}, show_help<view::ReportOptions>},
    {{"verbose", 'v', kNone, "", "equivalent to \"verbose\" command"}, kIgnored},
    {{"version", 'V', kNone, "", "equivalent to \"version\" command"}, show_version<view::ReportOptions>},
};

const options::Table<view::ReportOptions>& table() {
  static const auto* const kTable =
      new options::Table<view::ReportOptions>({.name = "sreport",
                                               .purpose = "reports on what was used",
                                               .operands = "[<COMMAND>]",
                                               .operand_values = "cluster job reservation user",
                                               .commands = kCommands},
                                              kRows);
  return *kTable;
}

}  // namespace

const options::Command& sreport_command() {
  return table().command;
}

int sreport_main(int argc, char** argv) {
  view::ReportOptions options;
  const CommandRead read = read_command(table(), argc, argv, options);
  if (read.status) return *read.status;
  auto cluster = engine::open();
  if (!cluster) return fail("sreport: error: " + cluster.error().message);
  Session session{**cluster, std::move(options)};
  if (!read.operands.empty()) return run(session, read.operands);
  int status = 0;
  std::string line;
  while (!session.ended && std::getline(std::cin, line)) {
    const std::vector<std::string> words = words_of(line);
    if (!words.empty()) status = run(session, words);
  }
  return status;
}

}  // namespace minke::cli
