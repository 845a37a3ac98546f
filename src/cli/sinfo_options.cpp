// The command line and the environment of sinfo.
#include "cli/sinfo_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/version.h"
#include "cli/clusters.h"
#include "cli/described_commands.h"
#include "cli/document_output.h"
#include "cli/read_command.h"
#include "options/values.h"
#include "text/hostlist.h"
#include "text/list.h"
#include "text/number.h"
#include "view/output.h"
#include "view/print_fields.h"

namespace minke::cli {
namespace {

using options::Given;
using enum options::ArgumentKind;
using Ended = std::optional<int>;

struct Arguments : view::SinfoOptions {
  bool all_given = false, partition_given = false;  // by options: they override those of variables
  bool format_given = false;                        // not by a variable
};

// The states that --states takes, as each release lists them.
std::string_view state_names() {
  if (spoken_release() < kSlurm24) {
    return "unknown,down,idle,allocated,mixed,future,drain,drained,draining,no_respond,reserved,perfctrs,"
           "cloud,"
           "completing,powering_down,powered_down,power_down,powering_up,fail,maint,reboot";
  }
  if (spoken_release() < kSlurm26) {
    return "unknown,down,idle,allocated,?,mixed,future,drain,drained,draining,no_respond,reserved,planned,"
           "blocked,"
           "cloud,completing,powering_down,powered_down,power_down,powering_up,fail,maint,reboot,reboot^";
  }
  return "unknown,down,idle,allocated,mixed,future,drain,drained,draining,no_respond,reserved,planned,"
         "blocked,cloud,"
         "completing,powering_down,powered_down,power_down,powering_up,power_up,inval,fail,maint,reboot,"
         "reboot^,"
         "external,dynamic_future,dynamic_norm";
}
constexpr std::string_view kUsage =
    "Usage: sinfo [-abdelNRrsTv] [-i seconds] [-t states] [-p partition] [-n nodes]\n"
    "             [-S fields] [-o format] [-O Format] [--federation] [--local]\n";

int wrong(const std::string& message) {
  view::print_error("sinfo", message);
  return 1;
}

int conflict(std::string_view all, std::string_view partition) {
  return wrong(fmt::format("Conflicting options, {} and {}, specified. Please choose one or the other.", all,
                           partition));
}

Ended all(Arguments& asked, const Given& given) {
  asked.all = true;
  asked.all_given = asked.all_given || !given.from_environment;
  return std::nullopt;
}

Ended partitions(Arguments& asked, const Given& given) {
  if (given.from_environment && asked.all) return conflict("SINFO_ALL", "SINFO_PARTITION");
  asked.partition_given = asked.partition_given || !given.from_environment;
  asked.partitions = text::split_list(given.text());
  return std::nullopt;
}

Ended states(Arguments& asked, const Given& given) {
  auto states = view::parse_node_states(given.text());
  if (!states) {
    wrong(states.error().message);
    return wrong("valid states: " + std::string(state_names()));
  }
  asked.states = std::move(*states);
  return std::nullopt;
}

Ended iterate(Arguments& asked, const Given& given) {
  auto seconds = text::parse_unsigned(given.text(), 1000000);
  if (!seconds || *seconds == 0) return wrong("invalid entry for --iterate=" + given.text());
  asked.iterate_seconds = static_cast<unsigned>(*seconds);
  return std::nullopt;
}

Ended nodes(Arguments& asked, const Given& given) {
  auto hosts = text::expand_hostlist(given.text());
  if (!hosts) return wrong("'" + given.text() + "' invalid entry for --nodes");
  asked.nodes = std::move(*hosts);
  asked.filter_nodes = true;
  return std::nullopt;
}

// -o and -O: the later one counts.
template <auto kMember, auto kOther>
Ended format(Arguments& asked, const Given& given) {
  asked.*kMember = given.text();
  asked.format_given = asked.format_given || !given.from_environment;
  (asked.*kOther).reset();
  return std::nullopt;
}

Ended help_state(Arguments&, const Given&) {
  std::string out(state_names());
  std::replace(out.begin(), out.end(), ',', '\n');
  view::write_out(out + "\n");
  return 0;
}

Ended help_format(Arguments&, const Given&) {
  std::vector<std::string_view> names;
  for (const auto& field : view::node_fields()) names.push_back(field.name);
  view::write_out(view::print_help_format(names, 19));
  return 0;
}

constexpr auto kIgnored = &options::ignored<Arguments>;

// Columns: see options::Option.
constexpr options::Row<Arguments> kRows[] = {
    {{"all", 'a', kNone, "", "also hidden partitions", "", "SINFO_ALL"}, all},
    {{"cluster", '\0', kRequired}, clusters<&Arguments::clusters>},
    {{"clusters", 'M', kRequired, "names", "of these clusters; there is one", "", "SLURM_CLUSTERS"},
     clusters<&Arguments::clusters>},
    {{"dead", 'd', kNone, "", "only nodes that do not respond"}, options::flag<&Arguments::dead>},
    {{"exact", 'e', kNone, "", "group nodes only on exact match of configuration"},
     options::flag<&Arguments::exact>},
    {{"federation", '\0', kNone}, kIgnored},
    {{"future", 'F', kNone}, options::ignored<Arguments, 1>},
    {{"help", '\0', kNone, "", "show this help message"}, show_help<Arguments>},
    {{"helpFormat", '\0', kNone}, help_format},
    {{"helpformat", '\0', kNone, "", "the names that -O knows"}, help_format},
    {{"helpstate", '\0', kNone, "", "the states of --states"}, help_state},
    {{"hide", '\0', kNone, "", "no hidden partitions"}, kIgnored},
    {{"iterate", 'i', kRequired, "seconds", "again every so many seconds"}, iterate},
    {{"json", '\0', kOptional, "data_parser", "all that is known of them, as JSON"},
     document<&Arguments::document>},
    {{"local", '\0', kNone}, kIgnored},
    {{"long", 'l', kNone, "", "long output"}, options::flag<&Arguments::long_list>},
    {{"Node", 'N', kNone, "", "a line for each node"}, options::flag<&Arguments::node_oriented>},
    {{"noconvert", '\0', kNone, "", "sizes as they are (they always are here)"}, kIgnored},
    {{"nodes", 'n', kRequired, "hostlist", "these nodes", options::kNodeNames}, nodes},
    {{"noheader", 'h', kNone, "", "no headers on output"}, options::flag<&Arguments::no_header>},
    {{"Format", 'O', kRequired, "format", "what to print: name[:[.]width],..."},
     format<&Arguments::long_format, &Arguments::format>},
    {{"format", 'o', kRequired, "format", "what to print: %[[.]width]letter", "", "SINFO_FORMAT"},
     format<&Arguments::format, &Arguments::long_format>},
    {{"partition", 'p', kRequired, "partition", "these partitions", options::kPartitionNames,
      "SINFO_PARTITION"},
     partitions},
    {{"responding", 'r', kNone, "", "only nodes that respond"}, options::flag<&Arguments::responding>},
    {{"list-reasons", 'R', kNone, "", "why nodes are down or drained"},
     options::flag<&Arguments::list_reasons>},
    {{"reservation", 'T', kNone, "", "reservations"}, options::flag<&Arguments::reservations>},
    {{"summarize", 's', kNone, "", "a line for each partition"}, options::flag<&Arguments::summarize>},
    {{"sort", 'S', kRequired, "fields", "comma separated list of fields to sort on", "", "SINFO_SORT"},
     options::keep<&Arguments::sort>},
    {{"states", 't', kRequired, "states", "nodes in these states", options::kNodeStates}, states},
    {{"usage", '\0', kNone, "", "display brief usage message"}, show_usage<Arguments>},
    {{"verbose", 'v', kNone, "", "say what was asked for"}, options::flag<&Arguments::verbose>},
    {{"version", 'V', kNone, "", "version and exit"}, show_version<Arguments>},
    {{"yaml", '\0', kOptional, "data_parser", "all that is known of them, as YAML"},
     document<&Arguments::document>},
};

const options::Table<Arguments>& table() {
  static const auto* const kTable = new options::Table<Arguments>(
      {.name = "sinfo", .purpose = "the partitions and nodes", .usage = kUsage}, kRows);
  return *kTable;
}

}  // namespace

const options::Command& sinfo_command() {
  return table().command;
}

std::optional<int> read_sinfo_arguments(int argc, char** argv, view::SinfoOptions& asked) {
  Arguments arguments;
  if (const Ended status = read_command(table(), argc, argv, arguments).status) return status;
  if (arguments.all_given && arguments.partition_given) return conflict("-a", "-p");
  if (arguments.format_given && arguments.long_list) {
    std::fputs(
        "sinfo: fatal: Options -o(--format) and -l(--long) are mutually exclusive. Please remove one and "
        "retry.\n",
        stderr);
    return 1;
  }
  asked = std::move(arguments);
  return std::nullopt;
}

}  // namespace minke::cli
