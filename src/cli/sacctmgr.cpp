// sacctmgr: what programs read from the accounts' database: sacctmgr list ENTITY [where …] [format=…].
//
// There is one cluster, the account root, and in it whoever uses the cluster, as in sshare; any other account
// may be named when a job is submitted, and none is kept. So everything that would change the database is
// refused.
#include <getopt.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/client.h"
#include "cli/commands.h"
#include "cli/display/print_fields.h"
#include "cli/display/text.h"
#include "cli/fetch.h"
#include "text/number.h"

namespace minke::cli {
namespace {

// One row of any table; what a table does not have is empty.
struct Line {
  std::string cluster, control_host, account, user, description, organization, admin_level, share, type, name,
      id;
};
struct Context {};
using Field = PrintField<Line, Context>;

template <std::string Line::*member>
void text_of(const Line& line, const Context&, std::string& out) {
  out += line.*member;
}
void nothing(const Line&, const Context&, std::string&) {}

constexpr PrintFit kPlus = PrintFit::kPlus;

// An association; with its user or alone.
constexpr Field kFields[] = {
    {"Cluster", 10, kPlus, text_of<&Line::cluster>},
    {"ControlHost", 15, kPlus, text_of<&Line::control_host>},
    {"ControlPort", 12, kPlus, nothing},
    {"RPC", 5, kPlus, nothing},
    {"Account", 10, kPlus, text_of<&Line::account>},
    {"Description", 20, kPlus, text_of<&Line::description>, "Descr"},
    {"Organization", 20, kPlus, text_of<&Line::organization>, "Org"},
    {"User", 10, kPlus, text_of<&Line::user>},
    {"DefaultAccount", 10, kPlus, text_of<&Line::account>, "Def Acct"},
    {"AdminLevel", 9, kPlus, text_of<&Line::admin_level>, "Admin"},
    {"Partition", 10, kPlus, nothing},
    {"Share", 9, kPlus, text_of<&Line::share>},
    {"Fairshare", 9, kPlus, text_of<&Line::share>, "Share"},
    {"Priority", 10, kPlus, nothing},
    {"GrpJobs", 7, kPlus, nothing},
    {"GrpTRES", 13, kPlus, nothing},
    {"GrpSubmit", 9, kPlus, nothing},
    {"GrpWall", 11, kPlus, nothing},
    {"GrpTRESMins", 13, kPlus, nothing},
    {"MaxJobs", 7, kPlus, nothing},
    {"MaxTRES", 13, kPlus, nothing},
    {"MaxTRESPerNode", 14, kPlus, nothing},
    {"MaxSubmit", 9, kPlus, nothing},
    {"MaxWall", 11, kPlus, nothing},
    {"MaxTRESMins", 13, kPlus, nothing},
    {"QOS", 20, kPlus, nothing},
    {"DefaultQOS", 9, kPlus, nothing, "Def QOS"},
    {"GrpTRESRunMins", 13, kPlus, nothing},
    {"Type", 8, kPlus, text_of<&Line::type>},
    {"Name", 15, kPlus, text_of<&Line::name>},
    {"ID", 6, kPlus, text_of<&Line::id>},
};

struct Entity {
  std::string_view name;
  size_t shortest;  // letters of it that are enough
  std::string_view format;
};
constexpr Entity kEntities[] = {
    {"account", 4, "account,description,organization"},
    {"associations", 4,
     "cluster,account,user,partition,share,priority,grpjobs,grptres,grpsubmit,grpwall,grptresmins,maxjobs,"
     "maxtres,"
     "maxtrespernode,maxsubmit,maxwall,maxtresmins,qos,defaultqos,grptresrunmins"},
    {"cluster", 2,
     "cluster,controlhost,controlport,rpc,share,grpjobs,grptres,grpsubmit,maxjobs,maxtres,maxsubmit,maxwall,"
     "qos,"
     "defaultqos"},
    {"qos", 1, "name%10,priority"},
    {"tres", 2, "type,name,id"},
    {"users", 1, "user,defaultaccount,adminlevel"},
};
constexpr std::string_view kUserAssociations =
    "user,defaultaccount,adminlevel,cluster,account,partition,share,maxjobs,maxtres,maxtrespernode,maxsubmit,"
    "maxwall,"
    "maxtresmins,qos,defaultqos";

constexpr option kLongOptions[] = {
    {"associations", no_argument, nullptr, 's'}, {"immediate", no_argument, nullptr, 'i'},
    {"noheader", no_argument, nullptr, 'n'},     {"oneliner", no_argument, nullptr, 'o'},
    {"parsable", no_argument, nullptr, 'p'},     {"parsable2", no_argument, nullptr, 'P'},
    {"quiet", no_argument, nullptr, 'Q'},        {"readonly", no_argument, nullptr, 'r'},
    {"verbose", no_argument, nullptr, 'v'},      {"version", no_argument, nullptr, 'V'},
    {"help", no_argument, nullptr, 'h'},         {nullptr, 0, nullptr, 0}};

struct Question {
  const Entity* entity = nullptr;
  std::string format;
  bool with_associations = false;
  bool no_header = false;
  PrintLayout layout = PrintLayout::kFixed;
  std::vector<std::string> users, accounts, clusters;  // empty: all
};

int refuse(const std::string& problem) {
  std::fprintf(stderr, "%s\n", problem.c_str());
  return 1;
}

const Entity* find_entity(std::string_view word) {
  for (const Entity& entity : kEntities) {
    if (word.size() >= entity.shortest && text::starts_with_ignoring_case(entity.name, word)) return &entity;
    if (text::equals_ignoring_case(word, std::string(entity.name) + "s")) return &entity;
  }
  return nullptr;
}

// The words behind the entity: "where", name=value, withassoc, or a name alone.
std::optional<std::string> read_words(std::span<char*> words, Question& question) {
  for (const std::string_view word : words) {
    const size_t equals = word.find('=');
    const std::string_view key = word.substr(0, equals);
    if (text::equals_ignoring_case(word, "where") || text::equals_ignoring_case(word, "set")) continue;
    if (equals == std::string_view::npos && text::starts_with_ignoring_case(key, "with")) {
      question.with_associations |= text::starts_with_ignoring_case("withassoc", key);
      continue;
    }
    const std::string value(equals == std::string_view::npos ? word : word.substr(equals + 1));
    if (text::equals_ignoring_case(key, "format")) {
      question.format = value;
    } else if (text::starts_with_ignoring_case(key, "user")) {
      question.users = split_list(value);
    } else if (text::starts_with_ignoring_case(key, "account")) {
      question.accounts = split_list(value);
    } else if (text::starts_with_ignoring_case(key, "cluster")) {
      question.clusters = split_list(value);
    } else if (equals == std::string_view::npos || text::starts_with_ignoring_case(key, "name")) {
      auto& names = question.entity->name == "users"     ? question.users
                    : question.entity->name == "account" ? question.accounts
                                                         : question.clusters;
      names = split_list(value);
    } else {
      return "Unknown condition: " + std::string(word);
    }
  }
  return std::nullopt;
}

bool wanted(const std::vector<std::string>& names, const std::string& name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<Line> lines_of(const Question& question, const std::string& cluster) {
  const passwd* self = getpwuid(getuid());
  const std::string user = self != nullptr ? self->pw_name : std::to_string(getuid());
  const std::string_view entity = question.entity->name;
  std::vector<Line> lines;
  if (entity == "tres") {
    constexpr const char* kTres[][3] = {{"cpu", "", "1"},  {"mem", "", "2"},     {"energy", "", "3"},
                                        {"node", "", "4"}, {"billing", "", "5"}, {"fs", "disk", "6"},
                                        {"vmem", "", "7"}, {"pages", "", "8"},   {"gres", "gpu", "1001"}};
    for (const auto& [type, name, id] : kTres) {
      Line& line = lines.emplace_back();
      line.type = type, line.name = name, line.id = id;
    }
    return lines;
  }
  if (entity == "qos" || !wanted(question.clusters, cluster)) return lines;
  if (entity != "cluster" && !wanted(question.accounts, "root")) return lines;
  Line line;
  line.cluster = cluster, line.control_host = "localhost", line.share = "1";
  if (entity != "cluster") line.account = line.description = line.organization = "root";
  if (entity == "cluster" || entity == "account" || (entity == "associations" && question.users.empty()))
    lines.push_back(line);
  line.user = user, line.admin_level = getuid() == 0 ? "Administrator" : "None";
  if ((entity == "users" || entity == "associations") && wanted(question.users, user)) lines.push_back(line);
  return lines;
}

int show(const Question& question) {
  std::string format = question.format;
  if (format.empty())
    format = question.entity->name == "users" && question.with_associations ? kUserAssociations
                                                                            : question.entity->format;
  const auto columns = parse_print_format(std::span<const Field>(kFields), format);
  if (!columns) {
    const std::string& message = columns.error().message;
    const size_t quote = message.find('"');
    return refuse("Unknown field '" + message.substr(quote + 1, message.size() - quote - 2) + "'");
  }
  auto client = Client::connect();
  if (!client) return print_error("sacctmgr", client.error().message), 1;
  std::string out;
  const std::span<const PrintColumn<Field>> shown = *columns;
  if (!question.no_header) append_print_header(shown, question.layout, "|", out);
  for (const Line& line : lines_of(question, fetch_cluster_name(*client)))
    append_print_line(shown, question.layout, "|", line, Context(), out);
  write_out(out);
  return 0;
}

}  // namespace

int sacctmgr_main(int argc, char** argv) {
  Question question;
  optind = 0;
  for (int letter; (letter = getopt_long(argc, argv, "hinopPQrsvV", kLongOptions, nullptr)) != -1;) {
    if (letter == 'n') question.no_header = true;
    if (letter == 'p') question.layout = PrintLayout::kParsable;
    if (letter == 'P') question.layout = PrintLayout::kParsable2;
    if (letter == 's') question.with_associations = true;
    if (letter == 'V') return write_out(kVersionLine), 0;
    if (letter == 'h')
      return write_out(
                 "Usage: sacctmgr [-n] [-p|-P] [-s] list ENTITY [where NAME=VALUE…] "
                 "[format=FIELD[%WIDTH],…]\n"
                 "ENTITY: account, association, cluster, qos, tres, user\n"),
             0;
    if (letter == '?') return 1;
  }
  if (optind == argc) return refuse("sacctmgr: what to list is missing; sacctmgr --help");
  const std::string_view command = argv[optind++];
  if (!text::starts_with_ignoring_case("list", command) &&
      !text::starts_with_ignoring_case("show", command)) {
    print_error("sacctmgr", "accounts are not kept here: a job may name any; so there is nothing to " +
                                std::string(command));
    return 1;
  }
  if (optind < argc) question.entity = find_entity(argv[optind++]);
  if (question.entity == nullptr) {
    return refuse(
        "No valid entity in list command\nInput line must include \"Account\", \"Association\", \"Cluster\", "
        "\"QOS\", "
        "\"TRES\", or \"User\"");
  }
  const std::span<char*> rest(argv + optind, static_cast<size_t>(argc - optind));
  if (const auto problem = read_words(rest, question)) return refuse(*problem);
  return show(question);
}

}  // namespace minke::cli
