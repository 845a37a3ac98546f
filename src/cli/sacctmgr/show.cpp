#include "cli/sacctmgr/show.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "api/field.pb.h"
#include "api/machine.pb.h"
#include "base/version.h"
#include "cli/sacctmgr/change.h"
#include "cli/sacctmgr/document.h"
#include "cli/sacctmgr/show_fields.h"
#include "cli/sacctmgr/show_past.h"
#include "cli/sacctmgr/show_present.h"
#include "model/accounts.pb.h"
#include "text/list.h"
#include "text/number.h"
#include "view/output.h"
#include "view/text.h"

namespace minke::cli {
namespace {

using model::AssociationRecord;

using Line = ShownLine;

constexpr std::string_view kAssociationFormat =
    "cluster,account,user,partition,share,priority,grpjobs,grptres,grpsubmit,grpwall,grptresmins,maxjobs,"
    "maxtresperjob,"
    "maxtrespernode,maxsubmit,maxwall,maxtresmins,qos,defaultqos,grptresrunmins";
constexpr std::string_view kQosFormat =
    "name,priority,gracetime,preempt,preemptexempttime,preemptmode,flags,usagethreshold,usagefactor,grptres,"
    "grptresmins,"
    "grptresrunmins,grpjobs,grpsubmit,grpwall,maxtresperjob,maxtrespernode,maxtresmins,maxwall,maxtrespu,"
    "maxjobspu,"
    "maxsubmitpu,maxtrespa,maxtresrunminspa,maxtresrunminspu,maxjobspa,maxsubmitpa,mintres";

struct Entity {
  std::string_view name;
  size_t shortest;
};
constexpr Entity kEntities[] = {
    {"accounts", 2},    {"associations", 2}, {"clusters", 2}, {"configuration", 2}, {"problems", 1},
    {"qos", 1},         {"runawayjobs", 2},  {"stats", 1},    {"transactions", 4},  {"tres", 2},
    {"users", 1},       {"wckeys", 1},       {"events", 1},   {"resources", 4},     {"reservations", 4},
    {"federations", 1}, {"instances", 1}};

struct Question {
  std::vector<Word> where;
  std::string format;
  std::set<std::string> with;  // withassoc, tree …
};

bool has(const std::vector<std::string>& list, const std::string& name) {
  return list.empty() || std::find(list.begin(), list.end(), name) != list.end();
}

int depth_of(const accounts::AccountBook& book, const AssociationRecord& one) {
  int depth = 0;
  for (uint32_t id = one.id(); (id = book.parent(id)) != 0;) ++depth;
  return depth;
}

// Returns the clusters asked for, as in the book; unknown ones are left out.
std::vector<std::string> clusters_in(const AccountingSession& session, const Question& question) {
  std::vector<std::string> clusters;
  for (const auto& [name, record] : session.book().clusters()) {
    if (has(list_of(question.where, "cluster"), text::lower_case(session.cluster_name(name))))
      clusters.push_back(name);
  }
  return clusters;
}

std::vector<Line> cluster_lines(const AccountingSession& session, const Question& question) {
  const accounts::AccountBook& book = session.book();
  const auto names = names_in(question.where, "cluster"), federations = list_of(question.where, "federation");
  std::vector<Line> lines;
  for (const auto& [name, record] : book.clusters()) {
    if (!has(names, text::lower_case(session.cluster_name(name))) || !has(federations, record.federation()))
      continue;
    if (question.with.contains("withfed") && !federations.empty() && record.federation().empty()) continue;
    Line& line = lines.emplace_back();
    line.cluster = &record;
    line.association = book.association(book.root_of(name));
  }
  return lines;
}

std::vector<Line> federation_lines(const AccountingSession& session, const Question& question) {
  const auto names = names_in(question.where, "federation"), clusters = list_of(question.where, "cluster");
  const bool tree = question.with.contains("tree");
  std::vector<Line> lines;
  for (const auto& [name, record] : session.book().federations()) {
    if (!has(names, name)) continue;
    std::vector<Line> members;
    for (const auto& [in_book, cluster] : session.book().clusters()) {
      if (cluster.federation() != name || !has(clusters, text::lower_case(session.cluster_name(in_book))))
        continue;
      Line& line = members.emplace_back();
      line.cluster = &cluster;
      line.is_federation = true;
      if (!tree) line.federation = name;
    }
    if (members.empty() && !clusters.empty()) continue;
    std::sort(members.begin(), members.end(), [](const Line& a, const Line& b) {
      return a.cluster->federation_id() < b.cluster->federation_id();
    });
    if (members.empty() || tree) lines.emplace_back().federation = name;
    lines.insert(lines.end(), members.begin(), members.end());
  }
  return lines;
}

std::vector<Line> resource_lines(const AccountingSession& session, const Question& question) {
  const auto names = names_in(question.where, "resource"), servers = list_of(question.where, "server");
  std::vector<Line> lines;
  for (const auto& [key, record] : session.book().resources()) {
    if (!has(names, record.name()) || !has(servers, record.server())) continue;
    if (!question.with.contains("withclusters")) {
      lines.emplace_back().resource = &record;
      continue;
    }
    for (const auto& share : record.shares()) {
      const std::string cluster = text::lower_case(session.cluster_name(share.cluster()));
      if (!has(list_of(question.where, "cluster"), cluster)) continue;
      Line& line = lines.emplace_back();
      line.resource = &record;
      line.share = &share;
    }
  }
  return lines;
}

std::vector<Line> wckey_lines(const AccountingSession& session, const Question& question) {
  const auto names = names_in(question.where, "wckeys"), users = list_of(question.where, "user");
  std::vector<Line> lines;
  for (const auto& [user, record] : session.book().users()) {
    if (!has(users, user)) continue;
    for (const std::string& key : record.wckeys()) {
      if (!has(names, key)) continue;
      Line& line = lines.emplace_back();
      line.type = "wckey", line.name = key;
      line.user = &record;
    }
  }
  return lines;
}

std::vector<Line> association_lines(const AccountingSession& session, const Question& question) {
  const accounts::AccountBook& book = session.book();
  std::vector<Line> lines;
  const auto users = list_of(question.where, "user"), partitions = list_of(question.where, "partition"),
             parents = list_of(question.where, "parent"), ids = list_of(question.where, "id");
  auto accounts = list_of(question.where, "account");
  if (question.with.contains("withsubaccounts") && !accounts.empty()) {
    for (const auto& [id, one] : book.associations()) {
      for (const std::string& above : std::vector(accounts)) {
        const AssociationRecord* top = book.find(above, {}, {}, one.cluster());
        if (top != nullptr && book.below(id, top->id())) accounts.push_back(one.account());
      }
    }
  }
  std::vector<uint32_t> order;
  for (const std::string& cluster : clusters_in(session, question)) {
    const auto tree = book.in_tree_order(book.root_of(cluster));
    order.insert(order.end(), tree.begin(), tree.end());
  }
  for (const uint32_t id : order) {
    const AssociationRecord& one = *book.association(id);
    if (!has(accounts, one.account()) || !has(users, one.user()) || !has(partitions, one.partition()) ||
        !has(parents, one.parent_account()) || !has(ids, std::to_string(id)))
      continue;
    if (question.with.contains("onlydefaults") &&
        (one.user().empty() || book.default_account(one.user(), one.cluster()) != one.account()))
      continue;
    Line& line = lines.emplace_back();
    line.association = &one;
    if (question.with.contains("tree")) line.level = depth_of(book, one);
  }
  return lines;
}

// What AccountingStorageTRES lists beside Slurm's own TRES and GPUs: "gres/nic", "license/x".
std::vector<std::string> further_tres(AccountingSession& session) {
  std::vector<std::string> further;
  const auto answer = session.engine().configuration();
  if (!answer) return further;
  for (const api::Field& field : answer->values()) {
    if (field.name() != "AccountingStorageTRES") continue;
    for (const std::string_view tres : text::split(field.value(), ','))
      if ((tres.starts_with("gres/") && tres != "gres/gpu") || tres.starts_with("license/"))
        further.emplace_back(tres);
  }
  return further;
}

std::vector<Line> lines_of(AccountingSession& session, std::string_view entity, const Question& question) {
  const accounts::AccountBook& book = session.book();
  std::vector<Line> lines;
  if (entity == "associations") return association_lines(session, question);
  if (entity == "qos") {
    const auto names = names_in(question.where, "qos");
    const auto ids = list_of(question.where, "id"), descriptions = list_of(question.where, "description");
    for (const auto& [id, one] : book.qos()) {
      if (has(names, one.name()) && has(ids, std::to_string(id)) &&
          has(descriptions, text::lower_case(one.description())))
        lines.emplace_back().qos = &one;
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
      const size_t before = lines.size();
      for (Line line : association_lines(session, inner)) {
        if (line.association->account() != name) continue;
        line.account = &one;
        lines.push_back(line);
      }
      if (lines.size() == before) lines.emplace_back().account = &one;
    }
  } else if (entity == "users") {
    const auto names = names_in(question.where, "user");
    const auto levels = list_of(question.where, "adminlevel");
    for (const auto& [name, one] : book.users()) {
      if (!has(names, name)) continue;
      if (!levels.empty() && parse_admin_level(levels.front()) != one.admin_level()) continue;
      if (!question.with.contains("withassoc")) {
        Line& line = lines.emplace_back();
        line.user = &one;
        const auto clusters = clusters_in(session, question);
        if (!list_of(question.where, "cluster").empty() && !clusters.empty())
          line.default_on = clusters.front();
        continue;
      }
      Question inner = question;
      std::erase_if(inner.where, [](const Word& word) { return word.name.empty() || word.name == "name"; });
      const size_t before = lines.size();
      for (Line line : association_lines(session, inner)) {
        if (line.association->user() != name) continue;
        line.user = &one;
        lines.push_back(line);
      }
      if (lines.size() == before) lines.emplace_back().user = &one;
    }
  } else if (entity == "clusters") {
    return cluster_lines(session, question);
  } else if (entity == "federations") {
    return federation_lines(session, question);
  } else if (entity == "resources") {
    return resource_lines(session, question);
  } else if (entity == "wckeys") {
    return wckey_lines(session, question);
  } else if (entity == "tres") {
    constexpr const char* kTres[][3] = {{"cpu", "", "1"},  {"mem", "", "2"},     {"energy", "", "3"},
                                        {"node", "", "4"}, {"billing", "", "5"}, {"fs", "disk", "6"},
                                        {"vmem", "", "7"}, {"pages", "", "8"},   {"gres", "gpu", "1001"}};
    for (const auto& [type, name, id] : kTres) {
      Line& line = lines.emplace_back();
      line.type = type, line.name = name, line.id = id;
    }
    int id = 1003;  // Slurm's gres/gpumem and gres/gpuutil have the two behind gres/gpu
    for (const std::string& tres : further_tres(session)) {
      Line& line = lines.emplace_back();
      const size_t slash = tres.find('/');
      line.type = tres.substr(0, slash), line.name = tres.substr(slash + 1), line.id = std::to_string(++id);
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
    return std::string() +
           "cluster,controlhost,controlport,rpc,share,grpjobs,grptres,grpsubmit,maxjobs,maxtresperjob,"
           "maxsubmit,maxwall,qos,defaultqos" +
           std::string(question.with.contains("withfed") ? ",federation,id,features,fedstate" : "");
  if (entity == "tres") return "type,name%15,id";
  if (entity == "federations") return "federation,cluster,id%2,features,fedstate";
  if (entity == "resources") {
    return spoken_release() < kSlurm24
               ? "name%10,server,type%8,count,allocated,servertype"
               : "name%10,server,type%8,count,lastconsumed,allocatednow,servertype,flags%20";
  }
  if (entity == "wckeys") return "wckey,cluster,user";
  if (entity == "events") return "cluster,nodename,timestart,timeend,state,reason,user";
  if (entity == "transactions") return "time,action,actor,where,info";
  if (entity == "reservations") return "cluster,name%15,tres,timestart,timeend,unusedwall";
  if (entity == "instances") return "cluster,nodename,timestart,timeend,instanceid,instancetype,extra";
  return "cluster,account,user,problem";
}

// The column of accounts in a tree: left-aligned, and wide.
std::string with_wide_accounts(const std::string& format) {
  std::string wide;
  for (const std::string& word : text::split_list(format)) {
    const bool plain =
        text::equals_ignoring_case(word, "account") || text::equals_ignoring_case(word, "acct");
    wide += (wide.empty() ? "" : ",") + word + (plain ? "%-20" : "");
  }
  return wide;
}

}  // namespace

int show_entity(AccountingSession& session, std::string_view given, std::span<char* const> words,
                const ShowStyle& style) {
  if (style.document) {
    if (const auto status = show_document_of_its_own(session, given, style)) return *status;
  }
  const auto* entity = std::find_if(std::begin(kEntities), std::end(kEntities), [&](const Entity& one) {
    return given.size() >= one.shortest && text::starts_with_ignoring_case(one.name, given);
  });
  if (entity == std::end(kEntities))
    return refuse(
        "No valid entity in list command\nInput line must include \"Account\", \"Association\", \"Cluster\", "
        "\"Configuration\",\n\"Event\", \"Federation\", \"Problem\", \"QOS\", \"Resource\", "
        "\"Reservation\",\n"
        "\"RunAwayJobs\", \"Stats\", \"Transaction\", \"TRES\", \"User\", or \"WCKey\"" +
        std::string(given.starts_with("job") ? " (jobs stand in squeue, and those that ended in sacct)"
                                             : ""));
  const std::string_view name = entity->name;
  if (name == "runawayjobs") {
    view::write_out("Runaway Jobs: No runaway jobs found on cluster " + session.cluster() + "\n");
    return 0;
  }
  if (name == "configuration") return show_configuration(session);
  // Tables that a slurmdbd would keep beside the accounts.
  constexpr std::pair<std::string_view, std::string_view> kNotKept[] = {
      {"stats", "there is no slurmdbd here; sdiag has the statistics of the daemon"}};
  for (const auto& [entity_name, reason] : kNotKept) {
    if (name == entity_name)
      return refuse("sacctmgr: error: " + std::string(name) + ": " + std::string(reason));
  }
  Question question;
  for (Word& word : split_words(words).where) {
    if (word.name == "format") {
      question.format += (question.format.empty() ? "" : ",") + word.value;
      continue;
    }
    if (word.name.empty()) {
      const std::string option = text::lower_case(word.value);
      bool known = false;
      for (const std::string_view one :
           {"withassoc", "withcoord", "withdeleted", "withsubaccounts", "withrawqoslevel", "tree", "wolimits",
            "wopinfo", "woplimits", "onlydefaults", "withfed", "withclusters", "all_time", "all_clusters"}) {
        if (option.size() >= 4 && one.starts_with(option) && !known) question.with.emplace(one), known = true;
      }
      if (known) continue;
      if (name == "associations" || name == "tres" || name == "problems")
        return refuse(unknown_condition(word));
    } else {
      constexpr std::string_view kConditions[] = {
          "account",        "user",           "cluster",     "partition",
          "name",           "parent",         "id",          "qos",
          "adminlevel",     "defaultaccount", "description", "organization",
          "type",           "defaultqos",     "start",       "end",
          "fairshare",      "federation",     "server",      "wckeys",
          "classification", "nodes",          "names",       "action",
          "actor",          "state",          "reason",      "event",
          "condflags"};
      if (std::find(std::begin(kConditions), std::end(kConditions), word.name) == std::end(kConditions))
        return refuse(unknown_condition(word));
    }
    question.where.push_back(std::move(word));
  }
  if (style.with_associations) question.with.emplace("withassoc");
  std::string format = question.format.empty() ? default_format(name, question) : question.format;
  if (question.with.contains("tree") && name == "associations") format = with_wide_accounts(format);
  const auto columns = view::parse_print_format(show_fields(), format);
  if (!columns) {
    const std::string& message = columns.error().message;
    const size_t quote = message.find('"');
    return refuse("Unknown field '" + message.substr(quote + 1, message.size() - quote - 2) + "'");
  }
  std::vector<Line> lines;
  if (name == "events" || name == "transactions" || name == "reservations") {
    auto found = name == "events"         ? event_lines(session, question.where, question.with)
                 : name == "transactions" ? transaction_lines(session, question.where)
                                          : reservation_lines(session, names_in(question.where, "names"));
    if (!found)
      return refuse((found.error().code == kToldAsItIs ? "" : "sacctmgr: error: ") + found.error().message);
    lines = std::move(*found);
  } else {
    lines = lines_of(session, name, question);
  }
  if (style.document) {
    if (const auto status = show_document(session, name, lines, question.with.contains("withassoc"), style))
      return *status;
  }
  const ShowContext context{&session,
                            question.with.contains("woplimits") || question.with.contains("wopinfo")};
  std::string out;
  const std::span<const view::PrintColumn<ShowField>> shown = *columns;
  if (!style.no_header) view::append_print_header(shown, style.layout, "|", out);
  for (const Line& line : lines) view::append_print_line(shown, style.layout, "|", line, context, out);
  view::write_out(out);
  return 0;
}

}  // namespace minke::cli
