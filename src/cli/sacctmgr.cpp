// sacctmgr: accounts, users, associations and QOS: to see and to change.
//
// The command works on a copy of the accounts that the daemon sends it, puts the change together, shows it,
// asks, and sends it back as a whole: the daemon makes all of it, or nothing (sched/account_book.h).
#include <getopt.h>

#include <cstdio>
#include <string_view>

#include "cli/commands.h"
#include "cli/fetch.h"
#include "cli/sacctmgr/change.h"
#include "cli/sacctmgr/dump.h"
#include "cli/sacctmgr/session.h"
#include "cli/sacctmgr/show.h"
#include "cli/sacctmgr/words.h"
#include "text/number.h"

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
    "     show: the same as list\n\n"
    "    Valid <ENTITY> values are: account, association, cluster, coordinator, problem, qos, tres, user\n";

enum class Entity { kNone, kAccount, kUser, kQos, kCoordinator };

Entity entity_of(std::string_view word) {
  const auto is = [&](std::string_view name, size_t shortest) {
    return word.size() >= shortest && text::starts_with_ignoring_case(name, word);
  };
  if (is("accounts", 1)) return Entity::kAccount;
  if (is("coordinators", 2)) return Entity::kCoordinator;
  if (is("qos", 1)) return Entity::kQos;
  if (is("users", 1)) return Entity::kUser;
  return Entity::kNone;
}

int no_entity(std::string_view command, std::string_view list) {
  std::fprintf(stderr, "No valid entity in %.*s command\nInput line must include %.*s\n",
               static_cast<int>(command.size()), command.data(), static_cast<int>(list.size()), list.data());
  return 1;
}

int change(AccountingSession& session, std::string_view command, std::span<char* const> rest) {
  const Entity entity = rest.empty() ? Entity::kNone : entity_of(rest.front());
  const Words words = split_words(rest.empty() ? rest : rest.subspan(1));
  if (command == "add") {
    if (entity == Entity::kAccount) return add_account(session, words);
    if (entity == Entity::kUser) return add_user(session, words);
    if (entity == Entity::kQos) return add_qos(session, words);
    if (entity == Entity::kCoordinator) return change_coordinators(session, words, true);
    return no_entity("add", R"("Account", "Coordinator", "QOS", or "User")");
  }
  if (command == "modify") {
    if (entity == Entity::kAccount) return modify_account(session, words);
    if (entity == Entity::kUser) return modify_user(session, words);
    if (entity == Entity::kQos) return modify_qos(session, words);
    return no_entity("modify", R"("Account", "QOS", or "User")");
  }
  if (entity == Entity::kAccount) return delete_account(session, words);
  if (entity == Entity::kUser) return delete_user(session, words);
  if (entity == Entity::kQos) return delete_qos(session, words);
  if (entity == Entity::kCoordinator) return change_coordinators(session, words, false);
  return no_entity("delete", R"("Account", "Coordinator", "QOS", or "User")");
}

}  // namespace

int sacctmgr_main(int argc, char** argv) {
  AccountingOptions options;
  ShowStyle style;
  style.origin = document_origin(argc, argv);
  optind = 0;
  for (int letter; (letter = getopt_long(argc, argv, "hinopPQrsvV", kLongOptions, nullptr)) != -1;) {
    if (letter == 'i') options.immediate = true;
    if (letter == 'Q') options.quiet = true;
    if (letter == 'r') options.read_only = true;
    if (letter == 'n') style.no_header = true;
    if (letter == 'p') style.layout = PrintLayout::kParsable;
    if (letter == 'P') style.layout = PrintLayout::kParsable2;
    if (letter == 's') style.with_associations = true;
    if (letter == 'V') return write_out(kVersionLine), 0;
    if (letter == 'h') return write_out(kHelp), 0;
    if (letter == '?') return 1;
    if (letter == kJsonOption || letter == kYamlOption) {
      if (const auto ended = read_document_option("sacctmgr", letter, optarg, style.document)) return *ended;
    }
  }
  if (optind == argc) {
    print_error("sacctmgr", "a command is missing: sacctmgr --help lists them");
    return 1;
  }
  const std::string_view command = argv[optind++];
  const std::span<char* const> rest(argv + optind, static_cast<size_t>(argc - optind));
  const auto is = [&](std::string_view name, size_t shortest) {
    return command.size() >= shortest && text::starts_with_ignoring_case(name, command);
  };
  if (is("help", 1)) return write_out(kHelp), 0;
  if (is("version", 4)) return write_out(kVersionLine), 0;
  const bool show = is("list", 3) || is("show", 3);
  const bool add = is("add", 3) || is("create", 1), remove = is("delete", 2) || is("remove", 3),
             modify = is("modify", 1);
  const bool dump = is("dump", 2), load = is("load", 2);
  if (!show && !add && !remove && !modify && !dump && !load) {
    std::fprintf(stderr, "invalid keyword: %s\n", argv[optind - 1]);
    return 1;
  }
  auto session = AccountingSession::open(options);
  if (!session) return print_error("sacctmgr", session.error().message), 1;
  if (show)
    return show_entity(*session, rest.empty() ? "" : rest.front(), rest.empty() ? rest : rest.subspan(1),
                       style);
  if (dump) return dump_accounts(*session, rest);
  if (load) return load_accounts(*session, rest);
  return change(*session, add ? "add" : modify ? "modify" : "delete", rest);
}

}  // namespace minke::cli
