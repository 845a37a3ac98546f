// The tree of accounts as the store has it.
//
// In the settings: "account NAME", "user NAME", "association ID", "qos ID" (the records), "usage ID" and
// "qos_usage ID" (UsageRecord). What was removed has an empty value. What cannot be read, or does not fit
// with the rest, is set aside as "aside NAME", and told; the rest goes on without it. An account or a user
// whose record cannot be read is there without what it said, or its associations would not fit either.
#include <unistd.h>

#include <algorithm>
#include <map>

#include "engine/embedded/accounts.h"
#include "engine/embedded/core.h"
#include "os/log.h"
#include "text/number.h"

namespace minke::engine {

using namespace model;

namespace {

constexpr std::string_view kAside = "aside ";

accounts::UsageBook::Item item_of(const UsageRecord& record) {
  accounts::UsageBook::Item item;
  item.time = record.time();
  item.usage.raw = record.raw();
  item.usage.wall_seconds = record.wall_seconds();
  for (const TresSeconds& one : record.tres()) item.usage.tres[one.name()] = one.seconds();
  return item;
}

std::string key_of(const AccountRecord& record) {
  return record.name();
}
std::string key_of(const UserRecord& record) {
  return record.name();
}
std::string key_of(const ClusterRecord& record) {
  return record.name();
}
std::string key_of(const FederationRecord& record) {
  return record.name();
}
std::string key_of(const ResourceRecord& record) {
  return accounts::resource_key(record);
}
std::string key_of(const AssociationRecord& record) {
  return std::to_string(record.id());
}
std::string key_of(const QosRecord& record) {
  return std::to_string(record.id());
}
std::string key_of(const UsageRecord& record) {
  return std::to_string(record.id());
}

// False where the bytes are not a record of this name.
template <typename Record>
bool parse_into(std::string_view key, const std::string& value, std::vector<Record>& records) {
  Record record;
  if (!record.ParseFromString(value) || key_of(record) != key) return false;
  records.push_back(std::move(record));
  return true;
}

template <typename Record>
void add_bare(std::string_view name, std::vector<Record>& records) {
  Record record;
  record.set_name(std::string(name));
  records.push_back(std::move(record));
}

struct Stored {
  accounts::AccountsChange tree;
  std::vector<UsageRecord> usage, qos_usage;
  std::vector<std::string> damaged;  // names of settings

  // False: it is none of the accounts'.
  bool read(std::string_view kind, std::string_view key, const std::string& value);
};

bool Stored::read(std::string_view kind, std::string_view key, const std::string& value) {
  bool sound = true;
  if (kind == "account") {
    sound = parse_into(key, value, tree.accounts);
    if (!sound) add_bare(key, tree.accounts);
  } else if (kind == "user") {
    sound = parse_into(key, value, tree.users);
    if (!sound) add_bare(key, tree.users);
  } else if (kind == "association") {
    sound = parse_into(key, value, tree.associations);
  } else if (kind == "qos") {
    sound = parse_into(key, value, tree.qos);
  } else if (kind == "cluster") {
    sound = parse_into(key, value, tree.clusters);
  } else if (kind == "federation") {
    sound = parse_into(key, value, tree.federations);
  } else if (kind == "resource") {
    sound = parse_into(key, value, tree.resources);
  } else if (kind == "usage") {
    sound = parse_into(key, value, usage);
  } else if (kind == "qos_usage") {
    sound = parse_into(key, value, qos_usage);
  }
  return sound;
}

// A part of a change that may fit by itself, and under which name it is stored.
struct Part {
  std::string name;
  accounts::AccountsChange change;
};

// Those that do not fit stay in `parts`: each part is tried with others first, so that a sound tree costs one
// try, and alone in the end.
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
      for (auto part = from; part != to; ++part) part->name.clear();
      return;
    }
    if (to - from == 1) return;
    const auto middle = from + (to - from) / 2;
    self(self, from, middle);
    self(self, middle, to);
  };
  // Some fit only once others are there.
  for (size_t before = parts.size() + 1; before != parts.size() && !parts.empty();) {
    before = parts.size();
    apply(apply, parts.begin(), parts.end());
    std::erase_if(parts, [](const Part& part) { return part.name.empty(); });
  }
}

template <typename Records, typename Member>
void add_parts(std::vector<Part>& parts, const char* kind, const Records& records, Member member) {
  for (const auto& record : records) {
    Part& part = parts.emplace_back();
    part.name = std::string(kind) + " " + key_of(record);
    (part.change.*member).push_back(record);
  }
}

// What of a tree that does not fit as a whole fits; the names of the rest.
std::vector<std::string> restore_what_fits(accounts::AccountBook& book,
                                           const accounts::AccountsChange& tree) {
  using Change = accounts::AccountsChange;
  std::vector<Part> parts;
  add_parts(parts, "account", tree.accounts, &Change::accounts);
  add_parts(parts, "user", tree.users, &Change::users);
  add_parts(parts, "qos", tree.qos, &Change::qos);
  add_parts(parts, "federation", tree.federations, &Change::federations);
  // Another cluster comes with its tree: alone, it would get a root of its own.
  std::map<std::string, Part> clusters;
  for (const ClusterRecord& cluster : tree.clusters) {
    Part& part = clusters[cluster.name()];
    part.name = "cluster " + cluster.name();
    part.change.clusters.push_back(cluster);
  }
  Change own;
  for (const AssociationRecord& one : tree.associations) {
    const auto cluster = clusters.find(one.cluster());
    (one.cluster().empty() || cluster == clusters.end() ? own : cluster->second.change)
        .associations.push_back(one);
  }
  add_parts(parts, "association", own.associations, &Change::associations);
  for (auto& [name, part] : clusters) parts.push_back(std::move(part));
  add_parts(parts, "resource", tree.resources, &Change::resources);
  apply_parts(book, parts);
  // A default account could not be one before the association with it was there.
  Change users;
  for (const UserRecord& user : tree.users)
    if (book.user(user.name()) != nullptr) users.users.push_back(user);
  (void)book.apply(users);
  std::vector<std::string> left;
  for (const Part& part : parts) left.push_back(part.name);
  return left;
}

}  // namespace

// Whoever runs the cluster may change the accounts, and stands in root.
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

// What stands in the place of a damaged record from now on; empty: nothing.
std::string Accounts::bare_record(const std::string& name) const {
  const auto key = [&](std::string_view kind) { return name.substr(std::min(name.size(), kind.size())); };
  if (name.starts_with("account ")) {
    if (const AccountRecord* record = book_.account(key("account "))) return record->SerializeAsString();
  } else if (name.starts_with("user ")) {
    if (const UserRecord* record = book_.user(key("user "))) return record->SerializeAsString();
  }
  return "";
}

void Accounts::restore(const std::vector<std::pair<std::string, std::string>>& settings) {
  Stored stored;
  std::map<std::string_view, const std::string*> values;
  for (const auto& [name, value] : settings) {
    if (value.empty()) continue;
    if (name.starts_with(kAside)) damaged_.push_back(name.substr(kAside.size()));
    values.emplace(name, &value);
    const std::string_view kind = std::string_view(name).substr(0, name.find(' '));
    const std::string_view key =
        kind.size() == name.size() ? "" : std::string_view(name).substr(kind.size() + 1);
    if (!stored.read(kind, key, value)) stored.damaged.push_back(name);
    if (kind == "usage_since")
      usage_since_ = static_cast<int64_t>(text::parse_unsigned(value, INT64_MAX).value_or(0));
  }
  add_owner(stored.tree);
  if (!book_.apply(stored.tree)) {
    const auto left = restore_what_fits(book_, stored.tree);
    stored.damaged.insert(stored.damaged.end(), left.begin(), left.end());
  }
  for (const std::string& name : stored.damaged) {
    os::log_error("what is stored of the accounts is damaged: " + name + " is set aside");
    damaged_.push_back(name);
    const auto value = values.find(name);
    if (value == values.end()) continue;
    core_.committer.setting_changed(std::string(kAside) + name, *value->second);
    core_.committer.setting_changed(name, bare_record(name));
  }
  for (const UsageRecord& one : stored.usage) usage_.restore(one.id(), item_of(one));
  for (const UsageRecord& one : stored.qos_usage) usage_.restore_qos(one.id(), item_of(one));
}

}  // namespace minke::engine
