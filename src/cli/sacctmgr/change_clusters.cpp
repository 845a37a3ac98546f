// sacctmgr on clusters and federations. The cluster of this daemon always exists; others are recorded, with
// accounts of their own, for sites that keep the accounts of several clusters in one place. Nothing is sent
// to them, and a federation with them does not change where jobs run.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/sacctmgr/change.h"
#include "cli/sacctmgr/matching.h"
#include "model/accounts.pb.h"
#include "text/number.h"

namespace minke::cli {
namespace {

using model::AssociationRecord;
using model::ClusterRecord;

constexpr std::string_view kClassifications[] = {"capability", "capacity", "capapacity"};
constexpr std::string_view kStates[] = {"ACTIVE", "INACTIVE", "DRAIN", "DRAIN+REMOVE"};

// The settings that a federation and its clusters share.
struct ClusterSettings {
  std::optional<std::string> federation, state, classification;
  std::vector<Word> features;
};

// Whether the word is a cluster's own. Fails on a malformed value.
Result<bool> read_setting(const Word& word, ClusterSettings& settings, const AccountingSession& session) {
  if (word.name == "federation") {
    settings.federation = text::lower_case(word.value);
    if (!settings.federation->empty() && !session.book().federations().contains(*settings.federation))
      return failure(" The federation " + *settings.federation + " doesn't exist.");
  } else if (word.name == "fedstate") {
    for (const std::string_view state : kStates) {
      if (text::equals_ignoring_case(state, word.value)) settings.state = state;
    }
    if (!settings.state) return failure(" Invalid FedState " + word.value);
  } else if (word.name == "features") {
    settings.features.push_back(word);
  } else if (word.name == "classification") {
    for (const std::string_view one : kClassifications) {
      if (word.value.size() >= 5 && text::starts_with_ignoring_case(one, word.value)) {
        settings.classification = one;
        (*settings.classification)[0] = 'C';
        break;
      }
    }
    if (!settings.classification) return failure(" Invalid classification " + word.value);
  } else {
    return word.name.empty() || word.name == "name" || word.name == "cluster";
  }
  return true;
}

Status read_settings(std::span<const Word> words, ClusterSettings& settings, AssociationRecord& pattern,
                     bool& any, const AccountingSession& session) {
  for (const Word& word : words) {
    const auto own = read_setting(word, settings, session);
    if (!own) return failure(own.error());
    if (*own) continue;
    const auto done = set_association(pattern, word, session.book());
    if (!done) return failure(done.error());
    if (!*done) return failure(unknown_option(word));
    any = true;
  }
  const model::Limits& limits = pattern.limits();
  std::string bad;
  const auto refused = [&](bool given, std::string_view name) {
    if (given)
      bad += std::string(bad.empty() ? "" : "\n").append(name) +
             " is not a valid option for the root association of a cluster.";
  };
  refused(!limits.grp_tres_mins().empty(), "GrpTRESMins");
  refused(!limits.grp_tres_run_mins().empty(), "GrpTRESRunMins");
  refused(limits.has_grp_wall(), "GrpWall");
  if (!bad.empty()) return failure(bad);
  return {};
}

// Returns the lowest number that no cluster of the federation has.
uint32_t free_federation_id(const AccountingSession& session, const std::string& federation) {
  for (uint32_t id = 1;; ++id) {
    const auto taken = [&](const ClusterRecord& one) {
      return one.federation() == federation && one.federation_id() == id;
    };
    const auto& changed = session.change.clusters;
    if (std::any_of(changed.begin(), changed.end(), taken)) continue;
    const auto& known = session.book().clusters();
    if (std::none_of(known.begin(), known.end(), [&](const auto& item) { return taken(item.second); }))
      return id;
  }
}

void join(AccountingSession& session, ClusterRecord& cluster, const std::string& federation) {
  if (cluster.federation() == federation) return;
  cluster.clear_federation();
  cluster.clear_federation_id();
  cluster.clear_federation_state();
  if (federation.empty()) return;
  cluster.set_federation_id(free_federation_id(session, federation));
  cluster.set_federation(federation);
  cluster.set_federation_state("ACTIVE");
}

void set_features(ClusterRecord& cluster, const Word& word) {
  auto& list = *cluster.mutable_features();
  if (word.sign == '=') list.Clear();
  for (const std::string& name : lower_list(word.value)) {
    list.erase(std::remove(list.begin(), list.end(), name), list.end());
    if (word.sign != '-') *list.Add() = name;
  }
}

void apply(AccountingSession& session, ClusterRecord& cluster, const ClusterSettings& settings) {
  if (settings.federation) join(session, cluster, *settings.federation);
  if (settings.state) cluster.set_federation_state(*settings.state);
  if (settings.classification) cluster.set_classification(*settings.classification);
  for (const Word& word : settings.features) set_features(cluster, word);
}

std::string settings_lines(const ClusterSettings& settings) {
  std::string text;
  if (settings.classification) text += "  Classification = " + *settings.classification + "\n";
  for (const Word& word : settings.features) {
    const std::string sign = word.sign == '=' ? " " : std::string(1, word.sign);
    for (const std::string& name : lower_list(word.value))
      text += fmt::format("  Feature{}{}= {}\n", word.sign == '=' ? "      " : "     ", sign, name);
  }
  if (settings.federation) text += "  Federation     = " + *settings.federation + "\n";
  if (settings.state) text += "  FedState       = " + *settings.state + "\n";
  return text;
}

}  // namespace

int add_cluster(AccountingSession& session, const Words& words) {
  std::vector<Word> given = words.where;
  given.insert(given.end(), words.set.begin(), words.set.end());
  ClusterSettings settings;
  AssociationRecord pattern;
  pattern.set_shares(1);
  bool any = false;
  if (const Status read = read_settings(given, settings, pattern, any, session); !read)
    return refuse(read.error().message);
  const auto names = names_in(given, "cluster");
  if (names.empty()) return refuse(" Need name of cluster to add.");
  std::string text;
  for (const std::string& name : names) {
    const std::string in_book = session.cluster_in_book(name);
    if (session.book().clusters().contains(in_book)) {
      refuse(" This cluster " + name + " already exists.  Not adding.");
      continue;
    }
    ClusterRecord cluster;
    cluster.set_name(in_book);
    apply(session, cluster, settings);
    session.change.clusters.push_back(std::move(cluster));
    AssociationRecord& root = session.change.associations.emplace_back(pattern);
    root.set_account(std::string(accounts::kRootAccount));
    root.set_cluster(in_book);
    if (root.qos().empty()) root.add_qos("normal");
    // As on the first cluster, root may use it at once.
    AssociationRecord& user = session.change.associations.emplace_back();
    user.set_account(std::string(accounts::kRootAccount));
    user.set_user("root");
    user.set_cluster(in_book);
    user.set_shares(1);
    text += "  Name           = " + name + "\n";
  }
  if (text.empty()) return 1;
  text = " Adding Cluster(s)\n" + text;
  const std::string own = settings_lines(settings), limits = settings_text(pattern);
  if (!own.empty() || !limits.empty()) text += " Setting\n" + own;
  if (!limits.empty()) text += "  Default Limits:\n" + limits;
  session.say(text);
  return session.commit();
}

int modify_cluster(AccountingSession& session, const Words& words) {
  if (words.set.empty()) return refuse(" You didn't give me anything to set");
  ClusterSettings settings;
  AssociationRecord pattern;
  bool any = false;
  if (const Status read = read_settings(words.set, settings, pattern, any, session); !read)
    return refuse(read.error().message);
  const auto names = names_in(words.where, "cluster");
  const auto states = list_of(words.where, "federation");
  const std::string own = settings_lines(settings);
  std::string clusters, associations, elsewhere;
  for (const auto& [in_book, record] : session.book().clusters()) {
    if (!names.empty() && !contains(names, text::lower_case(session.cluster_name(in_book)))) continue;
    if (!states.empty() && !contains(states, record.federation())) continue;
    if (settings.federation && !record.federation().empty() && record.federation() != *settings.federation)
      elsewhere += fmt::format(" The cluster {} is assigned to federation {}\n",
                               session.cluster_name(in_book), record.federation());
    if (!own.empty()) {
      ClusterRecord changed = record;
      apply(session, changed, settings);
      session.change.clusters.push_back(std::move(changed));
      clusters += "  " + session.cluster_name(in_book) + "\n";
    }
    if (!any) continue;
    AssociationRecord root = *session.book().association(session.book().root_of(in_book));
    for (const Word& word : words.set) {
      if (is_one_of(word, {"federation", "fedstate", "features", "classification"})) continue;
      if (const auto done = set_association(root, word, session.book()); !done)
        return refuse(done.error().message);
    }
    session.change.associations.push_back(std::move(root));
    associations += fmt::format("  C = {:<10} A = root\n", session.cluster_name(in_book));
  }
  if (session.change.empty()) return session.nothing("modified");
  const std::string limits = settings_text(pattern);
  session.say(elsewhere + " Setting\n" + own + (limits.empty() ? "" : "  Default Limits:\n" + limits));
  if (!clusters.empty()) session.say(" Modified cluster...\n" + clusters);
  if (!associations.empty()) session.say(" Modified cluster defaults for associations...\n" + associations);
  return session.commit();
}

int delete_cluster(AccountingSession& session, const Words& words) {
  const auto names = names_in(words.where, "cluster");
  if (names.empty() && words.where.empty()) return refuse(" No conditions given to remove, not executing.");
  std::string text;
  for (const auto& [in_book, record] : session.book().clusters()) {
    const std::string name = session.cluster_name(in_book);
    if (!contains(names, text::lower_case(name))) continue;
    if (in_book.empty()) return refuse(" The cluster " + name + " is the one that is served here: it stays.");
    session.change.removed_clusters.push_back(in_book);
    text += "  " + name + "\n";
  }
  if (text.empty()) return session.nothing("deleted");
  session.say(" Deleting clusters...\n" + text);
  return session.commit();
}

// ---- federations ------------------------------------------------------------------------------------

namespace {

// The clusters of clusters=: those that join, and those that leave.
struct Membership {
  std::vector<std::string> join, leave;
};

Result<Membership> membership(const AccountingSession& session, std::span<const Word> words,
                              const std::string& federation) {
  Membership change;
  for (const Word& word : words) {
    if (word.name != "cluster") continue;
    std::vector<std::string> named;
    std::string missing;
    for (const std::string& name : lower_list(word.value)) {
      const std::string plain = name[0] == '+' || name[0] == '-' ? name.substr(1) : name;
      if (!session.book().clusters().contains(session.cluster_in_book(plain)))
        missing += (missing.empty() ? " The cluster " : "\n The cluster ") + plain +
                   " doesn't exist. Please add first.";
    }
    if (!missing.empty()) return failure(missing);
    for (std::string name : lower_list(word.value)) {
      char sign = word.sign;
      if (name[0] == '+' || name[0] == '-') sign = name[0], name.erase(0, 1);
      const std::string in_book = session.cluster_in_book(name);
      const ClusterRecord& record = session.book().clusters().at(in_book);
      named.push_back(in_book);
      if (sign == '-') {
        if (record.federation() != federation)
          return failure(" The cluster " + name + " isn't assigned to federation " + federation);
        change.leave.push_back(in_book);
      } else if (!record.federation().empty() && record.federation() != federation) {
        return failure(" The cluster " + name + " is assigned to federation " + record.federation());
      } else if (!record.federation().empty()) {
        if (sign == '+')
          return failure(" The cluster " + name + " is already assigned to federation " + federation);
      } else {
        change.join.push_back(in_book);
      }
    }
    if (word.sign != '=' || (!word.value.empty() && (word.value[0] == '+' || word.value[0] == '-'))) continue;
    for (const auto& [in_book, record] : session.book().clusters()) {
      if (record.federation() == federation && !contains(named, in_book)) change.leave.push_back(in_book);
    }
  }
  return change;
}

void apply(AccountingSession& session, const Membership& change, const std::string& federation) {
  for (const std::string& name : change.join)
    join(session, session.change.clusters.emplace_back(session.book().clusters().at(name)), federation);
  for (const std::string& name : change.leave)
    join(session, session.change.clusters.emplace_back(session.book().clusters().at(name)), "");
}

Status check_federation_words(std::span<const Word> words) {
  for (const Word& word : words) {
    if (!word.name.empty() && !is_one_of(word, {"name", "federation", "cluster"}))
      return failure(unknown_option(word));
  }
  return {};
}

}  // namespace

int add_federation(AccountingSession& session, const Words& words) {
  std::vector<Word> given = words.where;
  given.insert(given.end(), words.set.begin(), words.set.end());
  if (const Status known = check_federation_words(given); !known) return refuse(known.error().message);
  std::vector<std::string> names;
  for (const std::string& name : names_in(given, "federation")) {
    if (session.book().federations().contains(name)) {
      refuse(" This federation " + name + " already exists.  Not adding.");
      continue;
    }
    names.push_back(name);
  }
  if (names.empty())
    return names_in(given, "federation").empty() ? refuse(" Need name of federation to add.") : 1;
  if (names.size() > 1 && !list_of(given, "cluster").empty())
    return refuse(" Can't assign clusters to multiple federations");
  const auto members = membership(session, given, names.front());
  if (!members) return refuse(members.error().message);
  std::string text = " Adding Federation(s)\n";
  for (const std::string& name : names) {
    session.change.federations.emplace_back().set_name(name);
    text += "  " + name + "\n";
  }
  apply(session, *members, names.front());
  if (!members->join.empty()) text += " Settings\n";
  for (const std::string& name : members->join)
    text += "  Cluster       = " + session.cluster_name(name) + "\n";
  session.say(text);
  return session.commit();
}

int modify_federation(AccountingSession& session, const Words& words) {
  if (words.set.empty()) return refuse(" You didn't give me anything to set");
  for (const auto& list : {words.where, words.set}) {
    if (const Status known = check_federation_words(list); !known) return refuse(known.error().message);
  }
  const auto names = names_in(words.where, "federation");
  if (names.size() != 1 && std::any_of(words.set.begin(), words.set.end(),
                                       [](const Word& word) { return word.name == "cluster"; }))
    return refuse(" Can't assign clusters to multiple federations.");
  std::string text, settings;
  for (const auto& [name, record] : session.book().federations()) {
    if (!names.empty() && !contains(names, name)) continue;
    const auto members = membership(session, words.set, name);
    if (!members) return refuse(members.error().message);
    apply(session, *members, name);
    for (const std::string& one : members->join)
      settings += "  Cluster      += " + session.cluster_name(one) + "\n";
    for (const std::string& one : members->leave)
      settings += "  Cluster      -= " + session.cluster_name(one) + "\n";
    text += "  " + name + "\n";
  }
  if (text.empty() || session.change.empty()) return session.nothing("modified");
  session.say(" Setting\n" + settings + " Modified federation...\n" + text);
  return session.commit();
}

int delete_federation(AccountingSession& session, const Words& words) {
  const auto names = names_in(words.where, "federation");
  if (names.empty()) return refuse(" No conditions given to remove, not executing.");
  std::string text;
  for (const std::string& name : names) {
    if (!session.book().federations().contains(name)) continue;
    session.change.removed_federations.push_back(name);
    text += "  " + name + "\n";
  }
  if (text.empty()) return session.nothing("deleted");
  session.say(" Deleting federations...\n" + text);
  return session.commit();
}

}  // namespace minke::cli
