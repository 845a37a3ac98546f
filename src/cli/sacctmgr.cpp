// sacctmgr: shows and changes accounts, users, associations, QOS and other clusters' names.
//
// The command works on a copy of the accounts that the daemon sends, collects the change, shows it, asks, and
// sends it back as a whole: the daemon applies all of it, or nothing (accounts/account_book.h).

#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "cli/described_commands.h"
#include "cli/document_output.h"
#include "cli/read_command.h"
#include "cli/sacctmgr/change.h"
#include "cli/sacctmgr/document.h"
#include "cli/sacctmgr/dump.h"
#include "cli/sacctmgr/session.h"
#include "cli/sacctmgr/show.h"
#include "cli/sacctmgr/words.h"
#include "text/nearest.h"
#include "text/number.h"
#include "view/output.h"

namespace minke::cli {
namespace {

using options::Given;
using enum options::ArgumentKind;

constexpr std::string_view kCommands =
    "    Valid <COMMAND> values are:\n"
    "     add <ENTITY> <SPECS>\n"
    "     delete <ENTITY> where <SPECS>\n"
    "     dump <CLUSTER> [file=<FILENAME>]\n"
    "     list <ENTITY> [<SPECS>] [format=<FIELD>[%<WIDTH>],...]\n"
    "     load [clean] [file=]<FILENAME>\n"
    "     modify <ENTITY> where <SPECS> set <SPECS>\n"
    "     ping: whether the accounts can be asked for\n"
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

// The verbs of each entity, and the number of letters that abbreviations need.
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
  const size_t last = names.rfind(", ");
  if (last != std::string::npos)
    names.replace(last, 2, command == "modify" ? " or " : ", or ");  // as Slurm's commas
  std::vector<std::string_view> known;
  for (const Entity& one : kEntities)
    if (action_of(one) != nullptr)
      known.push_back(one.name.substr(0, one.name.size() - (one.name == "qos" ? 0 : 1)));
  const std::string_view meant = text::nearest(text::lower_case(given), known);
  std::fprintf(stderr, "No valid entity in %.*s command\nInput line must include %s%s\n",
               static_cast<int>(command.size()), command.data(), names.c_str(),
               meant.empty() ? "" : (" (did you mean " + std::string(meant) + "?)").c_str());
  return 1;
}

// The values of the options.
struct Arguments {
  AccountingOptions options;
  ShowStyle style;
};

template <auto kMember>
constexpr auto option_flag = options::flag<&Arguments::options, kMember>;
template <auto kMember>
constexpr auto style_flag = options::flag<&Arguments::style, kMember>;

// Columns: see options::Option.
constexpr options::Row<Arguments> kRows[] = {
    {{"associations", 's', kNone, "", "show or list with associations"},
     style_flag<&ShowStyle::with_associations>},
    {{"help", 'h', kNone, "", "equivalent to \"help\" command"}, show_help<Arguments>},
    {{"json", '\0', kOptional, "data_parser", "list accounts, associations, qos, tres and users as JSON"},
     document<&Arguments::style, &ShowStyle::document>},
    {{"yaml", '\0', kOptional, "data_parser", "list accounts, associations, qos, tres and users as YAML"},
     document<&Arguments::style, &ShowStyle::document>},
    {{"immediate", 'i', kNone, "", "commit changes immediately"}, option_flag<&AccountingOptions::immediate>},
    {{"noheader", 'n', kNone, "", "no header will be added to the beginning of output"},
     style_flag<&ShowStyle::no_header>},
    {{"oneliner", 'o', kNone}, options::ignored<Arguments>},
    {{"parsable", 'p', kNone, "", "output will be '|' delimited with a '|' at the end"},
     options::set_to<view::PrintLayout::kParsable, &Arguments::style, &ShowStyle::layout>},
    {{"parsable2", 'P', kNone, "", "output will be '|' delimited without a '|' at the end"},
     options::set_to<view::PrintLayout::kParsable2, &Arguments::style, &ShowStyle::layout>},
    {{"quiet", 'Q', kNone, "", "print no messages other than error messages"},
     option_flag<&AccountingOptions::quiet>},
    {{"readonly", 'r', kNone, "", "no change can be made"}, option_flag<&AccountingOptions::read_only>},
    {{"usage", '\0', kNone, "", "the same as --help"}, show_help<Arguments>},
    {{"verbose", 'v', kNone}, options::ignored<Arguments>},
    {{"version", 'V', kNone, "", "equivalent to \"version\" command"}, show_version<Arguments>},
};

const options::Table<Arguments>& table() {
  static const auto* const kTable =
      new options::Table<Arguments>({.name = "sacctmgr",
                                     .purpose = "accounts, users, associations and QOS: to see and to change",
                                     .operands = "[<COMMAND>]",
                                     .operand_values = "add delete dump list load modify show",
                                     .commands = kCommands,
                                     .hints_at_help = false},
                                    kRows);
  return *kTable;
}

using Rest = std::span<char* const>;

int help(const Arguments&, Rest) {
  view::write_out(options::help_text(table().command));
  return 0;
}

int version(const Arguments&, Rest) {
  return *show_version();
}

// Commands that only a slurmdbd of its own supports.
int archive(const Arguments&, Rest) {
  view::print_error("sacctmgr", "nothing is archived here: minke accounting export and purge do its work");
  return 1;
}
int of_slurmdbd(const Arguments&, Rest) {
  view::print_error(
      "sacctmgr",
      "there is no slurmdbd here: the daemon keeps the accounts; scontrol ping and sdiag tell of it");
  return 1;
}

// Whether the accounts can be asked for: the daemon keeps them, in slurmdbd's place.
int ping(const Arguments& arguments, Rest rest) {
  if (!rest.empty()) std::fprintf(stderr, "too many arguments for ping keyword\n");
  const auto session = AccountingSession::open(arguments.options);
  // The host is AccountingStorageHost of scontrol show config.
  view::write_out(std::string("slurmdbd(primary) at localhost is ") + (session ? "UP" : "DOWN") + "\n");
  return session ? 0 : 1;
}

int show(AccountingSession& session, const ShowStyle& style, Rest rest) {
  return show_entity(session, rest.empty() ? "" : rest.front(), rest.empty() ? rest : rest.subspan(1), style);
}
int dump(AccountingSession& session, const ShowStyle&, Rest rest) {
  return dump_accounts(session, rest);
}
int load(AccountingSession& session, const ShowStyle&, Rest rest) {
  return load_accounts(session, rest);
}
int add(AccountingSession& session, const ShowStyle&, Rest rest) {
  return change(session, "add", rest);
}
int modify(AccountingSession& session, const ShowStyle&, Rest rest) {
  return change(session, "modify", rest);
}
int remove(AccountingSession& session, const ShowStyle&, Rest rest) {
  return change(session, "delete", rest);
}

// A verb that works on the accounts.
template <int (*kRun)(AccountingSession&, const ShowStyle&, Rest)>
int in_session(const Arguments& arguments, Rest rest) {
  auto session = AccountingSession::open(arguments.options);
  if (!session) return view::print_error("sacctmgr", session.error().message), 1;
  return kRun(*session, arguments.style, rest);
}

// Finds the first one that the word abbreviates, with at least `shortest` letters.
struct Verb {
  std::string_view name;
  size_t shortest;
  int (*run)(const Arguments&, Rest);
};
constexpr Verb kVerbs[] = {{"help", 1, help},
                           {"version", 4, version},
                           {"ping", 1, ping},
                           {"archive", 1, archive},
                           {"clear", 2, of_slurmdbd},
                           {"shutdown", 4, of_slurmdbd},
                           {"reconfigure", 3, of_slurmdbd},
                           {"list", 3, in_session<show>},
                           {"show", 3, in_session<show>},
                           {"dump", 2, in_session<dump>},
                           {"load", 2, in_session<load>},
                           {"add", 3, in_session<add>},
                           {"create", 1, in_session<add>},
                           {"modify", 1, in_session<modify>},
                           {"delete", 2, in_session<remove>},
                           {"remove", 3, in_session<remove>}};

}  // namespace

const options::Command& sacctmgr_command() {
  return table().command;
}

int sacctmgr_main(int argc, char** argv) {
  Arguments arguments;
  arguments.style.origin = view::document_origin(argc, argv);
  CommandRead read = read_command(table(), argc, argv, arguments);
  if (read.status) return *read.status;
  if (read.operands.empty()) {
    view::print_error("sacctmgr", "a command is missing: sacctmgr --help lists them");
    return 1;
  }
  std::vector<char*> words;
  for (std::string& operand : read.operands) words.push_back(operand.data());
  const std::string& given = read.operands.front();
  if (arguments.style.document && text::equals_ignoring_case(given, "ping")) {
    if (const auto status = ping_accounting(arguments.style)) return *status;
  }
  for (const Verb& verb : kVerbs) {
    if (given.size() >= verb.shortest && text::starts_with_ignoring_case(verb.name, given))
      return verb.run(arguments, Rest(words).subspan(1));
  }
  std::fprintf(stderr, "invalid keyword: %s\n", given.c_str());
  return 1;
}

}  // namespace minke::cli
