// sacctmgr: accounts, users, associations, QOS and other clusters' names: to see and to change.
//
// The command works on a copy of the accounts that the daemon sends it, puts the change together, shows it,
// asks, and sends it back as a whole: the daemon makes all of it, or nothing (accounts/account_book.h).
#include <getopt.h>

#include <cstdio>
#include <string_view>

#include "cli/commands.h"
#include "cli/sacctmgr/change.h"
#include "cli/sacctmgr/dump.h"
#include "cli/sacctmgr/session.h"
#include "cli/sacctmgr/show.h"
#include "cli/sacctmgr/words.h"
#include "cli/version_line.h"
#include "text/number.h"
#include "view/output.h"

namespace minke::cli {
namespace {

constexpr option kLongOptions[] = {{"associations", no_argument, nullptr, 's'},
                                   {"help", no_argument, nullptr, 'h'},
                                   {"json", optional_argument, nullptr, kJsonOption},
                                   {"yaml", optional_argument, nullptr, kYamlOption},
                                   {"immediate", no_argument, nullptr, 'i'},
                                   {"noheader", no_argument, nullptr, 'n'},
                                   {"oneliner", no_argument, nullptr, 'o'},
                                   {"parsable", no_argument, nullptr, 'p'},
                                   {"parsable2", no_argument, nullptr, 'P'},
                                   {"quiet", no_argument, nullptr, 'Q'},
                                   {"readonly", no_argument, nullptr, 'r'},
                                   {"usage", no_argument, nullptr, 'h'},
                                   {"verbose", no_argument, nullptr, 'v'},
                                   {"version", no_argument, nullptr, 'V'},
                                   {nullptr, 0, nullptr, 0}};

constexpr const char* kHelp =
    "Usage: sacctmgr [<OPTION>] [<COMMAND>]\n"
    "    Valid <OPTION> values are:\n"
    "     -h or --help: equivalent to \"help\" command\n"
    "     -i or --immediate: commit changes immediately\n"
    "     --json[=data_parser], --yaml[=data_parser]: list accounts, associations, qos, tres and users as "
    "that\n"
    "     -n or --noheader: no header will be added to the beginning of output\n"
    "     -p or --parsable: output will be '|' delimited with a '|' at the end\n"
    "     -P or --parsable2: output will be '|' delimited without a '|' at the end\n"
    "     -Q or --quiet: print no messages other than error messages\n"
    "     -r or --readonly: no change can be made\n"
    "     -s or --associations: show or list with associations\n"
    "     -V or --version: equivalent to \"version\" command\n\n"
    "    Valid <COMMAND> values are:\n"
    "     add <ENTITY> <SPECS>\n"
    "     delete <ENTITY> where <SPECS>\n"
    "     dump <CLUSTER> [file=<FILENAME>]\n"
    "     list <ENTITY> [<SPECS>] [format=<FIELD>[%<WIDTH>],...]\n"
    "     load [clean] [file=]<FILENAME>\n"
    "     modify <ENTITY> where <SPECS> set <SPECS>\n"
    "     show: the same as list\n"
    "     version: display tool version number\n\n"
    "    <ENTITY> may be account, association, cluster, coordinator, federation, job,\n     problem, qos, "
    "resource, "
    "tres, user or wckey\n\n"
    "    <SPECS> are different for each command entity pair. What is given most:\n"
    "     add account      - Names=, Description=, Organization=, Parent=, Fairshare=, QOS=, GrpTRES=, "
    "MaxJobs=\n"
    "     add cluster      - Names=, Classification=, Fairshare=, QOS=\n"
    "     add qos          - Names=, Priority=, Preempt=, Flags=, GrpTRES=, MaxTRESPerUser=, MaxWall=\n"
    "     add user         - Names=, Accounts=, DefaultAccount=, AdminLevel=, Fairshare=, QOS=, MaxJobs=\n"
    "     list associations - Accounts=, Users=, Clusters=, Tree, Format=\n"
    "     modify cluster   - as add, what is to be changed after where, what to after set; so with other "
    "entities\n"
    "     delete qos       - Names=; so with other entities\n";

using Action = int (*)(AccountingSession&, const Words&);
int add_coordinator(AccountingSession& session, const Words& words) {
  return change_coordinators(session, words, true);
}
int delete_coordinator(AccountingSession& session, const Words& words) {
  return change_coordinators(session, words, false);
}

// What can be done to what; abbreviations from so many letters on.
struct Entity {
  std::string_view name;
  size_t shortest;
  Action add, modify, remove;
};
constexpr Entity kEntities[] = {
    {"accounts", 1, add_account, modify_account, delete_account},
    {"clusters", 2, add_cluster, modify_cluster, delete_cluster},
    {"coordinators", 2, add_coordinator, nullptr, delete_coordinator},
    {"federations", 1, add_federation, modify_federation, delete_federation},
    {"jobs", 1, nullptr, modify_job, nullptr},
    {"qos", 1, add_qos, modify_qos, delete_qos},
    {"resources", 1, add_resource, modify_resource, delete_resource},
    {"users", 1, add_user, modify_user, delete_user},
};

int change(AccountingSession& session, std::string_view command, std::span<char* const> rest) {
  const std::string_view given = rest.empty() ? std::string_view() : rest.front();
  const auto action_of = [&](const Entity& one) {
    return command == "add" ? one.add : command == "modify" ? one.modify : one.remove;
  };
  std::string names;
  for (const Entity& one : kEntities) {
    if (action_of(one) == nullptr) continue;
    if (given.size() >= one.shortest && text::starts_with_ignoring_case(one.name, given))
      return action_of(one)(session, split_words(rest.subspan(1)));
    std::string name(one.name == "qos" ? "QOS" : one.name.substr(0, one.name.size() - 1));
    name[0] = static_cast<char>(name[0] >= 'a' ? name[0] - 'a' + 'A' : name[0]);
    names += (names.empty() ? "\"" : ", \"") + name + "\"";
  }
  std::fprintf(stderr, "No valid entity in %.*s command\nInput line must include one of %s\n",
               static_cast<int>(command.size()), command.data(), names.c_str());
  return 1;
}

}  // namespace

int sacctmgr_main(int argc, char** argv) {
  AccountingOptions options;
  ShowStyle style;
  style.origin = view::document_origin(argc, argv);
  optind = 0;
  for (int letter; (letter = getopt_long(argc, argv, "hinopPQrsvV", kLongOptions, nullptr)) != -1;) {
    if (letter == 'i') options.immediate = true;
    if (letter == 'Q') options.quiet = true;
    if (letter == 'r') options.read_only = true;
    if (letter == 'n') style.no_header = true;
    if (letter == 'p') style.layout = view::PrintLayout::kParsable;
    if (letter == 'P') style.layout = view::PrintLayout::kParsable2;
    if (letter == 's') style.with_associations = true;
    if (letter == 'V') return view::write_out(kVersionLine), 0;
    if (letter == 'h') return view::write_out(kHelp), 0;
    if (letter == '?') return 1;
    if (letter == kJsonOption || letter == kYamlOption) {
      if (const auto ended = read_document_option("sacctmgr", letter, optarg, style.document)) return *ended;
    }
  }
  if (optind == argc) {
    view::print_error("sacctmgr", "a command is missing: sacctmgr --help lists them");
    return 1;
  }
  const std::string_view command = argv[optind++];
  const std::span<char* const> rest(argv + optind, static_cast<size_t>(argc - optind));
  const auto is = [&](std::string_view name, size_t shortest) {
    return command.size() >= shortest && text::starts_with_ignoring_case(name, command);
  };
  if (is("help", 1)) return view::write_out(kHelp), 0;
  if (is("version", 4)) return view::write_out(kVersionLine), 0;
  const bool show = is("list", 3) || is("show", 3);
  const bool add = is("add", 3) || is("create", 1), remove = is("delete", 2) || is("remove", 3),
             modify = is("modify", 1);
  const bool dump = is("dump", 2), load = is("load", 2);
  // What only a slurmdbd of its own has.
  if (is("archive", 1)) {
    view::print_error("sacctmgr", "nothing is archived here: minke accounting export and purge do its work");
    return 1;
  }
  if (is("clear", 2) || is("shutdown", 4) || is("reconfigure", 3)) {
    view::print_error(
        "sacctmgr",
        "there is no slurmdbd here: the daemon keeps the accounts; scontrol ping and sdiag tell of it");
    return 1;
  }
  if (!show && !add && !remove && !modify && !dump && !load) {
    std::fprintf(stderr, "invalid keyword: %s\n", argv[optind - 1]);
    return 1;
  }
  auto session = AccountingSession::open(options);
  if (!session) return view::print_error("sacctmgr", session.error().message), 1;
  if (show)
    return show_entity(*session, rest.empty() ? "" : rest.front(), rest.empty() ? rest : rest.subspan(1),
                       style);
  if (dump) return dump_accounts(*session, rest);
  if (load) return load_accounts(*session, rest);
  return change(*session, add ? "add" : modify ? "modify" : "delete", rest);
}

}  // namespace minke::cli
