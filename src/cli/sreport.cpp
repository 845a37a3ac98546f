// sreport: reports on what was used. One report from the command line, or many commands from stdin.
#include <getopt.h>

#include <cstdio>
#include <ctime>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "api/accounting.pb.h"
#include "cli/commands.h"
#include "cli/version_line.h"
#include "engine/engine.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "model/cluster.pb.h"
#include "model/job_terms.pb.h"
#include "view/output.h"
#include "view/sreport.h"

namespace minke::cli {
namespace {

constexpr const char* kHelp =
    "sreport [<OPTION>] [<COMMAND>]\n"
    "    Valid <OPTION> values are:\n"
    "     -a or --all_clusters: Use all clusters; there is one\n"
    "     -h or --help: equivalent to \"help\" command\n"
    "     -n or --noheader: equivalent to \"noheader\" command\n"
    "     -p or --parsable: output will be '|' delimited with a '|' at the end\n"
    "     -P or --parsable2: output will be '|' delimited without a '|' at the end\n"
    "     -Q or --quiet: equivalent to \"quiet\" command\n"
    "     -t <time_format>: Second, Minute, Hour, Percent, SecPer, MinPer, HourPer\n"
    "     -T or --tres: comma separated list of TRES, or 'ALL' for all TRES\n"
    "     -v or --verbose: equivalent to \"verbose\" command\n"
    "     -V or --version: equivalent to \"version\" command\n"
    "\n"
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

constexpr option kLongOptions[] = {
    {"all_clusters", no_argument, nullptr, 'a'}, {"cluster", required_argument, nullptr, 'M'},
    {"federation", no_argument, nullptr, 'F'},   {"help", no_argument, nullptr, 'h'},
    {"local", no_argument, nullptr, 'F'},        {"noheader", no_argument, nullptr, 'n'},
    {"parsable", no_argument, nullptr, 'p'},     {"parsable2", no_argument, nullptr, 'P'},
    {"quiet", no_argument, nullptr, 'Q'},        {"tres", required_argument, nullptr, 'T'},
    {"usage", no_argument, nullptr, 'h'},        {"verbose", no_argument, nullptr, 'v'},
    {"version", no_argument, nullptr, 'V'},      {nullptr, 0, nullptr, 0}};

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
    for (const model::Gres& gres : node->gres())
      if (gres.name() == "gpu") size.gpus += gres.count();
  }
  return size;
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
  if (options.start >= options.end) return fail(" Start time is not before the end time");

  api::QueryAccountingRequest query;
  query.mutable_filter()->set_all_states(true);
  query.set_from(options.start);
  query.set_until(options.end);
  query.set_duplicates(true);
  view::Tally tally(options, now);
  if (options.report != view::Report::kReservationUtilization) {
    const auto taken = engine::for_each_accounted(
        cluster, query, [&](const api::AccountedJob& job) { tally.add(job.job()); });
    if (!taken) return fail("sreport: error: " + taken.error().message);
  }
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

int run(Session& session, const std::vector<std::string>& words) {
  const std::string& word = words.front();
  view::ReportOptions& options = session.options;
  if (is_word(word, "exit", 1) || is_word(word, "quit", 4)) {
    session.ended = true;
  } else if (is_word(word, "help", 2) || word == "?") {
    view::write_out(kHelp);
  } else if (is_word(word, "noheader", 3)) {
    options.no_header = true;
  } else if (is_word(word, "nonparsable", 4)) {
    options.layout = view::PrintLayout::kFixed;
  } else if (is_word(word, "parsable2", 9)) {
    options.layout = view::PrintLayout::kParsable2;
  } else if (is_word(word, "parsable", 2)) {
    options.layout = view::PrintLayout::kParsable;
  } else if (is_word(word, "time", 1) && words.size() > 1) {
    auto unit = view::find_unit(words[1]);
    if (!unit) return fail(unit.error().message);
    options.unit = *unit;
  } else if (is_word(word, "version", 4)) {
    view::write_out(kVersionLine);
  } else if (is_word(word, "cluster", 1) || is_word(word, "job", 1) || is_word(word, "reservation", 1) ||
             is_word(word, "user", 1)) {
    std::vector<std::string> full = words;
    for (const char* group : {"cluster", "job", "reservation", "user"})
      if (is_word(word, group, 1)) full.front() = group;
    return print_report(session.cluster, full, options);
  } else if (!is_word(word, "quiet", 4) && !is_word(word, "verbose", 4)) {
    return fail("invalid keyword: " + word);
  }
  return 0;
}

// Words apart at blanks; quotes hold together what has blanks in it.
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

}  // namespace

int sreport_main(int argc, char** argv) {
  view::ReportOptions options;
  optind = 0;
  int letter;
  while ((letter = getopt_long(argc, argv, "ahM:npPQt:T:vV", kLongOptions, nullptr)) != -1) {
    switch (letter) {
      case 'a':
      case 'F':
      case 'M':
      case 'Q':
      case 'v':
        break;
      case 'h':
        view::write_out(kHelp);
        return 0;
      case 'n':
        options.no_header = true;
        break;
      case 'p':
        options.layout = view::PrintLayout::kParsable;
        break;
      case 'P':
        options.layout = view::PrintLayout::kParsable2;
        break;
      case 't': {
        auto unit = view::find_unit(optarg);
        if (!unit) return fail(unit.error().message);
        options.unit = *unit;
        break;
      }
      case 'T': {
        auto tres = view::find_tres(optarg);
        if (!tres) return fail("sreport: fatal: " + tres.error().message);
        options.tres = std::move(*tres);
        break;
      }
      case 'V':
        view::write_out(kVersionLine);
        return 0;
      default:
        std::fputs("Try \"sreport --help\" for more information\n", stderr);
        return 1;
    }
  }
  auto cluster = engine::open();
  if (!cluster) return fail("sreport: error: " + cluster.error().message);
  Session session{**cluster, std::move(options)};
  if (optind < argc) return run(session, {argv + optind, argv + argc});
  int status = 0;
  std::string line;
  while (!session.ended && std::getline(std::cin, line)) {
    const std::vector<std::string> words = words_of(line);
    if (!words.empty()) status = run(session, words);
  }
  return status;
}

}  // namespace minke::cli
