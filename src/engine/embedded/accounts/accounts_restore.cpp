// Restores the tree of accounts from the store.
//
// Records that cannot be read, or do not fit with the others, are set aside and reported. An account or user
// with an unreadable record is kept without its fields, so that its associations still fit.
// fit either.
#include <unistd.h>

#include <algorithm>
#include <map>

#include "engine/embedded/accounts/accounts.h"
#include "engine/embedded/core.h"
#include "model/lasting_state.pb.h"
#include "store/loaded_rows.h"
#include "store/tables.h"

namespace minke::engine {

using namespace model;

namespace {

accounts::UsageBook::Item item_of(const UsageRecord& record) {
  accounts::UsageBook::Item item;
  item.time = record.time();
  item.usage.raw = record.raw();
  item.usage.wall_seconds = record.wall_seconds();
  for (const TresSeconds& one : record.tres()) item.usage.tres[one.name()] = one.seconds();
  return item;
}

template <typename Record>
Record bare(std::string name) {
  Record record;
  record.set_name(std::move(name));
  return record;
}

accounts::AccountsChange read_tree(store::LoadedRows& rows) {
  accounts::AccountsChange tree;
  tree.accounts = rows.read(store::kAccounts);
  tree.users = rows.read(store::kUsers);
  tree.associations = rows.read(store::kAssociations);
  tree.qos = rows.read(store::kQos);
  tree.clusters = rows.read(store::kClusters);
  tree.federations = rows.read(store::kFederations);
  tree.resources = rows.read(store::kResources);
  for (const store::DamagedRow& row : rows.damaged()) {
    if (row.table == store::Table::kAccounts)
      tree.accounts.push_back(bare<AccountRecord>(std::get<std::string>(row.key)));
    if (row.table == store::Table::kUsers)
      tree.users.push_back(bare<UserRecord>(std::get<std::string>(row.key)));
  }
  return tree;
}

// A part of a change that may fit by itself, with its rows.
struct Part {
  std::vector<std::pair<store::Table, store::RowKey>> rows;
  accounts::AccountsChange change;
  bool fits = false;

  template <typename Record, typename By>
  void add(const store::RecordTable<Record, By>& table, std::vector<Record> accounts::AccountsChange::*member,
           const Record& record) {
    rows.emplace_back(table.table, store::row_key(By::of(record)));
    (change.*member).push_back(record);
  }
};

// Parts that do not fit remain in `parts`. Each part is first tried together with others, so that a sound
// tree needs one attempt, and at last alone.
void apply_parts(accounts::AccountBook& book, std::vector<Part>& parts) {
  const auto apply = [&book](auto&& self, std::vector<Part>::iterator from,
                             std::vector<Part>::iterator to) -> void {
    if (from == to) return;
    accounts::AccountsChange all;
    for (auto part = from; part != to; ++part) {
      const auto add = [](auto& into, const auto& more) {
        into.insert(into.end(), more.begin(), more.end());
      };
      add(all.accounts, part->change.accounts);
      add(all.users, part->change.users);
      add(all.associations, part->change.associations);
      add(all.qos, part->change.qos);
      add(all.clusters, part->change.clusters);
      add(all.federations, part->change.federations);
      add(all.resources, part->change.resources);
    }
    if (book.apply(all)) {
      for (auto part = from; part != to; ++part) part->fits = true;
      return;
    }
    if (to - from == 1) return;
    const auto middle = from + (to - from) / 2;
    self(self, from, middle);
    self(self, middle, to);
  };
  // Some parts fit only after others.
  for (size_t before = parts.size() + 1; before != parts.size() && !parts.empty();) {
    before = parts.size();
    apply(apply, parts.begin(), parts.end());
    std::erase_if(parts, [](const Part& part) { return part.fits; });
  }
}

template <typename Record, typename By>
void add_parts(std::vector<Part>& parts, const store::RecordTable<Record, By>& table,
               const std::vector<Record>& records, std::vector<Record> accounts::AccountsChange::*member) {
  for (const Record& record : records) parts.emplace_back().add(table, member, record);
}

// Applies the fitting parts of a tree that does not fit as a whole, and rejects the rest.
void restore_what_fits(accounts::AccountBook& book, const accounts::AccountsChange& tree,
                       store::LoadedRows& rows) {
  using Change = accounts::AccountsChange;
  std::vector<Part> parts;
  add_parts(parts, store::kAccounts, tree.accounts, &Change::accounts);
  add_parts(parts, store::kUsers, tree.users, &Change::users);
  add_parts(parts, store::kQos, tree.qos, &Change::qos);
  add_parts(parts, store::kFederations, tree.federations, &Change::federations);
  // Another cluster is applied with its tree: alone, it would get a new root.
  std::map<std::string, Part> clusters;
  for (const ClusterRecord& cluster : tree.clusters)
    clusters[cluster.name()].add(store::kClusters, &Change::clusters, cluster);
  for (const AssociationRecord& one : tree.associations) {
    const auto cluster = clusters.find(one.cluster());
    const bool own = one.cluster().empty() || cluster == clusters.end();
    (own ? parts.emplace_back() : cluster->second).add(store::kAssociations, &Change::associations, one);
  }
  for (auto& [name, part] : clusters) parts.push_back(std::move(part));
  add_parts(parts, store::kResources, tree.resources, &Change::resources);
  apply_parts(book, parts);
  // A default account is valid only once its association exists.
  Change users;
  for (const UserRecord& user : tree.users)
    if (book.user(user.name()) != nullptr) users.users.push_back(user);
  (void)book.apply(users);
  for (const Part& part : parts)
    for (const auto& [table, key] : part.rows) rows.reject(table, key);
}

}  // namespace

// The user who runs the cluster may change the accounts, and has an association in root.
void Accounts::add_owner(accounts::AccountsChange& tree) const {
  const std::string owner = core_.state.user_name(geteuid());
  const bool known = std::any_of(tree.users.begin(), tree.users.end(),
                                 [&](const UserRecord& user) { return user.name() == owner; });
  if (known) return;
  UserRecord& user = tree.users.emplace_back();
  user.set_name(owner);
  user.set_admin_level(ADMIN_ADMINISTRATOR);
  user.set_default_account(std::string(accounts::kRootAccount));
  AssociationRecord association;
  association.set_account(std::string(accounts::kRootAccount));
  association.set_user(owner);
  association.set_shares(1);
  tree.associations.push_back(association);
}

void Accounts::restore(store::LoadedRows& rows) {
  accounts::AccountsChange tree = read_tree(rows);
  add_owner(tree);
  if (!book_.apply(tree)) restore_what_fits(book_, tree, rows);
  for (const UsagePeriod& period : rows.read(store::kUsagePeriod)) usage_since_ = period.since();
  for (const UsageRecord& one : rows.read(store::kUsage)) usage_.restore(one.id(), item_of(one));
  for (const UsageRecord& one : rows.read(store::kQosUsage)) usage_.restore_qos(one.id(), item_of(one));
}

// Stores what replaces a damaged record.
void Accounts::keep_bare(const store::DamagedRow& row) {
  if (row.table == store::Table::kAccounts) {
    if (const AccountRecord* record = book_.account(std::get<std::string>(row.key)))
      core_.committer.row_changed(store::kAccounts.row(*record));
  } else if (row.table == store::Table::kUsers) {
    if (const UserRecord* record = book_.user(std::get<std::string>(row.key)))
      core_.committer.row_changed(store::kUsers.row(*record));
  }
}

}  // namespace minke::engine
