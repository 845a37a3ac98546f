// scontrol: shows and changes jobs, nodes and partitions. One command from the command line, or many from
// stdin.
#include <getopt.h>

#include <cstdio>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/scontrol/commands.h"
#include "cli/scontrol/document.h"
#include "cli/version_line.h"
#include "text/number.h"
#include "view/output.h"

namespace minke::cli {
namespace {

constexpr const char* kHelp =
    "scontrol [<OPTION>] [<COMMAND>]\n"
    "    Valid <OPTION> values are:\n"
    "     -a, --all      Equivalent to \"all\" command\n"
    "     -d, --details  Equivalent to \"details\" command\n"
    "     -h, --help     Equivalent to \"help\" command\n"
    "     --hide         Equivalent to \"hide\" command\n"
    "     -o, --oneliner Equivalent to \"oneliner\" command\n"
    "     --json, --yaml  Jobs, nodes and partitions as JSON or YAML (show)\n"
    "     -Q, --quiet    Equivalent to \"quiet\" command\n"
    "     -v, --verbose  Equivalent to \"verbose\" command\n"
    "     -V, --version  Equivalent to \"version\" command\n"
    "\n"
    "  <COMMAND> may be omitted: then scontrol reads commands from its input, until \"exit\".\n"
    "\n"
    "    Valid <COMMAND> values are:\n"
    "     hold <job_list>          prevent specified jobs from starting\n"
    "     uhold <job_list>         place user hold on specified jobs (see hold)\n"
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
    "       \"licenses\", \"node\", \"partition\", \"reservation\" or \"step\"\n";

enum LongOption { kHide = 256, kIgnored };

constexpr option kLongOptions[] = {{"all", no_argument, nullptr, 'a'},
                                   {"cluster", required_argument, nullptr, 'M'},
                                   {"clusters", required_argument, nullptr, 'M'},
                                   {"details", no_argument, nullptr, 'd'},
                                   {"federation", no_argument, nullptr, kIgnored},
                                   {"future", no_argument, nullptr, 'F'},
                                   {"help", no_argument, nullptr, 'h'},
                                   {"hide", no_argument, nullptr, kHide},
                                   {"json", optional_argument, nullptr, kJsonOption},
                                   {"local", no_argument, nullptr, kIgnored},
                                   {"oneliner", no_argument, nullptr, 'o'},
                                   {"quiet", no_argument, nullptr, 'Q'},
                                   {"sibling", no_argument, nullptr, kIgnored},
                                   {"uid", required_argument, nullptr, 'u'},
                                   {"verbose", no_argument, nullptr, 'v'},
                                   {"version", no_argument, nullptr, 'V'},
                                   {"yaml", optional_argument, nullptr, kYamlOption},
                                   {nullptr, 0, nullptr, 0}};

// Words of a line of input: separated by white space, with quotes around what holds some.
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

}  // namespace

int scontrol_main(int argc, char** argv) {
  Scontrol scontrol;
  const view::DocumentOrigin origin = view::document_origin(argc, argv);
  std::optional<view::DocumentFormat> document;
  optind = 0;
  int letter;
  while ((letter = getopt_long(argc, argv, "adFhM:oQu:vV", kLongOptions, nullptr)) != -1) {
    switch (letter) {
      case 'd':
        scontrol.options().details = true;
        break;
      case 'h':
        view::write_out(kHelp);
        return 0;
      case 'o':
        scontrol.options().one_line = true;
        break;
      case 'Q':
        scontrol.set_quiet(true);
        break;
      case kJsonOption:
      case kYamlOption:
        if (auto ended = read_document_option("scontrol", letter, optarg, document)) return *ended;
        break;
      case 'v':
        scontrol.set_verbose();
        break;
      case 'V':
        view::write_out(kVersionLine);
        return 0;
      case '?':
        std::fputs("Try \"scontrol --help\" for more information\n", stderr);
        return 1;
      default:
        break;  // of several clusters, of hidden partitions: there are none
    }
  }
  std::vector<std::string> words(argv + optind, argv + argc);
  if (words.empty()) return read_commands(scontrol);
  if (text::equals_ignoring_case(words[0], "help")) {
    view::write_out(kHelp);
    return 0;
  }
  if (document && text::starts_with_ignoring_case("show", words[0]) && words[0].size() >= 3)
    return show_document(words, *document, origin);
  if (document && text::starts_with_ignoring_case("ping", words[0]) && words[0].size() >= 3)
    return ping_document(*document, origin);
  return scontrol.run(words);
}

}  // namespace minke::cli
