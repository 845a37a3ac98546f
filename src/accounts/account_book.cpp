#include "accounts/account_book.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "accounts/inherited_limits.h"
#include "model/accounts.pb.h"

namespace minke::accounts {
namespace {

// Blanks are part of a name, as in Slurm: "two words".
bool is_name(const std::string& name) {
  if (name.empty() || name.size() > 255 || name.front() == ' ' || name.back() == ' ') return false;
  return std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return c >= ' ' && c != ',' && c != '=' && c != '\'' && c != '"' && c != '|' && c != ':' &&
           !std::isupper(c);
  });
}

template <typename Map, typename Key>
auto look_up(const Map& map, const Key& key) -> const typename Map::mapped_type* {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

void leave_federation(model::ClusterRecord& cluster) {
  cluster.clear_federation();
  cluster.clear_federation_id();
  cluster.clear_federation_state();
}

template <typename Map>
std::uint32_t next_id(const Map& map) {
  return map.empty() ? 1 : map.rbegin()->first + 1;
}

template <typename List, typename Is>
void drop(List* list, const Is& is) {
  list->erase(std::remove_if(list->begin(), list->end(), is), list->end());
}

template <typename Record>
Status put_by_name(const std::vector<Record>& records, const char* what, std::map<std::string, Record>& to) {
  for (const Record& record : records) {
    if (!is_name(record.name())) return failure("'" + record.name() + "' cannot be " + what);
    to[record.name()] = record;
  }
  return {};
}

using Associations = std::map<std::uint32_t, model::AssociationRecord>;
using Qos = std::map<std::uint32_t, model::QosRecord>;

// Returns those that a change removes, with those of the accounts, users and clusters that it removes.
std::vector<std::uint32_t> associations_of(const AccountsChange& change, const Associations& associations) {
  std::vector<std::uint32_t> gone = change.removed_associations;
  const auto all_of = [](const std::vector<std::string>& names) {
    std::unordered_set<std::string> set(names.begin(), names.end());
    set.erase("");
    return set;
  };
  const auto accounts = all_of(change.removed_accounts), users = all_of(change.removed_users),
             clusters = all_of(change.removed_clusters);
  if (accounts.empty() && users.empty() && clusters.empty()) return gone;
  for (const auto& [id, one] : associations) {
    if (accounts.contains(one.account()) || users.contains(one.user()) || clusters.contains(one.cluster()))
      gone.push_back(id);
  }
  return gone;
}

// Removes every mention of the QOS.
void forget_qos(const std::string& name, Associations& associations, Qos& qos) {
  for (auto& [id, association] : associations) {
    drop(association.mutable_qos(), [&](const std::string& word) {
      return word == name ||
             (word.size() > 1 && (word[0] == '+' || word[0] == '-') && word.substr(1) == name);
    });
    if (association.default_qos() == name) association.clear_default_qos();
  }
  for (auto& [id, one] : qos)
    drop(one.mutable_preempt(), [&](const std::string& word) { return word == name; });
}

// Adds a root if the cluster has none yet.
void add_root(const std::string& cluster, Associations& associations) {
  const auto is_root = [&](const auto& item) {
    return item.second.cluster() == cluster && item.second.account() == kRootAccount &&
           item.second.user().empty();
  };
  if (std::any_of(associations.begin(), associations.end(), is_root)) return;
  const std::uint32_t id = next_id(associations);
  model::AssociationRecord& root = associations[id];
  root.set_id(id);
  root.set_account(std::string(kRootAccount));
  root.set_cluster(cluster);
  root.set_shares(1);
  root.add_qos("normal");
}

Status check_qos_names(const Qos& qos) {
  std::set<std::string> names;
  for (const auto& [id, one] : qos) {
    if (!names.insert(one.name()).second) return failure("there are two QOS " + one.name());
  }
  return {};
}

Status check_shares(const std::string& name, const model::ResourceRecord& resource,
                    const std::map<std::string, model::ClusterRecord>& clusters) {
  std::uint32_t percent = 0;
  for (const auto& share : resource.shares()) {
    if (!clusters.contains(share.cluster())) return failure("there is no cluster " + share.cluster());
    percent += share.percent();
  }
  if (percent > 100) return failure("more than all of " + name + " would be allowed");
  return {};
}

// The book's index must exist already.
Status check_clusters(const AccountBook& book) {
  for (const auto& [name, cluster] : book.clusters()) {
    if (!cluster.federation().empty() && !book.federations().contains(cluster.federation()))
      return failure("there is no federation " + cluster.federation());
    if (book.root_of(name) == 0) return failure("the cluster " + name + " has no root");
  }
  return {};
}

// Above a user is the account, above an account the one that it names; returns nullptr if there is none.
const model::AssociationRecord* find_above(const AccountBook& book, const model::AssociationRecord& one) {
  return book.find(one.user().empty() ? one.parent_account() : one.account(), {}, {}, one.cluster());
}

// Sorts users before accounts, each by name.
auto place_below(const model::AssociationRecord& record) {
  const bool is_account = record.user().empty();
  return std::tuple(is_account, is_account ? record.account() : record.user(), record.partition());
}

}  // namespace

bool AccountsChange::empty() const {
  return accounts.empty() && users.empty() && associations.empty() && qos.empty() &&
         removed_accounts.empty() && removed_users.empty() && removed_associations.empty() &&
         removed_qos.empty() && clusters.empty() && federations.empty() && resources.empty() &&
         removed_clusters.empty() && removed_federations.empty() && removed_resources.empty();
}

std::string resource_key(const model::ResourceRecord& resource) {
  return resource.name() + "@" + resource.server();
}

AccountBook::AccountBook() {
  model::AccountRecord& account = accounts_[std::string(kRootAccount)];
  account.set_name(std::string(kRootAccount));
  account.set_description("default root account");
  account.set_organization("root");
  model::AssociationRecord& root = associations_[kRootAssociation];
  root.set_id(kRootAssociation);
  root.set_account(std::string(kRootAccount));
  root.set_shares(1);
  root.add_qos("normal");
  model::QosRecord& normal = qos_[kNormalQos];
  normal.set_id(kNormalQos);
  normal.set_name("normal");
  normal.set_description("Normal QOS default");
  clusters_[""];
  MINKE_CHECK(rebuild());
}

bool AccountBook::configured() const {
  if (accounts_.size() > 1 || qos_.size() > 1) return true;
  return std::any_of(associations_.begin(), associations_.end(),
                     [](const auto& item) { return item.second.has_limits(); });
}

AccountBook::Key AccountBook::key(const std::string& account, const std::string& user,
                                  const std::string& partition, const std::string& cluster) {
  return account + '\n' + user + '\n' + partition + '\n' + cluster;
}

Status AccountBook::apply(const AccountsChange& change) {
  AccountBook next = *this;
  next.remove(change);
  if (const Status put = next.put(change); !put) return put;
  if (const Status sound = next.rebuild(); !sound) return sound;
  ++next.version_;
  *this = std::move(next);
  return {};
}

void AccountBook::remove_association(std::uint32_t id) {
  if (id == kRootAssociation || associations_.erase(id) == 0) return;
  if (const auto below = children_.find(id); below != children_.end()) {
    for (const std::uint32_t child : std::vector(below->second)) remove_association(child);
  }
}

void AccountBook::remove(const AccountsChange& change) {
  std::vector<std::uint32_t> gone = associations_of(change, associations_);
  for (const std::string& name : change.removed_clusters) {
    if (!name.empty()) clusters_.erase(name);
  }
  for (const std::string& name : change.removed_federations) {
    federations_.erase(name);
    for (auto& [other, cluster] : clusters_) {
      if (cluster.federation() == name) leave_federation(cluster);
    }
  }
  for (const std::string& name : change.removed_resources) resources_.erase(name);
  for (auto& [name, resource] : resources_) {
    drop(resource.mutable_shares(), [&](const auto& share) { return !clusters_.contains(share.cluster()); });
  }
  for (const std::uint32_t id : gone) remove_association(id);
  for (const std::string& name : change.removed_accounts) {
    if (name != kRootAccount) accounts_.erase(name);
  }
  const std::set<std::string> gone_users(change.removed_users.begin(), change.removed_users.end());
  for (const std::string& name : gone_users) users_.erase(name);
  for (auto& [name, account] : accounts_) {
    if (gone_users.empty()) break;
    drop(account.mutable_coordinators(), [&](const std::string& user) { return gone_users.contains(user); });
  }
  for (const std::uint32_t id : change.removed_qos) {
    const model::QosRecord* record = qos(id);
    if (record == nullptr || id == kNormalQos) continue;
    forget_qos(std::string(record->name()), associations_, qos_);
    qos_.erase(id);
  }
}

Status AccountBook::put(const AccountsChange& change) {
  if (Status done = put_by_name(change.accounts, "an account's name", accounts_); !done) return done;
  if (Status done = put_by_name(change.users, "a user's name", users_); !done) return done;
  for (model::QosRecord record : change.qos) {
    if (!is_name(record.name())) return failure("'" + record.name() + "' cannot be the name of a QOS");
    if (record.id() == 0) record.set_id(next_id(qos_));
    qos_[record.id()] = std::move(record);
  }
  if (Status done = put_by_name(change.federations, "a federation's name", federations_); !done) return done;
  for (const model::ClusterRecord& record : change.clusters) {
    if (!record.name().empty() && !is_name(record.name()))
      return failure("'" + record.name() + "' cannot be a cluster's name");
    clusters_[record.name()] = record;
  }
  for (const model::ResourceRecord& record : change.resources) {
    if (!is_name(record.name()) || !is_name(record.server()))
      return failure("'" + resource_key(record) + "' cannot be a resource's name");
    resources_[resource_key(record)] = record;
  }
  for (model::AssociationRecord record : change.associations) {
    if (record.id() == 0) record.set_id(next_id(associations_));
    associations_[record.id()] = std::move(record);
  }
  for (const auto& [name, cluster] : clusters_) add_root(name, associations_);
  return {};
}

std::string AccountBook::problem_of(const model::AssociationRecord& record) const {
  if (!clusters_.contains(record.cluster())) return "there is no cluster " + record.cluster();
  if (account(record.account()) == nullptr) return "there is no account " + record.account();
  if (!record.user().empty() && user(record.user()) == nullptr) return "there is no user " + record.user();
  if (record.user().empty() && !record.partition().empty()) return "only a user can be in one partition";
  if (record.shares() > kSharesAsParent) return "shares are 2147483647 at most";
  const auto known = [&](std::string_view name) {
    if (!name.empty() && (name[0] == '+' || name[0] == '-')) name.remove_prefix(1);
    return qos(std::string(name)) != nullptr;
  };
  for (const std::string& name : record.qos()) {
    if (!known(name)) return "there is no QOS " + name;
  }
  if (!record.default_qos().empty() && !known(record.default_qos()))
    return "there is no QOS " + record.default_qos();
  return "";
}

Status AccountBook::rebuild() {
  index_.clear();
  parents_.clear();
  children_.clear();
  if (Status good = check_qos_names(qos_); !good) return good;
  if (qos(kNormalQos) == nullptr) return failure("the QOS normal cannot be removed");
  for (const auto& [id, one] : associations_) {
    if (const std::string problem = problem_of(one); !problem.empty()) return failure(problem);
    if (!index_.emplace(key(one.account(), one.user(), one.partition(), one.cluster()), id).second)
      return failure("account " + one.account() + " would have " +
                     (one.user().empty() ? "itself" : one.user()) + " twice");
  }
  const model::AssociationRecord* root = find(std::string(kRootAccount));
  if (root == nullptr || root->id() != kRootAssociation) return failure("root cannot be removed");
  if (Status good = check_clusters(*this); !good) return good;
  for (const auto& [name, resource] : resources_) {
    if (Status good = check_shares(name, resource, clusters_); !good) return good;
  }
  for (const auto& [id, one] : associations_) {
    if (one.user().empty() && one.account() == kRootAccount) continue;
    const model::AssociationRecord* above = find_above(*this, one);
    if (above == nullptr || above->id() == id)
      return failure("account " + one.account() + " has no parent account '" + one.parent_account() + "'");
    parents_[id] = above->id();
    children_[above->id()].push_back(id);
  }
  for (auto& [id, below] : children_) {
    std::sort(below.begin(), below.end(), [&](std::uint32_t a, std::uint32_t b) {
      return place_below(associations_.at(a)) < place_below(associations_.at(b));
    });
  }
  std::size_t reached = 0;
  for (const auto& [name, cluster] : clusters_) reached += in_tree_order(root_of(name)).size();
  if (reached != associations_.size()) return failure("an account cannot be below itself");
  choose_default_accounts();
  return {};
}

// A user with accounts on a cluster but no default there gets the first of them.
void AccountBook::choose_default_accounts() {
  std::set<std::pair<std::string, std::string>> have;
  for (auto& [id, one] : associations_) {
    if (one.is_default() && (one.cluster().empty() || !have.emplace(one.cluster(), one.user()).second))
      one.clear_is_default();
  }
  for (auto& [id, one] : associations_) {
    if (!one.cluster().empty() && !one.user().empty() && have.emplace(one.cluster(), one.user()).second)
      one.set_is_default(true);
  }
  struct Own {
    const std::string* first = nullptr;
    bool has_default = false;
  };
  std::unordered_map<std::string, Own> own;  // by user; looked up only
  for (const auto& [id, one] : associations_) {
    const model::UserRecord* owner = one.cluster().empty() ? user(one.user()) : nullptr;
    if (owner == nullptr) continue;
    Own& his = own[one.user()];
    if (his.first == nullptr || one.account() < *his.first) his.first = &one.account();
    his.has_default |= one.account() == owner->default_account();
  }
  for (auto& [name, one] : users_) {
    const auto his = own.find(name);
    if (his != own.end() && !his->second.has_default) one.set_default_account(*his->second.first);
  }
}

const model::AccountRecord* AccountBook::account(const std::string& name) const {
  return look_up(accounts_, name);
}
const model::UserRecord* AccountBook::user(const std::string& name) const {
  return look_up(users_, name);
}
const model::AssociationRecord* AccountBook::association(std::uint32_t id) const {
  return look_up(associations_, id);
}
const model::QosRecord* AccountBook::qos(std::uint32_t id) const {
  return look_up(qos_, id);
}
const model::QosRecord* AccountBook::qos(const std::string& name) const {
  for (const auto& [id, one] : qos_) {
    if (one.name() == name) return &one;
  }
  return nullptr;
}

const model::AssociationRecord* AccountBook::find(const std::string& account, const std::string& user,
                                                  const std::string& partition,
                                                  const std::string& cluster) const {
  const auto found = index_.find(key(account, user, partition, cluster));
  return found == index_.end() ? nullptr : association(found->second);
}

const model::AssociationRecord* AccountBook::find_for_job(const std::string& account, const std::string& user,
                                                          const std::string& partition) const {
  if (user.empty()) return nullptr;
  const model::AssociationRecord* there = partition.empty() ? nullptr : find(account, user, partition);
  return there != nullptr ? there : find(account, user);
}

std::vector<std::string> AccountBook::accounts_of(const std::string& user, const std::string& cluster) const {
  std::set<std::string> names;
  for (const auto& [id, one] : associations_) {
    if (!user.empty() && one.user() == user && one.cluster() == cluster) names.insert(one.account());
  }
  return {names.begin(), names.end()};
}

std::string AccountBook::default_account(const std::string& user, const std::string& cluster) const {
  if (cluster.empty()) {
    const model::UserRecord* record = this->user(user);
    return record == nullptr ? std::string() : record->default_account();
  }
  for (const auto& [id, one] : associations_) {
    if (one.is_default() && one.user() == user && one.cluster() == cluster) return one.account();
  }
  return {};
}

std::uint32_t AccountBook::root_of(const std::string& cluster) const {
  const model::AssociationRecord* root = find(std::string(kRootAccount), {}, {}, cluster);
  return root == nullptr ? 0 : root->id();
}

std::uint32_t AccountBook::parent(std::uint32_t association) const {
  const auto found = parents_.find(association);
  return found == parents_.end() ? 0 : found->second;
}

std::vector<std::uint32_t> AccountBook::children(std::uint32_t association) const {
  const auto found = children_.find(association);
  return found == children_.end() ? std::vector<std::uint32_t>() : found->second;
}

std::vector<std::uint32_t> AccountBook::in_tree_order(std::uint32_t root) const {
  std::vector<std::uint32_t> order, open{root};
  while (!open.empty()) {
    const std::uint32_t id = open.back();
    open.pop_back();
    order.push_back(id);
    const auto below = children(id);
    open.insert(open.end(), below.rbegin(), below.rend());
  }
  return order;
}

bool AccountBook::below(std::uint32_t association, std::uint32_t ancestor) const {
  for (; association != 0; association = parent(association)) {
    if (association == ancestor) return true;
  }
  return false;
}

std::vector<std::string> AccountBook::allowed_qos(std::uint32_t association) const {
  std::vector<std::uint32_t> chain;
  for (; association != 0; association = parent(association)) chain.push_back(association);
  std::set<std::string> allowed;
  for (auto one = chain.rbegin(); one != chain.rend(); ++one) {
    const auto& words = associations_.at(*one).qos();
    const bool changes = std::all_of(words.begin(), words.end(), [](const std::string& word) {
      return !word.empty() && (word[0] == '+' || word[0] == '-');
    });
    if (!changes) allowed.clear();
    for (const std::string& word : words) {
      if (word[0] == '-') {
        allowed.erase(word.substr(1));
      } else {
        allowed.insert(word[0] == '+' ? word.substr(1) : word);
      }
    }
  }
  return {allowed.begin(), allowed.end()};
}

std::string AccountBook::default_qos(std::uint32_t association) const {
  for (; association != 0; association = parent(association)) {
    if (const std::string& own = associations_.at(association).default_qos(); !own.empty()) return own;
  }
  return "";
}

model::Limits AccountBook::effective_limits(std::uint32_t association) const {
  model::Limits limits = associations_.at(association).limits();
  for (std::uint32_t above = parent(association); above != 0; above = parent(above))
    inherit_limits(limits, associations_.at(above).limits());
  return limits;
}

}  // namespace minke::accounts
