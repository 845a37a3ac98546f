#include "cli/sacctmgr/show.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "cli/fetch.h"
#include "cli/sacctmgr/change.h"
#include "text/duration.h"

namespace minke::cli {
namespace {

using model::AssociationRecord;
using model::Limits;

// One row of any table; what it is not about is null.
struct Line {
  const AssociationRecord* association = nullptr;
  const model::AccountRecord* account = nullptr;
  const model::UserRecord* user = nullptr;
  const model::QosRecord* qos = nullptr;
  int level = 0;  // in the tree
  std::string type, name, id, problem;
};
struct Context {
  const AccountingSession* session;
  bool own_limits = false;  // WOPLimits: only what is set there itself
  const sched::AccountBook& book() const { return session->book(); }
};
using Field = PrintField<Line, Context>;

Limits limits_of(const Line& line, const Context& context) {
  if (line.qos != nullptr) return line.qos->limits();
  if (line.association == nullptr) return {};
  return context.own_limits ? line.association->limits()
                            : context.book().effective_limits(line.association->id());
}

void nothing(const Line&, const Context&, std::string&) {}
void cluster(const Line& line, const Context& context, std::string& out) {
  if (line.association != nullptr || line.type == "cluster") out += context.session->cluster();
}
void account(const Line& line, const Context&, std::string& out) {
  out.append(static_cast<size_t>(line.level), ' ');
  out += line.account != nullptr       ? line.account->name()
         : line.association != nullptr ? line.association->account()
                                       : "";
}
void user(const Line& line, const Context&, std::string& out) {
  out += line.user != nullptr          ? line.user->name()
         : line.association != nullptr ? line.association->user()
                                       : "";
}
void default_account(const Line& line, const Context&, std::string& out) {
  if (line.user != nullptr) out += line.user->default_account();
}
void admin_level(const Line& line, const Context&, std::string& out) {
  if (line.user != nullptr) out += admin_level_text(line.user->admin_level());
}
void description(const Line& line, const Context&, std::string& out) {
  if (line.account != nullptr) out += line.account->description();
  if (line.qos != nullptr) out += line.qos->description();
}
void organization(const Line& line, const Context&, std::string& out) {
  if (line.account != nullptr) out += line.account->organization();
}
void coordinators(const Line& line, const Context& context, std::string& out) {
  std::vector<std::string> names;
  if (line.account != nullptr)
    names.assign(line.account->coordinators().begin(), line.account->coordinators().end());
  for (const auto& [name, one] : context.book().accounts()) {
    const auto& list = one.coordinators();
    if (line.user != nullptr && std::find(list.begin(), list.end(), line.user->name()) != list.end())
      names.push_back(name);
  }
  out += fmt::format("{}", fmt::join(names, ","));
}
void partition(const Line& line, const Context&, std::string& out) {
  if (line.association != nullptr) out += line.association->partition();
}
void share(const Line& line, const Context&, std::string& out) {
  if (line.association == nullptr) return;
  out += line.association->shares() == sched::kSharesAsParent ? "parent"
                                                              : std::to_string(line.association->shares());
}
void priority(const Line& line, const Context&, std::string& out) {
  if (line.qos != nullptr) out += std::to_string(line.qos->priority());
  if (line.association != nullptr && line.association->has_priority())
    out += std::to_string(line.association->priority());
}
void qos(const Line& line, const Context& context, std::string& out) {
  if (line.association == nullptr) return;
  if (context.own_limits) {
    out += fmt::format("{}", fmt::join(line.association->qos(), ","));
  } else {
    out += fmt::format("{}", fmt::join(context.book().allowed_qos(line.association->id()), ","));
  }
}
void default_qos(const Line& line, const Context& context, std::string& out) {
  if (line.association == nullptr) return;
  out += context.own_limits ? line.association->default_qos()
                            : context.book().default_qos(line.association->id());
}
void id(const Line& line, const Context&, std::string& out) {
  out += line.association != nullptr ? std::to_string(line.association->id())
         : line.qos != nullptr       ? std::to_string(line.qos->id())
                                     : line.id;
}
void parent_id(const Line& line, const Context& context, std::string& out) {
  if (line.association != nullptr) out += std::to_string(context.book().parent(line.association->id()));
}
void parent_name(const Line& line, const Context&, std::string& out) {
  if (line.association != nullptr) out += line.association->parent_account();
}
// Nested intervals, as Slurm numbers its tree.
std::pair<uint64_t, uint64_t> interval(const sched::AccountBook& book, uint32_t wanted) {
  uint64_t next = 0, begin = 0, end = 0;
  const std::function<void(uint32_t)> walk = [&](uint32_t one) {
    const uint64_t left = ++next;
    for (const uint32_t child : book.children(one)) walk(child);
    ++next;
    if (one == wanted) begin = left, end = next;
  };
  walk(sched::kRootAssociation);
  return {begin, end};
}
void left(const Line& line, const Context& context, std::string& out) {
  if (line.association != nullptr)
    out += std::to_string(interval(context.book(), line.association->id()).first);
}
void right(const Line& line, const Context& context, std::string& out) {
  if (line.association != nullptr)
    out += std::to_string(interval(context.book(), line.association->id()).second);
}
void comment(const Line& line, const Context&, std::string& out) {
  if (line.association != nullptr) out += line.association->comment();
}
void core_years(const Line& line, const Context&, std::string& out) {
  if (line.association != nullptr && line.association->core_years() > 0)
    out += fmt::format("{:g}", line.association->core_years());
}
void rgu_years(const Line& line, const Context&, std::string& out) {
  if (line.association != nullptr && line.association->rgu_years() > 0)
    out += fmt::format("{:g}", line.association->rgu_years());
}

template <bool (Limits::*has)() const, uint32_t (Limits::*get)() const>
void count(const Line& line, const Context& context, std::string& out) {
  const Limits limits = limits_of(line, context);
  if ((limits.*has)()) out += std::to_string((limits.*get)());
}
template <bool (Limits::*has)() const, uint32_t (Limits::*get)() const>
void minutes(const Line& line, const Context& context, std::string& out) {
  const Limits limits = limits_of(line, context);
  if ((limits.*has)()) out += minutes_text((limits.*get)());
}
using TresLimits = google::protobuf::RepeatedPtrField<model::Tres>;
template <const TresLimits& (Limits::*get)() const>
void tres(const Line& line, const Context& context, std::string& out) {
  const Limits limits = limits_of(line, context);
  out += tres_text((limits.*get)(), true);
}

void name(const Line& line, const Context&, std::string& out) {
  out += line.qos != nullptr       ? line.qos->name()
         : line.account != nullptr ? line.account->name()
         : line.user != nullptr    ? line.user->name()
                                   : line.name;
}
void flags(const Line& line, const Context&, std::string& out) {
  if (line.qos != nullptr) out += fmt::format("{}", fmt::join(line.qos->flags(), ","));
}
void grace(const Line& line, const Context&, std::string& out) {
  if (line.qos != nullptr) out += text::format_seconds(line.qos->grace_seconds());
}
void preempt(const Line& line, const Context&, std::string& out) {
  if (line.qos != nullptr) out += fmt::format("{}", fmt::join(line.qos->preempt(), ","));
}
void preempt_mode(const Line& line, const Context&, std::string& out) {
  if (line.qos != nullptr) out += line.qos->preempt_mode().empty() ? "cluster" : line.qos->preempt_mode();
}
void usage_factor(const Line& line, const Context&, std::string& out) {
  if (line.qos != nullptr)
    fmt::format_to(std::back_inserter(out), "{:.6f}",
                   line.qos->has_usage_factor() ? line.qos->usage_factor() : 1.0);
}
void type(const Line& line, const Context&, std::string& out) {
  out += line.type;
}
void problem(const Line& line, const Context&, std::string& out) {
  out += line.problem;
}
void host(const Line&, const Context&, std::string& out) {
  out += "localhost";
}
void rpc_version(const Line&, const Context&, std::string& out) {
  out += "9728";
}

constexpr PrintFit kPlus = PrintFit::kPlus;

#define MINKE_COUNT(field) count<&Limits::has_##field, &Limits::field>
#define MINKE_MINUTES(field) minutes<&Limits::has_##field, &Limits::field>
#define MINKE_TRES(field) tres<&Limits::field>

constexpr Field kFields[] = {
    {"Account", 10, kPlus, account},
    {"Allocated", 11, kPlus, nothing, "% Allocated"},
    {"Count", 6, kPlus, nothing},
    {"Features", 20, kPlus, nothing},
    {"Federation", 10, kPlus, nothing},
    {"FedState", 12, kPlus, nothing},
    {"Server", 10, kPlus, nothing},
    {"ServerType", 10, kPlus, nothing},
    {"AdminLevel", 9, kPlus, admin_level, "Admin"},
    {"Cluster", 10, kPlus, cluster},
    {"Comment", 20, kPlus, comment},
    {"ControlHost", 15, kPlus, host},
    {"ControlPort", 12, kPlus, nothing},
    {"Coordinators", 20, kPlus, coordinators, "Coord Accounts"},
    {"CoreYears", 10, kPlus, core_years},
    {"DefaultAccount", 10, kPlus, default_account, "Def Acct"},
    {"DefaultQOS", 9, kPlus, default_qos, "Def QOS"},
    {"DefaultWCKey", 10, kPlus, nothing, "Def WCKey"},
    {"Description", 20, kPlus, description, "Descr"},
    {"Fairshare", 9, kPlus, share, "Share"},
    {"Flags", 40, kPlus, flags},
    {"GraceTime", 10, kPlus, grace},
    {"GrpCPUs", 8, kPlus, nothing},
    {"GrpTRES", 13, kPlus, MINKE_TRES(grp_tres)},
    {"GrpTRESMins", 13, kPlus, MINKE_TRES(grp_tres_mins)},
    {"GrpTRESRunMins", 13, kPlus, MINKE_TRES(grp_tres_run_mins)},
    {"GrpJobs", 7, kPlus, MINKE_COUNT(grp_jobs)},
    {"GrpJobsAccrue", 13, kPlus, MINKE_COUNT(grp_jobs_accrue)},
    {"GrpSubmitJobs", 9, kPlus, MINKE_COUNT(grp_submit_jobs), "GrpSubmit"},
    {"GrpWall", 11, kPlus, MINKE_MINUTES(grp_wall)},
    {"ID", 6, kPlus, id},
    {"LFT", 6, kPlus, left},
    {"MaxCPUMins", 11, kPlus, nothing},
    {"MaxCPUs", 8, kPlus, nothing},
    {"MaxTRESPA", 13, kPlus, MINKE_TRES(max_tres_per_account)},
    {"MaxTRESPerAccount", 13, kPlus, MINKE_TRES(max_tres_per_account), "MaxTRESPA"},
    {"MaxTRESPU", 13, kPlus, MINKE_TRES(max_tres_per_user)},
    {"MaxTRESPerUser", 13, kPlus, MINKE_TRES(max_tres_per_user), "MaxTRESPU"},
    {"MaxTRESPerNode", 14, kPlus, MINKE_TRES(max_tres_per_node)},
    {"MaxTRESMinsPerJob", 13, kPlus, MINKE_TRES(max_tres_mins), "MaxTRESMins"},
    {"MaxTRESPerJob", 13, kPlus, MINKE_TRES(max_tres), "MaxTRES"},
    {"MaxJobsPA", 9, kPlus, MINKE_COUNT(max_jobs_per_account)},
    {"MaxJobsPU", 9, kPlus, MINKE_COUNT(max_jobs)},
    {"MaxJobsPerUser", 9, kPlus, MINKE_COUNT(max_jobs), "MaxJobsPU"},
    {"MaxJobsAccrue", 13, kPlus, MINKE_COUNT(max_jobs_accrue)},
    {"MaxJobs", 7, kPlus, MINKE_COUNT(max_jobs)},
    {"MaxNodes", 8, kPlus, nothing},
    {"MaxSubmitPA", 11, kPlus, MINKE_COUNT(max_submit_jobs_per_account)},
    {"MaxSubmitPU", 11, kPlus, MINKE_COUNT(max_submit_jobs)},
    {"MaxSubmitJobs", 9, kPlus, MINKE_COUNT(max_submit_jobs), "MaxSubmit"},
    {"MaxWallDurationPerJob", 11, kPlus, MINKE_MINUTES(max_wall), "MaxWall"},
    {"MinTRES", 13, kPlus, MINKE_TRES(min_tres)},
    {"Name", 10, kPlus, name},
    {"Organization", 20, kPlus, organization, "Org"},
    {"ParentID", 6, kPlus, parent_id},
    {"ParentName", 10, kPlus, parent_name},
    {"Partition", 10, kPlus, partition},
    {"PreemptMode", 11, kPlus, preempt_mode},
    {"PreemptExemptTime", 19, kPlus, nothing},
    {"Preempt", 10, kPlus, preempt},
    {"Priority", 10, kPlus, priority},
    {"Problem", 40, kPlus, problem},
    {"QOS", 20, kPlus, qos},
    {"RGT", 6, kPlus, right},
    {"RGUYears", 10, kPlus, rgu_years},
    {"RPC", 5, kPlus, rpc_version},
    {"Share", 9, kPlus, share},
    {"Type", 8, kPlus, type},
    {"UsageFactor", 11, kPlus, usage_factor},
    {"UsageThreshold", 10, kPlus, nothing, "UsageThres"},
    {"User", 10, kPlus, user},
    {"WCKey", 10, kPlus, nothing},
};

constexpr std::string_view kAssociationFormat =
    "cluster,account,user,partition,share,priority,grpjobs,grptres,grpsubmit,grpwall,grptresmins,maxjobs,"
    "maxtresperjob,"
    "maxtrespernode,maxsubmit,maxwall,maxtresmins,qos,defaultqos,grptresrunmins";
constexpr std::string_view kQosFormat =
    "name,priority,gracetime,preempt,preemptexempttime,preemptmode,flags,usagethreshold,usagefactor,grptres,"
    "grptresmins,"
    "grptresrunmins,grpjobs,grpsubmit,grpwall,maxtresperjob,maxtrespernode,maxtresmins,maxwall,maxtrespu,"
    "maxjobspu,"
    "maxsubmitpu,maxtrespa,maxjobspa,maxsubmitpa,mintres";

struct Entity {
  std::string_view name;
  size_t shortest;
};
constexpr Entity kEntities[] = {
    {"accounts", 2},     {"associations", 2}, {"clusters", 2},     {"configuration", 2},
    {"problems", 1},     {"qos", 1},          {"runawayjobs", 2},  {"stats", 1},
    {"transactions", 4}, {"tres", 2},         {"users", 1},        {"wckeys", 1},
    {"events", 1},       {"resources", 4},    {"reservations", 4}, {"federations", 1}};

struct Question {
  std::vector<Word> where;
  std::string format;
  std::set<std::string> with;  // withassoc, tree …
};

bool has(const std::vector<std::string>& list, const std::string& name) {
  return list.empty() || std::find(list.begin(), list.end(), name) != list.end();
}

int depth_of(const sched::AccountBook& book, const AssociationRecord& one) {
  int depth = 0;
  for (uint32_t id = one.id(); (id = book.parent(id)) != 0;) ++depth;
  return depth;
}

std::vector<Line> association_lines(const AccountingSession& session, const Question& question) {
  const sched::AccountBook& book = session.book();
  std::vector<Line> lines;
  const auto users = list_of(question.where, "user"), partitions = list_of(question.where, "partition"),
             parents = list_of(question.where, "parent"), ids = list_of(question.where, "id");
  auto accounts = list_of(question.where, "account");
  if (question.with.contains("withsubaccounts") && !accounts.empty()) {
    for (const auto& [id, one] : book.associations()) {
      for (const std::string& above : std::vector(accounts)) {
        const AssociationRecord* top = book.find(above);
        if (top != nullptr && book.below(id, top->id())) accounts.push_back(one.account());
      }
    }
  }
  for (const uint32_t id : book.in_tree_order()) {
    const AssociationRecord& one = *book.association(id);
    if (!has(accounts, one.account()) || !has(users, one.user()) || !has(partitions, one.partition()) ||
        !has(parents, one.parent_account()) || !has(ids, std::to_string(id)))
      continue;
    if (question.with.contains("onlydefaults") &&
        (one.user().empty() || book.user(one.user())->default_account() != one.account()))
      continue;
    Line& line = lines.emplace_back();
    line.association = &one;
    if (question.with.contains("tree")) line.level = depth_of(book, one);
  }
  return lines;
}

std::vector<Line> lines_of(const AccountingSession& session, std::string_view entity,
                           const Question& question) {
  const sched::AccountBook& book = session.book();
  std::vector<Line> lines;
  if (entity == "associations") return association_lines(session, question);
  if (entity == "qos") {
    const auto names = names_in(question.where, "qos");
    for (const auto& [id, one] : book.qos()) {
      if (has(names, one.name())) lines.emplace_back().qos = &one;
    }
  } else if (entity == "accounts") {
    const auto names = names_in(question.where, "account");
    for (const auto& [name, one] : book.accounts()) {
      if (!has(names, name)) continue;
      if (!question.with.contains("withassoc")) {
        lines.emplace_back().account = &one;
        continue;
      }
      Question inner = question;
      std::erase_if(inner.where, [](const Word& word) { return word.name.empty() || word.name == "name"; });
      for (Line line : association_lines(session, inner)) {
        if (line.association->account() != name) continue;
        line.account = &one;
        lines.push_back(line);
      }
    }
  } else if (entity == "users") {
    const auto names = names_in(question.where, "user");
    const auto levels = list_of(question.where, "adminlevel");
    for (const auto& [name, one] : book.users()) {
      if (!has(names, name)) continue;
      if (!levels.empty() && parse_admin_level(levels.front()) != one.admin_level()) continue;
      if (!question.with.contains("withassoc")) {
        lines.emplace_back().user = &one;
        continue;
      }
      Question inner = question;
      std::erase_if(inner.where, [](const Word& word) { return word.name.empty() || word.name == "name"; });
      for (Line line : association_lines(session, inner)) {
        if (line.association->user() != name) continue;
        line.user = &one;
        lines.push_back(line);
      }
    }
  } else if (entity == "clusters") {
    Line& line = lines.emplace_back();
    line.type = "cluster";
    line.association = book.association(sched::kRootAssociation);
  } else if (entity == "tres") {
    constexpr const char* kTres[][3] = {{"cpu", "", "1"},  {"mem", "", "2"},     {"energy", "", "3"},
                                        {"node", "", "4"}, {"billing", "", "5"}, {"fs", "disk", "6"},
                                        {"vmem", "", "7"}, {"pages", "", "8"},   {"gres", "gpu", "1001"}};
    for (const auto& [type, name, id] : kTres) {
      Line& line = lines.emplace_back();
      line.type = type, line.name = name, line.id = id;
    }
  } else if (entity == "problems") {
    for (const auto& [name, one] : book.accounts()) {
      if (book.find(name) != nullptr) continue;
      Line& line = lines.emplace_back();
      line.account = &one;
      line.problem = "Account has no Associations";
    }
    for (const auto& [name, one] : book.users()) {
      if (!book.accounts_of(name).empty()) continue;
      Line& line = lines.emplace_back();
      line.user = &one;
      line.problem = "User has no Associations";
    }
  }
  return lines;
}

std::string default_format(std::string_view entity, const Question& question) {
  const bool with = question.with.contains("withassoc"), coordinators = question.with.contains("withcoord");
  if (entity == "associations")
    return question.with.contains("wolimits") ? question.with.contains("tree")
                                                    ? "cluster,account%-20,user,partition"
                                                    : "cluster,account,user,partition"
           : question.with.contains("tree")
               ? "cluster,account%-20" + std::string(kAssociationFormat.substr(15))
               : std::string(kAssociationFormat);
  if (entity == "qos") return std::string(kQosFormat);
  if (entity == "accounts")
    return std::string("account,description,organization") + (coordinators ? ",coordinators" : "") +
           (with ? ",cluster,parentname,user,share,priority,grpjobs,grptres,grpsubmit,grpwall,grptresmins,"
                   "maxjobs,"
                   "maxtresperjob,maxsubmit,maxwall,maxtresmins,qos,defaultqos"
                 : "");
  if (entity == "users")
    return std::string("user,defaultaccount,adminlevel") + (coordinators ? ",coordinators" : "") +
           (with ? ",cluster,account,partition,share,priority,maxjobs,maxnodes,maxcpus,maxsubmit,maxwall,"
                   "maxcpumins,qos,"
                   "defaultqos"
                 : "");
  if (entity == "clusters")
    return "cluster,controlhost,controlport,rpc,share,grpjobs,grptres,grpsubmit,maxjobs,maxtresperjob,"
           "maxsubmit,maxwall,"
           "qos,defaultqos";
  if (entity == "tres") return "type,name%15,id";
  if (entity == "federations") return "federation,cluster,id%2,features,fedstate";  // there are none
  if (entity == "resources") return "name%10,server,type%8,count,allocated,servertype";
  if (entity == "wckeys") return "wckey,cluster,user";
  return "cluster,account,user,problem";
}

}  // namespace

int show_entity(AccountingSession& session, std::string_view given, std::span<char* const> words,
                const ShowStyle& style) {
  const auto refuse = [](const std::string& problem) {
    std::fprintf(stderr, "%s\n", problem.c_str());
    return 1;
  };
  const auto* entity = std::find_if(std::begin(kEntities), std::end(kEntities), [&](const Entity& one) {
    return given.size() >= one.shortest && text::starts_with_ignoring_case(one.name, given);
  });
  if (entity == std::end(kEntities))
    return refuse(
        "No valid entity in list command\nInput line must include \"Account\", \"Association\", \"Cluster\", "
        "\"Configuration\",\n\"Problem\", \"QOS\", \"RunAwayJobs\", \"TRES\", \"User\", or \"WCKey\"");
  const std::string_view name = entity->name;
  if (name == "runawayjobs") {
    write_out("Runaway Jobs: No runaway jobs found on cluster " + session.cluster() + "\n");
    return 0;
  }
  if (name == "configuration") return show_configuration(session);
  if (name == "stats" || name == "transactions" || name == "events" || name == "reservations")
    return refuse("sacctmgr: error: there is no list of " + std::string(name) +
                  " here; see sdiag, sinfo -R and scontrol show reservation");
  Question question;
  for (Word& word : split_words(words).where) {
    if (word.name == "format") {
      question.format += (question.format.empty() ? "" : ",") + word.value;
      continue;
    }
    if (word.name.empty()) {
      std::string option;
      for (const char c : word.value) option += text::to_lower(c);
      bool known = false;
      for (const std::string_view one :
           {"withassoc", "withcoord", "withdeleted", "withsubaccounts", "withrawqoslevel", "tree", "wolimits",
            "wopinfo", "woplimits", "onlydefaults"}) {
        if (option.size() >= 4 && one.starts_with(option)) question.with.emplace(one), known = true;
      }
      if (known) continue;
      if (name == "associations" || name == "tres" || name == "problems")
        return refuse(" Unknown condition: " + word.text);
    } else {
      constexpr std::string_view kConditions[] = {
          "account", "user",       "cluster",        "partition",   "name",         "parent", "id",
          "qos",     "adminlevel", "defaultaccount", "description", "organization", "type",   "defaultqos",
          "start",   "end",        "fairshare"};
      if (std::find(std::begin(kConditions), std::end(kConditions), word.name) == std::end(kConditions))
        return refuse(" Unknown condition: " + word.text);
    }
    question.where.push_back(std::move(word));
  }
  if (style.with_associations) question.with.emplace("withassoc");
  const std::string format = question.format.empty() ? default_format(name, question) : question.format;
  const auto columns = parse_print_format(std::span<const Field>(kFields), format);
  if (!columns) {
    const std::string& message = columns.error().message;
    const size_t quote = message.find('"');
    return refuse("Unknown field '" + message.substr(quote + 1, message.size() - quote - 2) + "'");
  }
  std::string own;
  for (const char c : session.cluster()) own += text::to_lower(c);
  const auto clusters = list_of(question.where, "cluster");
  std::vector<Line> lines;
  if (has(clusters, own)) lines = lines_of(session, name, question);
  const Context context{&session, question.with.contains("woplimits") || question.with.contains("wopinfo")};
  std::string out;
  const std::span<const PrintColumn<Field>> shown = *columns;
  if (!style.no_header) append_print_header(shown, style.layout, "|", out);
  for (const Line& line : lines) append_print_line(shown, style.layout, "|", line, context, out);
  write_out(out);
  return 0;
}

}  // namespace minke::cli
