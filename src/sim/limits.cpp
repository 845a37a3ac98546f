#include "sim/limits.h"

#include <algorithm>

#include "model/accounts.pb.h"
#include "model/cluster.pb.h"
#include "model/job_state.pb.h"
#include "sim/accounts.h"
#include "sim/placed.h"
#include "text/number.h"
#include "text/state.h"

namespace minke::sim {
namespace {

bool of_use(const model::Limits& limits) {
  return limits.grp_tres_mins_size() > 0 || limits.has_grp_wall() || limits.grp_tres_run_mins_size() > 0;
}

}  // namespace

const model::QosRecord* qos_of(const Trace& trace, const TraceJob& job, const accounts::AccountBook& book) {
  if (const auto* named = book.qos(text::lower_case(trace.names[job.qos]))) return named;
  const auto* association = book.find(account_name(trace, job), user_name(trace, job));
  if (association != nullptr) {
    if (const auto* own = book.qos(book.default_qos(association->id()))) return own;
  }
  return book.qos(accounts::kNormalQos);
}

Limits::Limits(const Trace& trace, const MultifactorPolicy& policy, bool safe,
               const accounts::AccountBook& book, std::span<const model::PartitionRecord> partitions)
    : trace_(trace),
      policy_(policy),
      safe_(safe),
      book_(book),
      partitions_(partitions),
      ledger_(book),
      usage_(policy.half_life) {
  for (const auto& [id, one] : book.associations()) counts_use_ |= of_use(one.limits());
  for (const auto& [id, one] : book.qos()) counts_use_ |= of_use(one.limits());
}

accounts::Claim Limits::claim_of(const TraceJob& job) const {
  accounts::Claim claim;
  claim.association = book_.find(account_name(trace_, job), user_name(trace_, job))->id();
  claim.qos = qos_of(trace_, job, book_)->id();
  claim.uid = job.user;
  claim.tres = tres_counts(trace_, job);
  const auto billing = static_cast<std::uint64_t>(
      billing_of(claim.tres, policy_, partition_of(trace_, job, partitions_).name()));
  if (billing > 0) claim.tres.emplace_back("billing", billing);
  const std::int64_t minutes = (job.asks + 59) / 60;
  if (minutes < claim.limit_minutes) claim.limit_minutes = static_cast<std::uint32_t>(minutes);
  return claim;
}

std::optional<std::uint32_t> Limits::submitted(std::uint32_t job) {
  accounts::Claim claim = claim_of(trace_.jobs[job]);
  if (const auto reason = ledger_.submission_problem(claim, 1)) {
    ++refused_[std::string(text::state_reason_name(*reason))];
    return std::nullopt;
  }
  ledger_.submitted(claim, 1);
  const auto [known, is_new] =
      groups_.try_emplace(Key{claim.association, claim.qos, claim.uid, claim.limit_minutes, claim.tres},
                          static_cast<std::uint32_t>(claims_.size() + 1));
  if (is_new) claims_.push_back(std::move(claim));
  group_of_[job] = known->second;
  return ledger_.limited(claims_[known->second - 1]) ? known->second : 0;
}

accounts::Run Limits::run_of(std::uint32_t job, std::int64_t now) const {
  const accounts::Claim& claim = claims_[group_of_.at(job) - 1];
  accounts::Run run{claim.association, claim.qos, 0, claim.tres, running_.at(job), now, 1};
  run.billing = static_cast<double>(accounts::count_of(claim.tres, "billing"));
  if (const auto* qos = book_.qos(claim.qos); qos != nullptr && qos->has_usage_factor())
    run.factor = qos->usage_factor();
  return run;
}

void Limits::started(std::uint32_t job, std::int64_t now) {
  running_[job] = now;
  ledger_.started(job, claims_[group_of_.at(job) - 1], now);
}

void Limits::ended(std::uint32_t job, std::int64_t now) {
  if (counts_use_) usage_.add(run_of(job, now));
  running_.erase(job);
  ledger_.ended(job);
  const auto group = group_of_.extract(job);
  ledger_.withdrawn(claims_[group.mapped() - 1], 1);
  stale_ = true;
}

void Limits::calculate(std::int64_t now) {
  stale_ = false;
  if (!counts_use_) return;
  std::vector<accounts::Run> runs;
  for (const auto& [job, start] : running_) runs.push_back(run_of(job, now));
  totals_ = usage_.totals(book_, runs, now);
  qos_totals_ = usage_.qos_totals(runs, now);
}

std::optional<model::StateReason> Limits::refuse(std::uint32_t group, std::int64_t now) {
  if (stale_) calculate(now);
  return ledger_.start_problem(claims_[group - 1], {&totals_, &qos_totals_, safe_}, now);
}

}  // namespace minke::sim
