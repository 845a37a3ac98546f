#include "accounts/limit_ledger.h"

#include <algorithm>
#include <set>

#include "model/accounts.pb.h"
#include "model/job_state.pb.h"

namespace minke::accounts {
namespace {

using model::StateReason;
using TresLimits = google::protobuf::RepeatedPtrField<model::Tres>;

// Distances between the reasons of model/job_state.proto.
enum Kind : int {
  kGrp = 0,
  kGrpMinutes = 20,
  kGrpRunMinutes = 40,
  kMaxPerJob = 60,
  kMaxPerNode = 80,
  kMaxMinutesPerJob = 100,
  kMaxPerUser = 120,
  kMaxPerAccount = 140,
  kMin = 160,
};

StateReason tres_reason(bool qos, Kind kind, std::string_view name) {
  int tres = model::ASSOC_GRP_GRES - model::ASSOC_GRP_CPU;
  if (name == "cpu") tres = model::ASSOC_GRP_CPU - model::ASSOC_GRP_CPU;
  if (name == "mem") tres = model::ASSOC_GRP_MEM - model::ASSOC_GRP_CPU;
  if (name == "node") tres = model::ASSOC_GRP_NODE - model::ASSOC_GRP_CPU;
  if (name.starts_with("license/")) tres = model::ASSOC_GRP_LICENSE - model::ASSOC_GRP_CPU;
  if (name == "billing") tres = model::ASSOC_GRP_BILLING - model::ASSOC_GRP_CPU;
  return static_cast<StateReason>((qos ? int{model::QOS_GRP_CPU} : int{model::ASSOC_GRP_CPU}) + int{kind} +
                                  tres);
}

std::uint64_t held(const LimitLedger::Use& use, const std::string& name) {
  const auto found = use.tres.find(name);
  return found == use.tres.end() ? 0 : found->second;
}

const LimitLedger::Use kNothing;

using UseOfPair = std::map<std::pair<std::uint32_t, std::uint32_t>, LimitLedger::Use>;
const LimitLedger::Use& find_use(const UseOfPair& uses, const UseOfPair::key_type& key) {
  const auto found = uses.find(key);
  return found == uses.end() ? kNothing : found->second;
}

// The next QOS and the associations do not limit again what a QOS limits.
class Limited {
 public:
  bool taken(int kind, const std::string& name = {}) const { return taken_.contains({kind, name}); }
  void take(int kind, const std::string& name = {}) { taken_.emplace(kind, name); }

 private:
  std::set<std::pair<int, std::string>> taken_;
};

// Returns the first of a Kind's TRES limits that the claim exceeds, with `there` in use already.
template <typename Measure>
std::optional<StateReason> over(bool qos, Kind kind, const TresLimits& limits, Limited& limited,
                                Measure exceeds) {
  for (const model::Tres& limit : limits) {
    if (limited.taken(kind, limit.name())) continue;
    if (qos) limited.take(kind, limit.name());
    if (exceeds(limit)) return tres_reason(qos, kind, limit.name());
  }
  return std::nullopt;
}

bool flagged(const model::QosRecord& qos, std::string_view flag) {
  return std::any_of(qos.flags().begin(), qos.flags().end(),
                     [&](const std::string& one) { return one == flag; });
}

// Returns the limit that a job's own request exceeds, whatever else runs.
std::optional<StateReason> job_problem(bool qos, const model::Limits& limits, const Claim& claim,
                                       Limited& limited) {
  const auto wanted = [&](const model::Tres& limit) { return count_of(claim.tres, limit.name()); };
  if (limits.has_max_wall() && !limited.taken(-1)) {
    if (qos) limited.take(-1);
    if (claim.limit_minutes > limits.max_wall())
      return qos ? model::QOS_MAX_WALL_PER_JOB : model::ASSOC_MAX_WALL_PER_JOB;
  }
  if (auto found =
          over(qos, kMaxMinutesPerJob, limits.max_tres_mins(), limited, [&](const model::Tres& limit) {
            return static_cast<double>(wanted(limit)) * claim.limit_minutes >
                   static_cast<double>(limit.count());
          }))
    return found;
  if (auto found = over(qos, kMaxPerJob, limits.max_tres(), limited,
                        [&](const model::Tres& limit) { return wanted(limit) > limit.count(); }))
    return found;
  const std::uint64_t nodes = std::max<std::uint64_t>(1, count_of(claim.tres, "node"));
  if (auto found = over(qos, kMaxPerNode, limits.max_tres_per_node(), limited,
                        [&](const model::Tres& limit) { return wanted(limit) > limit.count() * nodes; }))
    return found;
  return over(qos, kMin, limits.min_tres(), limited,
              [&](const model::Tres& limit) { return wanted(limit) < limit.count(); });
}

}  // namespace

std::uint64_t count_of(const TresCounts& counts, std::string_view name) {
  for (const auto& [known, count] : counts) {
    if (known == name) return count;
  }
  return 0;
}

void Usage::add(const Usage& other) {
  raw += other.raw;
  wall_seconds += other.wall_seconds;
  for (const auto& [name, seconds] : other.tres) tres[name] += seconds;
}

void Usage::scale(double factor) {
  raw *= factor;
  wall_seconds *= factor;
  for (auto& [name, seconds] : tres) seconds *= factor;
}

std::uint32_t LimitLedger::account_of(std::uint32_t association) const {
  const model::AssociationRecord* record = book_.association(association);
  if (record == nullptr) return 0;
  return record->user().empty() ? association : book_.parent(association);
}

template <typename Change>
void LimitLedger::each_use(const Claim& claim, Change change) {
  for (std::uint32_t id = claim.association; id != 0; id = book_.parent(id)) change(associations_[id]);
  for (const std::uint32_t qos : {claim.qos, claim.partition_qos == claim.qos ? 0 : claim.partition_qos}) {
    if (qos == 0) continue;
    change(qos_[qos]);
    change(qos_users_[{qos, claim.uid}]);
    change(qos_accounts_[{qos, account_of(claim.association)}]);
  }
}

std::vector<const model::QosRecord*> LimitLedger::qos_in_order(const Claim& claim) const {
  std::vector<const model::QosRecord*> order;
  if (const auto* own = book_.qos(claim.qos)) order.push_back(own);
  if (const auto* other = book_.qos(claim.partition_qos);
      other != nullptr && claim.partition_qos != claim.qos)
    order.insert(order.empty() || flagged(*order.front(), "OverPartQOS") ? order.end() : order.begin(),
                 other);
  return order;
}

LimitLedger::LimitLedger(const LimitLedger& other, const AccountBook& book)
    : book_(book),
      associations_(other.associations_),
      qos_(other.qos_),
      qos_users_(other.qos_users_),
      qos_accounts_(other.qos_accounts_),
      running_(other.running_) {}

void LimitLedger::submitted(const Claim& claim, std::uint64_t tasks) {
  each_use(claim, [&](Use& use) { use.submitted += tasks; });
}

void LimitLedger::withdrawn(const Claim& claim, std::uint64_t tasks) {
  each_use(claim, [&](Use& use) { use.submitted -= std::min(use.submitted, tasks); });
}

void LimitLedger::started(std::uint32_t job_id, const Claim& claim, std::int64_t now) {
  if (claim.association == 0 && claim.qos == 0 && claim.partition_qos == 0) return;
  if (!running_.emplace(job_id, Running{claim, now}).second) return;
  each_use(claim, [&](Use& use) {
    ++use.running;
    for (const auto& [name, count] : claim.tres) use.tres[name] += count;
  });
}

void LimitLedger::ended(std::uint32_t job_id) {
  const auto found = running_.extract(job_id);
  if (found.empty()) return;
  const Claim& claim = found.mapped().claim;
  each_use(claim, [&](Use& use) {
    use.running -= std::min<std::uint64_t>(use.running, 1);
    for (const auto& [name, count] : claim.tres) use.tres[name] -= std::min(use.tres[name], count);
  });
}

const LimitLedger::Use& LimitLedger::use(std::uint32_t association) const {
  const auto found = associations_.find(association);
  return found == associations_.end() ? kNothing : found->second;
}

const LimitLedger::Use& LimitLedger::qos_use(std::uint32_t qos) const {
  const auto found = qos_.find(qos);
  return found == qos_.end() ? kNothing : found->second;
}

namespace {

void add_promise(Usage& sum, const Claim& claim, std::int64_t start, std::int64_t now) {
  if (claim.limit_minutes == 0xffffffff) return;
  const double left =
      static_cast<double>(std::max<std::int64_t>(0, start + claim.limit_minutes * 60LL - now));
  for (const auto& [name, count] : claim.tres) sum.tres[name] += left * static_cast<double>(count);
}

double seconds_of(const Usage& usage, const std::string& name) {
  const auto found = usage.tres.find(name);
  return found == usage.tres.end() ? 0 : found->second;
}

const Usage& past_of(const std::unordered_map<std::uint32_t, Usage>* past, std::uint32_t id) {
  static const Usage none;
  if (past == nullptr) return none;
  const auto found = past->find(id);
  return found == past->end() ? none : found->second;
}

}  // namespace

Usage LimitLedger::promised(std::uint32_t association, std::int64_t now) const {
  Usage sum;
  for (const auto& [id, one] : running_) {
    if (book_.below(one.claim.association, association)) add_promise(sum, one.claim, one.start, now);
  }
  return sum;
}

std::unordered_map<std::uint32_t, Usage> LimitLedger::promised_in_all(std::int64_t now) const {
  std::unordered_map<std::uint32_t, Usage> sums;
  for (const auto& [job, one] : running_) {
    for (std::uint32_t id = one.claim.association; id != 0; id = book_.parent(id))
      add_promise(sums[id], one.claim, one.start, now);
  }
  return sums;
}

Usage LimitLedger::promised_in_qos(std::uint32_t qos, std::int64_t now) const {
  Usage sum;
  for (const auto& [id, one] : running_) {
    if (one.claim.qos == qos || one.claim.partition_qos == qos) add_promise(sum, one.claim, one.start, now);
  }
  return sum;
}

bool LimitLedger::limited(const Claim& claim) const {
  for (std::uint32_t id = claim.association; id != 0; id = book_.parent(id)) {
    if (const auto* record = book_.association(id); record != nullptr && record->has_limits()) return true;
  }
  const auto order = qos_in_order(claim);
  return std::any_of(order.begin(), order.end(), [](const auto* qos) { return qos->has_limits(); });
}

// Which limit refuses jobs at once: numbers of submitted jobs, and with DenyOnLimit what could never start.
class LimitLedger::SubmissionCheck {
 public:
  SubmissionCheck(const LimitLedger& ledger, const Claim& claim, std::uint64_t tasks)
      : ledger_(ledger), claim_(claim), tasks_(tasks), order_(ledger.qos_in_order(claim)) {}

  std::optional<StateReason> find() {
    for (const model::QosRecord* qos : order_) {
      if (auto found = too_many_in(*qos)) return found;
    }
    if (auto found = too_many_in_associations()) return found;
    return strict_ ? beyond_any_hope() : std::nullopt;
  }

 private:
  bool too_many(const Use& use, std::uint32_t limit) const { return use.submitted + tasks_ > limit; }

  std::optional<StateReason> too_many_in(const model::QosRecord& qos) {
    const model::Limits& limits = qos.limits();
    const Use& account = find_use(ledger_.qos_accounts_, {qos.id(), ledger_.account_of(claim_.association)});
    const Use& user = find_use(ledger_.qos_users_, {qos.id(), claim_.uid});
    strict_ |= flagged(qos, "DenyOnLimit");
    if (!own_account_ && limits.has_max_submit_jobs_per_account() &&
        too_many(account, limits.max_submit_jobs_per_account()))
      return model::QOS_MAX_SUBMIT_JOBS_PER_ACCOUNT;
    if (!own_max_ && limits.has_max_submit_jobs() && too_many(user, limits.max_submit_jobs()))
      return model::QOS_MAX_SUBMIT_JOBS_PER_USER;
    if (!own_grp_ && limits.has_grp_submit_jobs() &&
        too_many(ledger_.qos_use(qos.id()), limits.grp_submit_jobs()))
      return model::QOS_GRP_SUBMIT_JOBS;
    own_account_ |= limits.has_max_submit_jobs_per_account();
    own_max_ |= limits.has_max_submit_jobs();
    own_grp_ |= limits.has_grp_submit_jobs();
    return std::nullopt;
  }

  std::optional<StateReason> too_many_in_associations() const {
    const AccountBook& book = ledger_.book_;
    for (std::uint32_t id = claim_.association; id != 0; id = book.parent(id)) {
      const model::AssociationRecord* record = book.association(id);
      if (record == nullptr) break;
      if (!own_grp_ && record->limits().has_grp_submit_jobs() &&
          too_many(ledger_.use(id), record->limits().grp_submit_jobs()))
        return model::ASSOC_GRP_SUBMIT_JOBS;
      if (id != claim_.association || own_max_) continue;
      const model::Limits limits = book.effective_limits(id);
      if (limits.has_max_submit_jobs() && too_many(ledger_.use(id), limits.max_submit_jobs()))
        return model::ASSOC_MAX_SUBMIT_JOBS;
    }
    return std::nullopt;
  }

  // Returns what exceeds a limit even if nothing else runs.
  std::optional<StateReason> beyond_any_hope() const {
    Limited limited;
    const auto alone = [&](const model::Tres& limit) {
      return count_of(claim_.tres, limit.name()) > limit.count();
    };
    for (const model::QosRecord* qos : order_) {
      const model::Limits& limits = qos->limits();
      if (auto found = job_problem(true, limits, claim_, limited)) return found;
      if (auto found = over(true, kMaxPerUser, limits.max_tres_per_user(), limited, alone)) return found;
      if (auto found = over(true, kMaxPerAccount, limits.max_tres_per_account(), limited, alone))
        return found;
      if (auto found = over(true, kGrp, limits.grp_tres(), limited, alone)) return found;
    }
    if (claim_.association == 0) return std::nullopt;
    const AccountBook& book = ledger_.book_;
    if (auto found = job_problem(false, book.effective_limits(claim_.association), claim_, limited))
      return found;
    for (std::uint32_t id = claim_.association; id != 0; id = book.parent(id)) {
      if (auto found = over(false, kGrp, book.association(id)->limits().grp_tres(), limited, alone))
        return found;
    }
    return std::nullopt;
  }

  const LimitLedger& ledger_;
  const Claim& claim_;
  std::uint64_t tasks_;
  std::vector<const model::QosRecord*> order_;
  bool strict_ = false;                                           // one of them has DenyOnLimit
  bool own_grp_ = false, own_max_ = false, own_account_ = false;  // a QOS limits it: not again
};

std::optional<StateReason> LimitLedger::submission_problem(const Claim& claim, std::uint64_t tasks) const {
  return SubmissionCheck(*this, claim, tasks).find();
}

// Which limit keeps a claim from starting now: its QOS's in their order, then those of its association
// and of all above it.
class LimitLedger::StartCheck {
 public:
  StartCheck(const LimitLedger& ledger, const Claim& claim, const Past& past, std::int64_t now)
      : ledger_(ledger), claim_(claim), past_(past), now_(now) {}

  std::optional<StateReason> find() {
    for (const model::QosRecord* qos : ledger_.qos_in_order(claim_)) {
      if (auto found = in_qos(*qos)) return found;
    }
    const AccountBook& book = ledger_.book_;
    if (claim_.association == 0 || book.association(claim_.association) == nullptr) return std::nullopt;
    const model::Limits own = book.effective_limits(claim_.association);
    for (std::uint32_t id = claim_.association; id != 0; id = book.parent(id)) {
      if (auto found = jobs_of_association(id, own)) return found;
    }
    if (auto found = job_problem(false, own, claim_, limited_)) return found;
    for (std::uint32_t id = claim_.association; id != 0; id = book.parent(id)) {
      model::Limits limits = book.association(id)->limits();
      if (id == kRootAssociation) limits.clear_grp_tres_mins();  // as in Slurm
      if (auto found = in_group(false, limits, ledger_.use(id), past_of(past_.associations, id),
                                [&] { return ledger_.promised(id, now_); }))
        return found;
    }
    return std::nullopt;
  }

 private:
  // Kinds of limits that are not TRES.
  enum : int { kGrpJobs = -2, kMaxJobs = -3, kGrpWall = -4, kMaxAccountJobs = -5 };

  static double minutes(double seconds) { return seconds / 60; }
  std::uint64_t wanted(const model::Tres& limit) const { return count_of(claim_.tres, limit.name()); }
  double job_minutes(const model::Tres& limit) const {
    return static_cast<double>(wanted(limit)) * claim_.limit_minutes;
  }
  bool exceeds(const model::Tres& limit, const Use& use) const {
    return wanted(limit) > 0 && held(use, limit.name()) + wanted(limit) > limit.count();
  }

  // What a group holds and has used; `promise` is computed only if a limit needs it.
  template <typename Promise>
  std::optional<StateReason> in_group(bool qos, const model::Limits& limits, const Use& use,
                                      const Usage& used, const Promise& promise) {
    const auto exceeds_past = [&](const model::Tres& limit) {
      const double spent = minutes(seconds_of(used, limit.name()));
      if (spent >= static_cast<double>(limit.count())) return true;
      if (!past_.safe || wanted(limit) == 0) return false;
      return spent + minutes(seconds_of(promise(), limit.name())) + job_minutes(limit) >
             static_cast<double>(limit.count());
    };
    const auto exceeds_promised = [&](const model::Tres& limit) {
      return wanted(limit) > 0 && minutes(seconds_of(promise(), limit.name())) + job_minutes(limit) >
                                      static_cast<double>(limit.count());
    };
    if (auto found = over(qos, kGrpMinutes, limits.grp_tres_mins(), limited_, exceeds_past)) return found;
    if (auto found = over(qos, kGrp, limits.grp_tres(), limited_,
                          [&](const model::Tres& limit) { return exceeds(limit, use); }))
      return found;
    return over(qos, kGrpRunMinutes, limits.grp_tres_run_mins(), limited_, exceeds_promised);
  }

  std::optional<StateReason> in_qos(const model::QosRecord& qos) {
    const std::uint32_t id = qos.id();
    const model::Limits& limits = qos.limits();
    const Use& user = find_use(ledger_.qos_users_, {id, claim_.uid});
    const Use& account = find_use(ledger_.qos_accounts_, {id, ledger_.account_of(claim_.association)});
    if (auto found = jobs_of_qos(id, limits, user, account)) return found;
    if (auto found = job_problem(true, limits, claim_, limited_)) return found;
    if (auto found = in_group(true, limits, ledger_.qos_use(id), past_of(past_.qos, id),
                              [&] { return ledger_.promised_in_qos(id, now_); }))
      return found;
    if (auto found = over(true, kMaxPerAccount, limits.max_tres_per_account(), limited_,
                          [&](const model::Tres& limit) { return exceeds(limit, account); }))
      return found;
    return over(true, kMaxPerUser, limits.max_tres_per_user(), limited_,
                [&](const model::Tres& limit) { return exceeds(limit, user); });
  }

  // Numbers of running jobs, and time.
  std::optional<StateReason> jobs_of_qos(std::uint32_t id, const model::Limits& limits, const Use& user,
                                         const Use& account) {
    const auto decides = [&](int kind, bool has) {
      if (!has || limited_.taken(kind)) return false;
      limited_.take(kind);
      return true;
    };
    if (decides(kGrpJobs, limits.has_grp_jobs()) && ledger_.qos_use(id).running >= limits.grp_jobs())
      return model::QOS_GRP_JOBS;
    if (decides(kGrpWall, limits.has_grp_wall()) &&
        minutes(past_of(past_.qos, id).wall_seconds) >= limits.grp_wall())
      return model::QOS_GRP_WALL;
    if (decides(kMaxAccountJobs, limits.has_max_jobs_per_account()) &&
        account.running >= limits.max_jobs_per_account())
      return model::QOS_MAX_JOBS_PER_ACCOUNT;
    if (decides(kMaxJobs, limits.has_max_jobs()) && user.running >= limits.max_jobs())
      return model::QOS_MAX_JOBS_PER_USER;
    return std::nullopt;
  }

  std::optional<StateReason> jobs_of_association(std::uint32_t id, const model::Limits& own) const {
    const model::Limits& limits = ledger_.book_.association(id)->limits();
    const std::uint64_t running = ledger_.use(id).running;
    if (limits.has_grp_jobs() && !limited_.taken(kGrpJobs) && running >= limits.grp_jobs())
      return model::ASSOC_GRP_JOBS;
    if (id != kRootAssociation && limits.has_grp_wall() && !limited_.taken(kGrpWall) &&
        minutes(past_of(past_.associations, id).wall_seconds) >= limits.grp_wall())
      return model::ASSOC_GRP_WALL;
    if (id == claim_.association && own.has_max_jobs() && !limited_.taken(kMaxJobs) &&
        running >= own.max_jobs())
      return model::ASSOC_MAX_JOBS;
    return std::nullopt;
  }

  const LimitLedger& ledger_;
  const Claim& claim_;
  const Past& past_;
  std::int64_t now_;
  Limited limited_;
};

std::optional<StateReason> LimitLedger::start_problem(const Claim& claim, const Past& past,
                                                      std::int64_t now) const {
  return StartCheck(*this, claim, past, now).find();
}

std::uint32_t LimitLedger::longest_minutes(const Claim& claim) const {
  std::uint64_t longest = 0xffffffff;
  Limited limited;
  const auto narrow = [&](bool qos, const model::Limits& limits) {
    if (limits.has_max_wall() && !limited.taken(-1)) {
      if (qos) limited.take(-1);
      longest = std::min<std::uint64_t>(longest, limits.max_wall());
    }
    over(qos, kMaxMinutesPerJob, limits.max_tres_mins(), limited, [&](const model::Tres& limit) {
      if (const std::uint64_t wanted = count_of(claim.tres, limit.name());
          wanted != 0 && wanted <= limit.count())
        longest = std::min<std::uint64_t>(longest, limit.count() / wanted);
      return false;
    });
  };
  for (const model::QosRecord* qos : qos_in_order(claim)) narrow(true, qos->limits());
  if (book_.association(claim.association) != nullptr)
    narrow(false, book_.effective_limits(claim.association));
  return static_cast<std::uint32_t>(longest);
}

std::uint32_t LimitLedger::max_nodes(const Claim& claim) const {
  constexpr std::uint64_t kNone = 0xffffffff;
  const auto nodes_in = [](const auto& list) {
    std::uint64_t most = kNone;
    for (const model::Tres& limit : list)
      if (limit.name() == "node") most = std::min<std::uint64_t>(most, limit.count());
    return most;
  };
  std::uint64_t each = kNone, group = kNone;
  for (const model::QosRecord* qos : qos_in_order(claim)) {
    if (each == kNone)
      each = std::min(nodes_in(qos->limits().max_tres()), nodes_in(qos->limits().max_tres_per_user()));
    if (group == kNone) group = nodes_in(qos->limits().grp_tres());
  }
  // The association does not limit again what the QOS limits.
  if (each == kNone && book_.association(claim.association) != nullptr)
    each = nodes_in(book_.effective_limits(claim.association).max_tres());
  const bool by_qos = group != kNone;
  for (std::uint32_t one = claim.association; !by_qos && one != 0; one = book_.parent(one)) {
    if (const auto* record = book_.association(one); record != nullptr)
      group = std::min(group, nodes_in(record->limits().grp_tres()));
  }
  return static_cast<std::uint32_t>(std::min(each, group));
}

}  // namespace minke::accounts
