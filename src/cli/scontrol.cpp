// scontrol: shows and changes jobs, nodes and partitions. One command from the command line, or many from
// stdin.
#include <algorithm>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/clusters.h"
#include "cli/commands.h"
#include "cli/described_commands.h"
#include "cli/document_output.h"
#include "cli/read_command.h"
#include "cli/scontrol/commands.h"
#include "cli/scontrol/document.h"
#include "cli/slurm_programs.h"
#include "engine/engine.h"
#include "engine/open.h"
#include "text/number.h"
#include "view/output.h"

namespace minke::cli {
namespace {

using options::Given;
using enum options::ArgumentKind;

constexpr std::string_view kCommands =
    "  <COMMAND> may be omitted: then scontrol reads commands from its input, until \"exit\".\n"
    "\n"
    "    Valid <COMMAND> values are:\n"
    "     hold <job_list>          prevent specified jobs from starting\n"
    "     uhold <job_list>         place user hold on specified jobs (see hold)\n"
    "     getaddrs <hostlist>      addresses of nodes\n"
    "     getent [<node>]          who the steps of a node run as\n"
    "     listjobs [<node>]        jobs with steps on a node\n"
    "     liststeps [<node>]       steps on a node\n"
    "     ping                     print status of the controller\n"
    "     reconfigure              re-read the configuration\n"
    "     release <job_list>       permit specified jobs to start (see hold)\n"
    "     requeue <job_list>       re-queue batch jobs\n"
    "     requeuehold <job_list>   re-queue and hold batch jobs\n"
    "     show <ENTITY> [<ID>]     display state of identified entity, default is all records\n"
    "     update <SPECIFICATIONS>  update job, node or partition: Name=Value ...\n"
    "     version                  display tool version number\n"
    "     wait_job <job_id>        wait until the nodes allocated to the job are usable\n"
    "     write batch_script <job_id> [<filename>|-]\n"
    "\n"
    "  <ENTITY> may be \"config\", \"daemons\", \"hostlist\", \"hostlistsorted\", \"hostnames\", \"job\",\n"
    "       \"licenses\", \"node\", \"partition\", \"reservation\", \"step\" or \"topoconf\"\n";

// Splits a line of input into words: separated by white space; quotes keep it.
std::vector<std::string> split_words(const std::string& line) {
  std::vector<std::string> words;
  std::string word;
  char quote = '\0';
  bool in_word = false;
  for (char c : line) {
    if (quote != '\0') {
      if (c == quote) {
        quote = '\0';
      } else {
        word += c;
      }
    } else if (c == '"' || c == '\'') {
      quote = c;
      in_word = true;
    } else if (c == ' ' || c == '\t') {
      if (in_word) words.push_back(std::exchange(word, {}));
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (in_word) words.push_back(word);
  return words;
}

int read_commands(Scontrol& scontrol) {
  int status = 0;
  std::string line;
  std::vector<std::string> previous;
  while (true) {
    view::write_out("scontrol: ");
    if (!std::getline(std::cin, line)) break;
    std::vector<std::string> words = split_words(line);
    if (words.size() == 1 && words[0] == "!!") words = previous;
    if (words.empty()) continue;
    if (text::equals_ignoring_case(words[0], "exit") || text::equals_ignoring_case(words[0], "quit")) break;
    previous = words;
    if (int result = scontrol.run(words); result != 0) status = result;
  }
  return status;
}

struct Arguments {
  Scontrol scontrol;
  std::optional<view::DocumentFormat> document;
  std::optional<std::string> clusters;
};

std::optional<int> details(Arguments& arguments, const Given&) {
  arguments.scontrol.options().details = true;
  return std::nullopt;
}

std::optional<int> one_line(Arguments& arguments, const Given&) {
  arguments.scontrol.options().one_line = true;
  return std::nullopt;
}

std::optional<int> quiet(Arguments& arguments, const Given&) {
  arguments.scontrol.set_quiet(true);
  return std::nullopt;
}

std::optional<int> verbose(Arguments& arguments, const Given&) {
  arguments.scontrol.set_verbose();
  return std::nullopt;
}

template <bool kAll>
std::optional<int> show_all(Arguments& arguments, const Given&) {
  arguments.scontrol.set_all(kAll);
  return std::nullopt;
}

constexpr auto kIgnored = &options::ignored<Arguments>;  // of several clusters

// Columns: see options::Option.
constexpr options::Row<Arguments> kRows[] = {
    {{"all", 'a', kNone, "", "equivalent to \"all\" command", "", "SCONTROL_ALL"}, show_all<true>},
    {{"cluster", '\0', kRequired}, clusters<&Arguments::clusters>},
    {{"clusters", 'M', kRequired, "names", "cluster to issue commands to", "", "SLURM_CLUSTERS"},
     clusters<&Arguments::clusters>},
    {{"details", 'd', kNone, "", "equivalent to \"details\" command"}, details},
    {{"federation", '\0', kNone}, kIgnored},
    {{"future", 'F', kNone}, options::ignored<Arguments, 1>},
    {{"help", 'h', kNone, "", "equivalent to \"help\" command"}, show_help<Arguments>},
    {{"hide", '\0', kNone, "", "equivalent to \"hide\" command"}, show_all<false>},
    {{"json", '\0', kOptional, "data_parser", "what show, ping and list… tell, as JSON"},
     document<&Arguments::document>},
    {{"local", '\0', kNone}, kIgnored},
    {{"oneliner", 'o', kNone, "", "equivalent to \"oneliner\" command"}, one_line},
    {{"quiet", 'Q', kNone, "", "equivalent to \"quiet\" command"}, quiet},
    {{"sibling", '\0', kNone}, kIgnored},
    {{"uid", 'u', kRequired}, kIgnored},
    {{"verbose", 'v', kNone, "", "equivalent to \"verbose\" command"}, verbose},
    {{"version", 'V', kNone, "", "equivalent to \"version\" command"}, show_version<Arguments>},
    {{"yaml", '\0', kOptional, "data_parser", "what show, ping and list… tell, as YAML"},
     document<&Arguments::document>},
};

const options::Table<Arguments>& table() {
  static const auto* const kTable = new options::Table<Arguments>(
      {.name = "scontrol",
       .purpose = "shows and changes jobs, nodes and partitions",
       .operands = "[<COMMAND>]",
       .operand_values =
           "cancel_reboot create delete hold ping reboot reconfigure release requeue requeuehold "
           "resume show suspend top uhold update wait_job write",
       .commands = kCommands},
      kRows);
  return *kTable;
}

// To what Minke adds something on a real Slurm: answers that are shared, and jobs that are changed through
// it, so that the next answer tells of the change. All else the cluster's own scontrol does.
bool is_minkes_own(const std::vector<std::string>& words) {
  struct Own {
    std::string_view name;
    size_t shortest;
  };
  constexpr Own kVerbs[] = {{"hold", 4},    {"uhold", 2},       {"holdu", 5},    {"release", 3},
                            {"requeue", 3}, {"requeuehold", 8}, {"update", 1},   {"suspend", 2},
                            {"resume", 3},  {"notify", 1},      {"wait_job", 4}, {"write", 5},
                            {"version", 4}, {"help", 1},        {"delete", 1},   {"create", 1}};
  constexpr Own kEntities[] = {{"jobs", 1},         {"jobid", 1},           {"licenses", 2},
                               {"nodes", 1},        {"partitions", 1},      {"partitionname", 1},
                               {"reservations", 1}, {"reservationname", 1}, {"hostnames", 5},
                               {"hostlist", 5},     {"hostlistsorted", 9}};
  const auto any = [](const auto& list, std::string_view word) {
    return std::any_of(std::begin(list), std::end(list), [&](const Own& one) {
      return word.size() >= one.shortest && text::starts_with_ignoring_case(one.name, word);
    });
  };
  if (words.empty()) return false;
  if (!text::starts_with_ignoring_case("show", words[0]) || words[0].size() < 3) return any(kVerbs, words[0]);
  return words.size() < 2 || any(kEntities, std::string_view(words[1]).substr(0, words[1].find('=')));
}

}  // namespace

const options::Command& scontrol_command() {
  return table().command;
}

int scontrol_main(int argc, char** argv) {
  Arguments arguments;
  const view::DocumentOrigin origin = view::document_origin(argc, argv);
  // Its "-NAME" is no option.
  const bool flags = std::any_of(argv, argv + argc,
                                 [](const char* word) { return word == std::string_view("setdebugflags"); });
  const auto order = flags ? options::Order::kFirst : options::Order::kAnywhere;
  const CommandRead read = read_command(table(), argc, argv, arguments, order);
  if (read.status) return *read.status;
  const std::vector<std::string>& words = read.operands;
  if (!is_minkes_own(words)) {
    if (const auto ended = become_slurm_program_for_this("scontrol", argv)) return *ended;
  }
  if (arguments.clusters) {
    const auto cluster = engine::open();
    if (!cluster) return view::print_error("scontrol", cluster.error().message), 1;
    if (!check_clusters(**cluster, "scontrol", arguments.clusters)) return 1;
  }
  if (words.empty()) return read_commands(arguments.scontrol);
  if (text::equals_ignoring_case(words[0], "help"))
    return view::write_out(options::help_text(table().command)), 0;
  const std::optional<view::DocumentFormat>& document = arguments.document;
  if (document && text::starts_with_ignoring_case("show", words[0]) && words[0].size() >= 3)
    if (const auto status = show_document(words, *document, origin)) return *status;
  if (document && text::starts_with_ignoring_case("ping", words[0]) && words[0].size() >= 3)
    return ping_document(*document, origin);
  if (document) {
    if (const auto status = list_document(words, *document, origin)) return *status;
  }
  return arguments.scontrol.run(words);
}

}  // namespace minke::cli
