// bring_accounts(): adds what the new Slurm lacks, then sets each field that differs, and looks again. A
// field that is refused is tried alone, so that the others of its record hold.
#include <algorithm>
#include <set>

#include "grow/carry/account_fields.h"
#include "grow/carry/accounts_there.h"
#include "grow/carry/carry.h"
#include "grow/carry/commands.h"
#include "grow/carry/snapshot.h"

namespace minke::grow {
namespace {

constexpr int kMostPasses = 3;  // what is set on an account may change what its people had

class AccountsCarrier {
 public:
  AccountsCarrier(const Commands& commands, std::string cluster, const AccountsState& wanted)
      : commands_(commands), cluster_("cluster=" + std::move(cluster)), wanted_(wanted) {}

  void pass(const AccountsState& there) {
    for (const auto& [name, values] : wanted_.qos) {
      if (!there.qos.contains(name)) add("QOS " + name, {"qos", "name=" + name});
    }
    for (const auto& [name, values] : wanted_.qos) set_qos(name, values, there);
    add_accounts(there);
    add_users(there);
    for (const auto& [name, one] : wanted_.accounts) set_account(name, one, there);
    for (const auto& [place, values] : wanted_.associations) set_association(place, values, there);
    for (const auto& [name, one] : wanted_.users) set_user(name, one, there);
  }

  Brought& brought() { return brought_; }

 private:
  bool change(const std::string& what, std::vector<std::string> words) {
    words.insert(words.begin(), {"sacctmgr", "-i", "-Q"});
    const Status done = commands_.change(std::move(words));
    if (!done) refusals_.insert(what + ": " + done.error().message);
    return done.has_value();
  }
  void add(const std::string& what, std::vector<std::string> words) {
    words.insert(words.begin(), "add");
    if (change(what, std::move(words))) ++brought_.added;
  }
  // All of them at once; where that is refused, one by one.
  void set(const std::string& what, const std::vector<std::string>& where,
           const std::vector<std::string>& settings) {
    if (settings.empty()) return;
    std::vector<std::string> words = {"modify"};
    words.insert(words.end(), where.begin(), where.end());
    words.emplace_back("set");
    std::vector<std::string> all = words;
    all.insert(all.end(), settings.begin(), settings.end());
    all.insert(all.begin(), {"sacctmgr", "-i", "-Q"});
    if (commands_.change(std::move(all))) {
      ++brought_.changed;
      return;
    }
    for (const std::string& setting : settings) {
      std::vector<std::string> one = words;
      one.push_back(setting);
      change(what + ", " + setting, std::move(one));
    }
  }
  static std::vector<std::string> settings_of(std::span<const AccountField> fields,
                                              const std::vector<std::string>& wanted,
                                              const std::vector<std::string>* there) {
    std::vector<std::string> settings;
    for (size_t i = 0; i < fields.size(); ++i) {
      const std::string before = there != nullptr ? (*there)[i] : std::string();
      if (before != wanted[i]) settings.push_back(setting_of(fields[i], before, wanted[i]));
    }
    return settings;
  }

  void set_qos(const std::string& name, const std::vector<std::string>& values, const AccountsState& there) {
    const auto now = there.qos.find(name);
    set("QOS " + name, {"qos", "where", "name=" + name},
        settings_of(qos_fields(), values, now == there.qos.end() ? nullptr : &now->second));
  }

  // Parents before their children.
  void add_accounts(const AccountsState& there) {
    std::set<std::string> known;
    for (const auto& [name, one] : there.accounts) known.insert(name);
    for (bool more = true; more;) {
      more = false;
      for (const auto& [name, one] : wanted_.accounts) {
        if (known.contains(name) || (!one.parent.empty() && !known.contains(one.parent))) continue;
        add("account " + name,
            {"account", "name=" + name, cluster_, "parent=" + (one.parent.empty() ? "root" : one.parent),
             "description=" + one.description, "organization=" + one.organization});
        known.insert(name);
        more = true;
      }
    }
  }

  void set_account(const std::string& name, const AccountsState::Account& one, const AccountsState& there) {
    const auto now = there.accounts.find(name);
    if (now == there.accounts.end()) return;
    std::vector<std::string> settings;
    if (one.description != now->second.description) settings.push_back("description=" + one.description);
    if (one.organization != now->second.organization) settings.push_back("organization=" + one.organization);
    if (one.parent != now->second.parent) settings.push_back("parent=" + one.parent);
    set("account " + name, {"account", "where", "name=" + name, cluster_}, settings);
    for (const std::string& user : one.coordinators) {
      const auto& list = now->second.coordinators;
      if (!std::binary_search(list.begin(), list.end(), user))
        add("coordinator " + user + " of " + name, {"coordinator", "account=" + name, "names=" + user});
    }
  }

  // The association in somebody's default account comes first: it becomes the default.
  void add_users(const AccountsState& there) {
    for (const bool defaults : {true, false}) {
      for (const auto& [place, values] : wanted_.associations) {
        const auto& [account, user, partition] = place;
        if (user.empty() || there.associations.contains(place)) continue;
        const auto about = wanted_.users.find(user);
        const bool is_default = about != wanted_.users.end() && about->second.default_account == account;
        if (is_default != defaults) continue;
        std::vector<std::string> words = {"user", "name=" + user, "account=" + account, cluster_};
        if (!partition.empty()) words.push_back("partition=" + partition);
        add(in_words(place), std::move(words));
      }
    }
  }

  void set_association(const AccountsState::Place& place, const std::vector<std::string>& values,
                       const AccountsState& there) {
    const auto& [account, user, partition] = place;
    const auto now = there.associations.find(place);
    if (now == there.associations.end()) return;  // the next pass sets what this one has added
    std::vector<std::string> where;
    if (user.empty()) {
      where = {"account", "where", "name=" + account, cluster_};
    } else {
      where = {"user", "where", "name=" + user, "account=" + account, cluster_};
      if (!partition.empty()) where.push_back("partition=" + partition);
    }
    set(in_words(place), where, settings_of(association_fields(), values, &now->second));
  }

  void set_user(const std::string& name, const AccountsState::User& one, const AccountsState& there) {
    const auto now = there.users.find(name);
    if (now == there.users.end()) return;
    if (one.admin_level != now->second.admin_level)
      set("user " + name, {"user", "where", "name=" + name}, {"AdminLevel=" + one.admin_level});
    if (one.default_account != now->second.default_account && !one.default_account.empty())
      set("user " + name, {"user", "where", "name=" + name, cluster_},
          {"DefaultAccount=" + one.default_account});
    for (const std::string& key : one.wckeys)
      if (!now->second.wckeys.contains(key))
        add("WCKey " + key + " of user " + name, {"user", "name=" + name, cluster_, "wckey=" + key});
    if (one.default_wckey != now->second.default_wckey && !one.default_wckey.empty())
      set("user " + name, {"user", "where", "name=" + name, cluster_}, {"DefaultWCKey=" + one.default_wckey});
  }

  const Commands& commands_;
  std::string cluster_;
  const AccountsState& wanted_;
  Brought brought_;
  std::set<std::string> refusals_;

 public:
  const std::set<std::string>& refusals() const { return refusals_; }
};

}  // namespace

Result<Brought> bring_accounts(const std::string& directory, const NewSlurm& slurm) {
  const auto snapshot = Snapshot::open(directory);
  if (!snapshot) return failure(snapshot.error());
  const AccountsState wanted = wanted_accounts(*snapshot);
  const Commands commands(slurm);
  AccountsCarrier carrier(commands, snapshot->cluster().name, wanted);
  std::vector<Difference> left;
  for (int pass = 0; pass <= kMostPasses; ++pass) {
    const auto there = accounts_there(commands, snapshot->cluster().name);
    if (!there) return failure(there.error());
    left = compare(wanted, *there);
    if (left.empty() || pass == kMostPasses) break;
    carrier.pass(*there);
  }
  Brought brought = std::move(carrier.brought());
  for (const Difference& one : left)
    brought.remarks.push_back(one.what + ": " + one.field + " was " +
                              (one.before.empty() ? "not set" : one.before) + ", is " +
                              (one.now.empty() ? "not set" : one.now));
  if (!left.empty()) {
    for (const std::string& one : carrier.refusals()) brought.remarks.push_back("sacctmgr refused: " + one);
  }
  for (const std::string& one : snapshot->left_out) brought.remarks.push_back("not carried: " + one);
  return brought;
}

}  // namespace minke::grow
