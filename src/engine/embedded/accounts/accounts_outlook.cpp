// The part of Accounts that serves forecasts and explanations.
#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>

#include "engine/embedded/accounts/accounts.h"
#include "engine/embedded/core.h"

namespace minke::engine {

using namespace model;

namespace {

// Past usage does not change: a forecast knows which resources will be held, not what will be charged. It is
// a copy of all that it needs: accounts may change while the forecast is being made.
class LedgerCopy : public sched::ForeseenLimits {
 public:
  using Totals = std::shared_ptr<const accounts::UsageBook::Totals>;
  LedgerCopy(const accounts::LimitLedger& ledger, std::shared_ptr<const accounts::AccountBook> book,
             const std::unordered_map<uint32_t, accounts::Claim>& groups, Totals totals, Totals qos_totals,
             bool safe)
      : book_(std::move(book)),
        ledger_(ledger, *book_),
        groups_(groups),
        totals_(std::move(totals)),
        qos_totals_(std::move(qos_totals)),
        past_{totals_.get(), qos_totals_.get(), safe} {}
  // Before the forecast begins: the only time that `groups_` is valid.
  void expect(uint32_t group) override { claims_.try_emplace(group, groups_.at(group)); }
  std::optional<StateReason> refuse(uint32_t group, int64_t now) override {
    return ledger_.start_problem(claims_.at(group), past_, now);
  }
  void started(sched::RunKey key, uint32_t group, int64_t now) override {
    ledger_.started(static_cast<uint32_t>(key), claims_.at(group), now);
  }
  void ended(sched::RunKey key) override { ledger_.ended(static_cast<uint32_t>(key)); }

 private:
  const std::shared_ptr<const accounts::AccountBook> book_;
  accounts::LimitLedger ledger_;
  const std::unordered_map<uint32_t, accounts::Claim>& groups_;
  std::unordered_map<uint32_t, accounts::Claim> claims_;  // by group
  const Totals totals_, qos_totals_;
  const accounts::LimitLedger::Past past_;
};

bool any_limit(const Limits& limits) {
  return limits.has_grp_jobs() || limits.has_grp_wall() || limits.grp_tres_size() > 0 ||
         limits.grp_tres_mins_size() > 0 || limits.grp_tres_run_mins_size() > 0 || limits.has_max_jobs();
}

class Words {
 public:
  void add(const std::string& text) { text_ += (text_.empty() ? "" : ", ") + text; }
  void used(const std::string& what, uint64_t part, uint64_t all) {
    add(what + " " + std::to_string(part) + " of " + std::to_string(all));
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

uint64_t minutes_of(const accounts::Usage& usage, const std::string& name) {
  const auto found = usage.tres.find(name);
  const double seconds = name == "billing" ? usage.raw : found == usage.tres.end() ? 0 : found->second;
  return static_cast<uint64_t>(seconds / 60);
}

std::string in_words(const Limits& limits, const accounts::LimitLedger::Use& use,
                     const accounts::Usage* past) {
  Words words;
  if (limits.has_grp_jobs()) words.used("jobs", use.running, limits.grp_jobs());
  for (const Tres& tres : limits.grp_tres()) {
    const auto held = use.tres.find(tres.name());
    words.used(tres.name(), held == use.tres.end() ? 0 : held->second, tres.count());
  }
  for (const Tres& tres : limits.grp_tres_mins())
    words.used(tres.name() + "-minutes", past == nullptr ? 0 : minutes_of(*past, tres.name()), tres.count());
  for (const Tres& tres : limits.grp_tres_run_mins())
    words.add("at most " + std::to_string(tres.count()) + " " + tres.name() + "-minutes of running jobs");
  if (limits.has_grp_wall())
    words.used("minutes", past == nullptr ? 0 : static_cast<uint64_t>(past->wall_seconds / 60),
               limits.grp_wall());
  for (const Tres& tres : limits.max_tres())
    words.add("at most " + std::to_string(tres.count()) + " " + tres.name() + " each job");
  for (const Tres& tres : limits.max_tres_per_user())
    words.add("at most " + std::to_string(tres.count()) + " " + tres.name() + " each user");
  for (const Tres& tres : limits.max_tres_per_account())
    words.add("at most " + std::to_string(tres.count()) + " " + tres.name() + " each account");
  return words.text();
}

const accounts::Usage* usage_in(const accounts::UsageBook::Totals& totals, uint32_t id) {
  const auto found = totals.find(id);
  return found == totals.end() ? nullptr : &found->second;
}

}  // namespace

std::unique_ptr<sched::ForeseenLimits> Accounts::foresee() {
  if (groups_.empty()) return nullptr;
  if (stale_) calculate();
  if (!foreseen_book_ || foreseen_book_->version() != book_.version())
    foreseen_book_ = std::make_shared<accounts::AccountBook>(book_);
  return std::make_unique<LedgerCopy>(ledger_, foreseen_book_, groups_, totals_, qos_totals_,
                                      core_.config.accounting.safe);
}

std::string Accounts::limits_in_words(const Job& job, bool of_qos) const {
  if (of_qos) {
    std::string all;
    for (const uint32_t id : {job.partition_qos, job.qos == job.partition_qos ? 0 : job.qos}) {
      const QosRecord* qos = book_.qos(id);
      if (qos == nullptr) continue;
      std::string text = in_words(qos->limits(), ledger_.qos_use(id), usage_in(*qos_totals_, id));
      if (qos->limits().has_max_jobs())
        text += (text.empty() ? "" : ", ") + ("at most " + std::to_string(qos->limits().max_jobs())) +
                " jobs of each user";
      if (!text.empty()) all += (all.empty() ? "QOS " : "; QOS ") + qos->name() + ": " + text;
    }
    return all;
  }
  std::string all;
  const auto add = [&](const std::string& whose, const std::string& text) {
    if (!text.empty()) all += (all.empty() ? "" : "; ") + whose + ": " + text;
  };
  if (book_.association(job.association) == nullptr) return "";
  const Limits own = book_.effective_limits(job.association);
  for (uint32_t id = job.association; id != 0; id = book_.parent(id)) {
    const AssociationRecord& one = *book_.association(id);
    std::string text = in_words(one.limits(), ledger_.use(id), usage_in(*totals_, id));
    if (id == job.association && own.has_max_jobs())
      text = "jobs " + std::to_string(ledger_.use(id).running) + " of " + std::to_string(own.max_jobs()) +
             (text.empty() ? "" : ", ") + text;
    add(one.user().empty() ? "account " + one.account() : one.user() + " in " + one.account(), text);
  }
  return all;
}

bool Accounts::limited_together(const Job& job, const Job& other, bool of_qos) const {
  if (of_qos) {
    const auto holds = [&](uint32_t id) { return id != 0 && (id == other.qos || id == other.partition_qos); };
    return holds(job.qos) || holds(job.partition_qos);
  }
  if (job.association == 0 || other.association == 0) return false;
  for (uint32_t id = job.association; id != 0; id = book_.parent(id)) {
    const AssociationRecord* one = book_.association(id);
    if (one == nullptr) return false;
    const bool counts = any_limit(id == job.association ? book_.effective_limits(id) : one->limits());
    if (counts && book_.below(other.association, id)) return true;
  }
  return false;
}

}  // namespace minke::engine
