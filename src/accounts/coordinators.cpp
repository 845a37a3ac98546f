#include "accounts/coordinators.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "model/accounts.pb.h"

namespace minke::accounts {

using namespace model;

namespace {

constexpr std::size_t kMostOfACoordinator = 5000;
constexpr int kDeepest = 32;
constexpr int kMostWords = 100;

bool names_user(const AccountRecord& account, const std::string& user) {
  const auto& list = account.coordinators();
  return std::find(list.begin(), list.end(), user) != list.end();
}

bool same(const auto& a, const auto& b) {
  return a.SerializeAsString() == b.SerializeAsString();
}

template <typename Map>
bool same_maps(const Map& a, const Map& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](const auto& x, const auto& y) {
           return x.first == y.first && same(x.second, y.second);
         });
}

// The keys of both.
template <typename Map>
std::set<typename Map::key_type> keys_of(const Map& a, const Map& b) {
  std::set<typename Map::key_type> keys;
  for (const Map* map : {&a, &b})
    for (const auto& [key, record] : *map) keys.insert(key);
  return keys;
}

template <typename Map>
auto* at(const Map& map, const typename Map::key_type& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

using Number = std::pair<bool (Limits::*)() const, uint32_t (Limits::*)() const>;
// Those that an association has in place of its parent's. The parent's limits for all jobs together hold
// anyway.
constexpr Number kNumbers[] = {{&Limits::has_max_jobs, &Limits::max_jobs},
                               {&Limits::has_max_jobs_accrue, &Limits::max_jobs_accrue},
                               {&Limits::has_max_submit_jobs, &Limits::max_submit_jobs},
                               {&Limits::has_max_wall, &Limits::max_wall}};

bool within(const google::protobuf::RepeatedPtrField<Tres>& own,
            const google::protobuf::RepeatedPtrField<Tres>& above) {
  return std::all_of(own.begin(), own.end(), [&](const Tres& one) {
    return std::none_of(above.begin(), above.end(), [&](const Tres& limit) {
      return limit.name() == one.name() && one.count() > limit.count();
    });
  });
}

bool within(const Limits& own, const Limits& above) {
  const bool numbers = std::all_of(std::begin(kNumbers), std::end(kNumbers), [&](const Number& number) {
    const auto [has, value] = number;
    return !(own.*has)() || !(above.*has)() || (own.*value)() <= (above.*value)();
  });
  return numbers && within(own.max_tres(), above.max_tres()) &&
         within(own.max_tres_per_node(), above.max_tres_per_node()) &&
         within(own.max_tres_mins(), above.max_tres_mins());
}

class Check {
 public:
  Check(const AccountBook& before, const AccountBook& after, const std::string& user)
      : before_(before), after_(after), user_(user) {}

  Status run() const {
    if (!same_maps(before_.qos(), after_.qos()) || !same_maps(before_.clusters(), after_.clusters()) ||
        !same_maps(before_.federations(), after_.federations()) ||
        !same_maps(before_.resources(), after_.resources()))
      return failure("QOS, clusters and resources are for operators");
    for (const std::string& name : keys_of(before_.accounts(), after_.accounts()))
      if (const Status fine = check_account(name); !fine) return fine;
    for (const std::string& name : keys_of(before_.users(), after_.users()))
      if (const Status fine = check_user(name); !fine) return fine;
    bool reshaped = false;
    for (const uint32_t id : keys_of(before_.associations(), after_.associations())) {
      if (const Status fine = check_association(id); !fine) return fine;
      reshaped |= before_.parent(id) != after_.parent(id);
    }
    return reshaped ? check_shape() : Status();
  }

 private:
  // Whether the account is his, or below one that is. Who is a coordinator, the book says as it is.
  bool is_his(const AccountBook& book, const std::string& account) const {
    for (const AssociationRecord* one = book.find(account); one != nullptr;
         one = book.association(book.parent(one->id()))) {
      const AccountRecord* record = before_.account(one->account());
      if (record != nullptr && names_user(*record, user_)) return true;
    }
    return false;
  }
  // Who is in an account of this cluster.
  const std::set<std::string>& members(const AccountBook& book) const {
    auto& names = &book == &before_ ? members_before_ : members_after_;
    if (names) return *names;
    names.emplace();
    for (const auto& [id, one] : book.associations())
      if (one.cluster().empty() && !one.user().empty()) names->insert(one.user());
    return *names;
  }
  // Whether its parent is.
  bool is_below_his(const AccountBook& book, const std::string& account) const {
    const AssociationRecord* own = book.find(account);
    const AssociationRecord* above = own == nullptr ? nullptr : book.association(book.parent(own->id()));
    return above != nullptr && is_his(book, above->account());
  }

  Status check_account(const std::string& name) const {
    const AccountRecord* was = before_.account(name);
    const AccountRecord* is = after_.account(name);
    if (was != nullptr && is != nullptr) {
      AccountRecord but_coordinators = *is;
      *but_coordinators.mutable_coordinators() = was->coordinators();
      if (same(*was, *is) || is_below_his(before_, name)) return {};
      if (is_his(before_, name) && same(*was, but_coordinators)) return {};
    } else if (is_below_his(was != nullptr ? before_ : after_, name)) {
      return {};
    }
    return failure("account " + name + " is not below an account that you coordinate");
  }

  Status check_user(const std::string& name) const {
    const UserRecord* was = before_.user(name);
    const UserRecord* is = after_.user(name);
    if (was != nullptr && is != nullptr) {
      UserRecord but_default = *is;
      but_default.set_default_account(was->default_account());
      // It is chosen anew where he lost it.
      const bool lost = after_.find(was->default_account(), name) == nullptr;
      if (same(*was, *is) || (same(*was, but_default) && lost)) return {};
      return failure("of users who are there already, operators change what is not of an account");
    }
    if ((was != nullptr ? was : is)->admin_level() != ADMIN_NONE)
      return failure("an admin level is for administrators");
    // Whether he is one of theirs, his associations say.
    if (!members(was != nullptr ? before_ : after_).contains(name))
      return failure("user " + name + " is in no account that you coordinate");
    return {};
  }

  Status check_association(uint32_t id) const {
    const AssociationRecord* was = at(before_.associations(), id);
    const AssociationRecord* is = at(after_.associations(), id);
    if (was != nullptr && is != nullptr && same(*was, *is)) return {};
    for (const auto& [record, book] : {std::pair{was, &before_}, std::pair{is, &after_}}) {
      if (record == nullptr) continue;
      const bool his =
          record->cluster().empty() && (record->user().empty() ? is_below_his(*book, record->account())
                                                               : is_his(*book, record->account()));
      if (!his)
        return failure("account " + record->account() +
                       (record->user().empty() ? " is not below an account that you coordinate"
                                               : " is none that you coordinate"));
    }
    return is == nullptr ? Status() : check_values(was == nullptr ? AssociationRecord() : *was, *is);
  }

  // A tree that he makes larger, or deeper, costs everybody time.
  Status check_shape() const {
    std::size_t his = 0;
    for (const auto& [id, one] : after_.associations()) {
      if (!one.cluster().empty() || !is_his(after_, one.account())) continue;
      ++his;
      if (const int depth = depth_of(after_, id); depth > kDeepest && depth > depth_of(before_, id))
        return failure("a coordinator's accounts are " + std::to_string(kDeepest) + " deep at most");
    }
    if (his <= kMostOfACoordinator || after_.associations().size() <= before_.associations().size())
      return {};
    return failure("a coordinator's accounts have " + std::to_string(kMostOfACoordinator) +
                   " users and accounts at most; operators may add more");
  }

  // How many accounts are above it.
  static int depth_of(const AccountBook& book, uint32_t id) {
    int depth = 0;
    while ((id = book.parent(id)) != 0) ++depth;
    return depth;
  }

  Status check_values(const AssociationRecord& was, const AssociationRecord& is) const {
    const uint32_t above = after_.parent(is.id());
    const std::string whose = is.user().empty() ? "account " + is.account() : "user " + is.user();
    if (is.qos_size() > kMostWords)
      return failure(whose + " cannot have more than " + std::to_string(kMostWords) + " QOS");
    if (is.core_years() != was.core_years() || is.rgu_years() != was.rgu_years())
      return failure(whose + ": allocations are given by operators");
    if (is.has_priority() != was.has_priority() || is.priority() != was.priority())
      return failure(whose + ": priorities are given by operators");
    if (!within(is.limits(), after_.effective_limits(above)))
      return failure(whose + " cannot have a higher limit than account " + is.account() + " has");
    const auto allowed = after_.allowed_qos(above), own = after_.allowed_qos(is.id());
    if (!std::includes(allowed.begin(), allowed.end(), own.begin(), own.end()))
      return failure(whose + " cannot have a QOS that account " + is.account() + " has not");
    return {};
  }

  const AccountBook& before_;
  const AccountBook& after_;
  const std::string& user_;
  mutable std::optional<std::set<std::string>> members_before_, members_after_;
};

}  // namespace

std::vector<Coordination> coordinators_of(const AccountBook& book, const std::string& account) {
  std::vector<Coordination> found;
  const AccountRecord* one = book.account(account);
  const AssociationRecord* place = book.find(account);
  for (bool direct = true; one != nullptr; direct = false) {
    for (const std::string& name : one->coordinators()) {
      const bool known =
          std::any_of(found.begin(), found.end(), [&](const Coordination& it) { return it.name == name; });
      if (!known) found.push_back({name, direct});
    }
    place = place == nullptr ? nullptr : book.association(book.parent(place->id()));
    one = place == nullptr ? nullptr : book.account(place->account());
  }
  return found;
}

std::vector<Coordination> coordinated_by(const AccountBook& book, const std::string& user) {
  std::vector<Coordination> found;
  if (!is_coordinator(book, user)) return found;
  for (const auto& [name, account] : book.accounts())
    for (const Coordination& one : coordinators_of(book, name))
      if (one.name == user) found.push_back({name, one.direct});
  return found;
}

bool is_coordinator(const AccountBook& book, const std::string& user) {
  return std::any_of(book.accounts().begin(), book.accounts().end(),
                     [&](const auto& one) { return names_user(one.second, user); });
}

Status check_coordinator(const AccountBook& before, const AccountBook& after, const std::string& user) {
  return Check(before, after, user).run();
}

}  // namespace minke::accounts
