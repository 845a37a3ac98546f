// AccountBook: the tree of accounts with its users, associations and QOS, and the changes that it allows.
//
// Invariants: association 1 is root and has no parent. QOS 1 is "normal". Both always exist. An account has
// at most one association of its own, and its parent account has one too. A user's association belongs to
// such an account. There are no cycles. A user with associations has one of their accounts as the default.
// Names are lower case. This daemon's own cluster has the empty name. The book may record other clusters,
// each with its own tree; their associations have no effect here. The daemon owns the book. Commands run the
// same functions on a copy that the daemon sent them. Pure; owned by one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "model/accounts.pb.h"

namespace minke::accounts {

inline constexpr std::uint32_t kRootAssociation = 1;
inline constexpr std::uint32_t kNormalQos = 1;
inline constexpr std::uint32_t kSharesAsParent = 0x7fffffff;
inline constexpr std::string_view kRootAccount = "root";

// A set of changes, applied as a whole. Additions take precedence over removals. An
// association or QOS with id 0 is new.
struct AccountsChange {
  std::vector<model::AccountRecord> accounts;
  std::vector<model::UserRecord> users;
  std::vector<model::AssociationRecord> associations;
  std::vector<model::QosRecord> qos;
  std::vector<std::string> removed_accounts;        // with their associations and everything below
  std::vector<std::string> removed_users;           // likewise
  std::vector<std::uint32_t> removed_associations;  // with all below
  std::vector<std::uint32_t> removed_qos;
  // A new cluster gets a root association. The cluster of this daemon cannot be removed.
  std::vector<model::ClusterRecord> clusters;
  std::vector<model::FederationRecord> federations;
  std::vector<model::ResourceRecord> resources;
  std::vector<std::string> removed_clusters;  // their associations and shares go with them
  std::vector<std::string> removed_federations;
  std::vector<std::string> removed_resources;  // resource_key
  bool empty() const;
};

// "NAME@SERVER".
std::string resource_key(const model::ResourceRecord& resource);

class AccountBook {
 public:
  // Makes a book with root and "normal", and nothing else.
  AccountBook();
  // Whether somebody keeps accounts here: the book has more than root, "normal" and root's own entries.
  bool configured() const;

  // Applies all of `change`, or returns an error that says what is wrong and leaves the book unchanged.
  Status apply(const AccountsChange& change);
  std::uint64_t version() const { return version_; }
  void set_version(std::uint64_t version) { version_ = version; }

  const std::map<std::string, model::AccountRecord>& accounts() const { return accounts_; }
  const std::map<std::string, model::UserRecord>& users() const { return users_; }
  const std::map<std::uint32_t, model::AssociationRecord>& associations() const { return associations_; }
  const std::map<std::uint32_t, model::QosRecord>& qos() const { return qos_; }
  const std::map<std::string, model::ClusterRecord>& clusters() const { return clusters_; }  // "": this one
  const std::map<std::string, model::FederationRecord>& federations() const { return federations_; }
  const std::map<std::string, model::ResourceRecord>& resources() const {
    return resources_;
  }  // by resource_key

  const model::AccountRecord* account(const std::string& name) const;
  const model::UserRecord* user(const std::string& name) const;
  const model::AssociationRecord* association(std::uint32_t id) const;
  const model::QosRecord* qos(std::uint32_t id) const;
  const model::QosRecord* qos(const std::string& name) const;
  // Finds the association with exactly these names. An account's own association has no user.
  const model::AssociationRecord* find(const std::string& account, const std::string& user = {},
                                       const std::string& partition = {},
                                       const std::string& cluster = {}) const;
  // Finds the association for a job: the one of its partition, or else the one for all partitions.
  const model::AssociationRecord* find_for_job(const std::string& account, const std::string& user,
                                               const std::string& partition) const;
  std::vector<std::string> accounts_of(const std::string& user,
                                       const std::string& cluster = {}) const;                  // ascending
  std::string default_account(const std::string& user, const std::string& cluster = {}) const;  // empty: none
  // Returns 0 for root.
  std::uint32_t parent(std::uint32_t association) const;
  std::vector<std::uint32_t> children(std::uint32_t association) const;  // users first, then by name
  // Returns `root`, then the rest depth first: parents come before their children.
  std::vector<std::uint32_t> in_tree_order(std::uint32_t root = kRootAssociation) const;
  std::uint32_t root_of(const std::string& cluster) const;              // 0: there is no such cluster
  bool below(std::uint32_t association, std::uint32_t ancestor) const;  // true if they are the same

  // Returns the names of the QOS that jobs of the association may use, in ascending order.
  std::vector<std::string> allowed_qos(std::uint32_t association) const;
  std::string default_qos(std::uint32_t association) const;  // its own or inherited; empty: none
  // Returns the limits for jobs of the association. Unset limits per job or user come from the parent.
  model::Limits effective_limits(std::uint32_t association) const;

 private:
  using Key = std::string;
  static Key key(const std::string& account, const std::string& user, const std::string& partition,
                 const std::string& cluster);
  Status put(const AccountsChange& change);
  void remove(const AccountsChange& change);
  void remove_association(std::uint32_t id);
  void choose_default_accounts();
  Status rebuild();  // rebuilds the indexes, and checks the invariants
  std::string problem_of(const model::AssociationRecord& record) const;

  std::map<std::string, model::AccountRecord> accounts_;
  std::map<std::string, model::UserRecord> users_;
  std::map<std::uint32_t, model::AssociationRecord> associations_;
  std::map<std::uint32_t, model::QosRecord> qos_;
  std::map<std::string, model::ClusterRecord> clusters_;
  std::map<std::string, model::FederationRecord> federations_;
  std::map<std::string, model::ResourceRecord> resources_;
  std::unordered_map<Key, std::uint32_t> index_;
  std::unordered_map<std::uint32_t, std::uint32_t> parents_;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> children_;
  std::uint64_t version_ = 1;
};

}  // namespace minke::accounts
