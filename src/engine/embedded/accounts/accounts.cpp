#include "engine/embedded/accounts/accounts.h"

#include <algorithm>
#include <ctime>

#include "accounts/fair_shares.h"
#include "engine/embedded/answers/queries.h"
#include "engine/embedded/core.h"
#include "engine/embedded/scheduling/nodes.h"
#include "engine/embedded/scheduling/world.h"
#include "model/error.h"
#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"
#include "model/lasting_state.pb.h"
#include "sched/allocation_shares.h"
#include "store/tables.h"
#include "text/gres_count.h"
#include "text/licenses.h"
#include "text/number.h"
#include "text/state.h"

namespace minke::engine {

using namespace model;

namespace {

constexpr size_t kMaxGroups = 65536;  // beyond this, groups of jobs that left are dropped

std::string first_of(const std::string& list) {
  return list.substr(0, list.find(','));
}

// The lines in which the Alliance's clusters list a user's accounts.
std::string list_of_accounts(const std::vector<std::string>& accounts) {
  constexpr std::pair<std::string_view, std::string_view> kKinds[] = {{"RAS default accounts: ", "def-"},
                                                                      {"        RAC accounts: ", "r"},
                                                                      {"Compute-Burst accounts: ", "ctb-"}};
  std::string text, others = "        Other accounts: ";
  std::vector<std::string> left = accounts;
  for (const auto& [title, prefix] : kKinds) {
    text += "\n" + std::string(title.size() < 24 ? 24 - title.size() : 0, ' ') + std::string(title);
    std::erase_if(left, [&text, prefix = prefix](const std::string& name) {
      const bool fits =
          prefix == "r" ? name.starts_with("rrg-") || name.starts_with("rpp-") : name.starts_with(prefix);
      if (fits) text += name + ", ";
      return fits;
    });
  }
  for (const std::string& name : left) others += name + ", ";
  text += "\n" + others;
  std::string trimmed;  // without the comma at the end of each line
  for (const char c : text) {
    if (c == '\n' && !trimmed.empty() && trimmed.back() == ' ') trimmed.pop_back();
    trimmed += c;
  }
  if (trimmed.back() == ' ') trimmed.pop_back();
  return trimmed;
}

std::string without_suffix(const std::string& account) {
  return account.ends_with("_cpu") || account.ends_with("_gpu") ? account.substr(0, account.size() - 4)
                                                                : account;
}

// What counts of a job before it starts.
accounts::Claim waiting_claim(const Accounts::Charge& charge, uint32_t uid) {
  return {charge.association, charge.qos, uid, {}, kUnlimited, charge.partition_qos};
}

}  // namespace

accounts::TresCounts tres_counts(const JobRecord& record, const accounts::TresWeights* weights,
                                 double* billing) {
  accounts::TresCounts counts;
  const auto add = [&](const std::string& name, uint64_t count) {
    if (count == 0) return;
    for (auto& [known, sum] : counts) {
      if (known == name) {
        sum += count;
        return;
      }
    }
    counts.emplace_back(name, count);
  };
  add("cpu", record.num_cpus());
  add("mem", record.memory_mib());
  add("node", record.num_nodes());
  for (const Gres& gres : record.tres_gres()) {
    add("gres/" + gres.name(), gres.count());
    if (!gres.type().empty()) add("gres/" + gres.name() + ":" + gres.type(), gres.count());
  }
  for (const auto& [name, count] : text::held_licenses(record.spec().licenses(), record.licenses_alloc()))
    add("license/" + name, count);
  const double units =
      weights == nullptr ? static_cast<double>(record.num_cpus()) : accounts::billing_of(counts, *weights);
  add("billing", static_cast<uint64_t>(units));
  if (billing != nullptr) *billing = units;
  return counts;
}

Accounts::Accounts(Core& core) : core_(core), usage_(core.config.priority.half_life), forget_at_(kMaxGroups) {
  gate_ = [this](uint32_t group) { return refuse(group); };
}

// ---- whose job it is ----------------------------------------------------------------------------------

// The accounts that a user's job may name. If accounts are split, only those for jobs with
// GPUs, or those for jobs without.
struct Accounts::Choice {
  const accounts::AccountBook& book;
  const std::string& user;
  std::string partition;  // the job's first
  std::string suffix;     // of the split accounts for this job; empty: accounts are not split

  const AssociationRecord* find(const std::string& account) const {
    if (!suffix.empty()) {
      if (const auto* split = book.find_for_job(without_suffix(account) + suffix, user, partition))
        return split;
    }
    return book.find_for_job(account, user, partition);
  }
  const AssociationRecord* by_default() const {
    const UserRecord* record = book.user(user);
    return record == nullptr ? nullptr : find(record->default_account());
  }
  std::vector<std::string> own() const {
    std::vector<std::string> names;
    for (const std::string& name : book.accounts_of(user)) {
      if (suffix.empty()) {
        names.push_back(name);
      } else if (name.ends_with(suffix) || without_suffix(name) == name) {
        names.push_back(without_suffix(name));
      }
    }
    return names;
  }
};

namespace {

// What to do about a user who may not charge the account that the job names, or has none.
std::string lacks_account(const std::vector<std::string>& own, const std::string& user,
                          const std::string& wanted) {
  if (own.empty())
    return user + " has no account here: sacctmgr add user " + user +
           " account=" + (wanted.empty() ? "…" : wanted);
  std::string names;
  for (const std::string& one : own) names.append(names.empty() ? "" : ", ").append(one);
  return (wanted.empty() ? user + " has no default account" : user + " is not in account " + wanted) +
         ": --account=" + names;
}

}  // namespace

// For a job that names no account.
Result<const AssociationRecord*> Accounts::association_without_name(const Choice& choice) const {
  const config::AccountingPolicy& policy = core_.config.accounting;
  const std::vector<std::string> own = choice.own();
  const bool root_only = own.size() > 1 && own.back() == accounts::kRootAccount;
  if (policy.ask_account && own.size() > (root_only ? 2u : 1u)) {
    const std::string line(40, '-');
    return failure("Unspecified error\n" + line + "\nYou are associated with multiple " + choice.suffix +
                   (choice.suffix.empty() ? "" : " ") +
                   "allocations...\nPlease specify one of the following accounts to submit this job:" +
                   list_of_accounts(own) +
                   "\nUse the parameter --account=desired_account when submitting your job\n" + line);
  }
  if (own.size() == 1) {
    if (const auto* only = choice.find(own.front())) return only;
  }
  const auto* by_default = choice.by_default();
  if (by_default == nullptr && policy.associations)
    return failure(lacks_account(own, choice.user, ""), kInvalidAccount);
  return by_default;
}

Result<const AssociationRecord*> Accounts::association_for(JobSpec& spec, const std::string& user) const {
  const config::AccountingPolicy& policy = core_.config.accounting;
  const Choice choice{book_, user, first_of(spec.partition()),
                      policy.split_accounts ? (asks_for_gpus(spec) ? "_gpu" : "_cpu") : ""};
  if (spec.account().empty()) return association_without_name(choice);
  std::string wanted;
  for (const char c : spec.account()) wanted += text::to_lower(c);
  if (const auto* found = choice.find(wanted)) return found;
  if (policy.associations && (policy.ask_account || policy.split_accounts)) {
    return failure(
        "Unspecified error\nYou cannot use this account to submit this job.\n"
        "Please use one of the following accounts:" +
        list_of_accounts(choice.own()));
  }
  if (policy.associations) return failure(lacks_account(choice.own(), user, wanted), kInvalidAccount);
  return choice.by_default();  // as in Slurm if associations are not enforced
}

Result<Accounts::Charge> Accounts::choose(JobSpec& spec, uint32_t uid) {
  Charge charge;
  if (!book_.configured()) return charge;
  const config::AccountingPolicy& policy = core_.config.accounting;
  const auto association = association_for(spec, core_.state.user_name(uid));
  if (!association) return failure(association.error());
  if (*association != nullptr) {
    charge.association = (*association)->id();
    spec.set_account((*association)->account());
  }
  std::string name = spec.qos();
  if (name.empty() && charge.association != 0) name = book_.default_qos(charge.association);
  // If only one QOS is allowed, it is used.
  const auto allowed =
      charge.association != 0 ? book_.allowed_qos(charge.association) : std::vector<std::string>();
  if (name.empty() && allowed.size() == 1) name = allowed.front();
  if (name.empty()) name = "normal";
  const QosRecord* qos = book_.qos(name);
  if (policy.qos && charge.association != 0) {
    if (qos == nullptr || std::find(allowed.begin(), allowed.end(), name) == allowed.end())
      return failure("", kInvalidQos);
  }
  if (qos != nullptr) {
    charge.qos = qos->id();
    spec.set_qos(qos->name());
  }
  charge.partition_qos =
      qos_of_partition(spec.partition().empty() ? core_.nodes->default_partition().name()
                                                : spec.partition().substr(0, spec.partition().find(',')));
  return charge;
}

accounts::Claim Accounts::claim_of(const Charge& charge, const JobSpec& spec, uint32_t uid,
                                   const sched::Request& request) const {
  JobRecord record;
  *record.mutable_spec() = spec;
  const sched::LayoutPartition& partition = core_.world->machine().layout().partitions()[request.partition];
  add_request(record, &request, &partition);
  return {charge.association,
          charge.qos,
          uid,
          tres_counts(record, core_.nodes->billing_weights(partition.name), nullptr),
          request.time_limit_minutes,
          qos_of_partition(partition.name)};
}

Status Accounts::admit(const Charge& charge, const JobSpec& spec, uint32_t uid, const sched::Request& request,
                       uint64_t tasks) {
  if (!core_.config.accounting.limits) return {};
  if (const auto reason = ledger_.submission_problem(claim_of(charge, spec, uid, request), tasks))
    return failure(std::string(text::state_reason_name(*reason)), kAccountingPolicy);
  return {};
}

Accounts::Counted::Counted(Accounts& accounts, const Charge& charge, uint32_t uid)
    : accounts_(accounts), charge_(charge), uid_(uid) {
  accounts_.ledger_.submitted(waiting_claim(charge_, uid_), 1);
}

Accounts::Counted::~Counted() {
  accounts_.ledger_.withdrawn(waiting_claim(charge_, uid_), 1);
}

uint32_t Accounts::longest_minutes(const Charge& charge, const JobSpec& spec,
                                   const sched::Request& request) const {
  if (!core_.config.accounting.limits) return kUnlimited;
  return ledger_.longest_minutes(claim_of(charge, spec, 0, request));
}

// ---- following the jobs -------------------------------------------------------------------------------

void Accounts::submitted(Job& job) {
  if (job.counted || (job.association == 0 && job.qos == 0 && job.partition_qos == 0)) return;
  job.counted = true;
  ledger_.submitted(waiting_claim({job.association, job.qos, job.partition_qos}, job.uid),
                    job.array ? job.array->waiting.size() : 1);
}

void Accounts::left(Job& job) {
  if (!job.counted) return;
  job.counted = false;
  withdraw(job);
  if (groups_.size() >= forget_at_ && !std::exchange(forgetting_, true))
    core_.loop.post([this] { policy_changed(); });
}

void Accounts::withdraw(const Job& job) {
  ledger_.withdrawn(waiting_claim({job.association, job.qos, job.partition_qos}, job.uid),
                    job.array ? job.array->waiting.size() : 1);
}

void Accounts::adopt(Job& job) {
  if (job.ended() && !job.completing) return;
  if (const QosRecord* qos = book_.qos(job.submission->spec().qos()); book_.configured() && qos != nullptr)
    job.qos = qos->id();
  if (job.association != 0 && book_.association(job.association) == nullptr) job.association = 0;
  job.partition_qos = qos_of_first_partition(job);
  submitted(job);
  if (job.holds_nodes()) job_started(job, Start::kAdopted);
}

uint32_t Accounts::qos_of_partition(std::string_view partition) const {
  const PartitionRecord* record =
      book_.configured() ? core_.nodes->find_partition(std::string(partition)) : nullptr;
  const QosRecord* qos = record == nullptr || record->qos().empty() ? nullptr : book_.qos(record->qos());
  return qos == nullptr ? 0 : qos->id();
}

uint32_t Accounts::qos_of_first_partition(const Job& job) const {
  return qos_of_partition(job.submission->partitions.front());
}

void Accounts::job_started(Job& job, Start) {
  const uint32_t partition_qos = job.details ? qos_of_partition(job.details->partition) : 0;
  if (job.association == 0 && job.qos == 0 && partition_qos == 0) return;
  JobRecord record = core_.state.record_of(job);
  *record.mutable_spec() = job.submission->spec();
  for (const NodeAllocation& node : record.nodes()) {
    for (const GresAllocation& gres : node.gres())
      add_gres(*record.mutable_tres_gres(), gres.name(), gres.type(), text::units_of(gres));
  }
  accounts::Run run{job.association, job.qos, 0, {}, job.start_time, 0, 1};
  run.tres = tres_counts(record, core_.nodes->billing_weights(record.partition()), &run.billing);
  if (const QosRecord* qos = book_.qos(job.qos); qos != nullptr && qos->has_usage_factor())
    run.factor = qos->usage_factor();
  run.partition_qos = partition_qos;
  ledger_.started(job.id,
                  {job.association, job.qos, job.uid, run.tres, job.time_limit_minutes, partition_qos},
                  job.start_time);
  running_[job.id] = std::move(run);
}

void Accounts::job_freed(Job& job, int64_t end_time) {
  auto found = running_.extract(job.id);
  if (found.empty()) return;
  ledger_.ended(job.id);
  accounts::Run& run = found.mapped();
  const int64_t suspended = job.details ? job.details->suspended_seconds : 0;
  run.start = std::max(run.start + suspended, usage_since_);
  run.end = std::max(run.start, end_time);
  usage_.add(run);
  if (run.association != 0) store_usage(run.association);
  for (const uint32_t qos : {run.qos, run.partition_qos})
    if (qos != 0) store_qos_usage(qos);
  stale_ = true;
}

std::vector<accounts::Run> Accounts::running(int64_t now) const {
  std::vector<accounts::Run> runs;
  runs.reserve(running_.size());
  for (const auto& [id, run] : running_) {
    accounts::Run& one = runs.emplace_back(run);
    const Job* job = core_.state.find(id);
    const int64_t suspended = job != nullptr && job->details ? job->details->suspended_seconds : 0;
    one.start = std::max(run.start + suspended, usage_since_);
    one.end = std::max(one.start, now);
  }
  // The order of adding doubles decides their last bits.
  std::sort(runs.begin(), runs.end(), [](const accounts::Run& a, const accounts::Run& b) {
    return std::tie(a.association, a.qos, a.start, a.billing) <
           std::tie(b.association, b.qos, b.start, b.billing);
  });
  return runs;
}

// ---- limits -------------------------------------------------------------------------------------------

uint32_t Accounts::limit_group(const Job& job, const JobSpec& spec, sched::Request& request) {
  if (!core_.config.accounting.limits) return 0;
  const std::string& partition = core_.world->machine().layout().partitions()[request.partition].name;
  accounts::Claim claim{
      job.association, job.qos, job.uid, {}, job.time_limit_minutes, qos_of_partition(partition)};
  if (!ledger_.limited(claim)) return 0;
  request.max_nodes = std::min(request.max_nodes, std::max(request.min_nodes, ledger_.max_nodes(claim)));
  JobRecord record;
  *record.mutable_spec() = spec;
  add_request(record, &request, &core_.world->machine().layout().partitions()[request.partition]);
  claim.tres = tres_counts(record, core_.nodes->billing_weights(partition), nullptr);
  const auto [found, is_new] = group_ids_.try_emplace(
      GroupKey{claim.association, claim.qos, claim.partition_qos, claim.uid, claim.limit_minutes, claim.tres},
      next_group_);
  if (is_new) groups_.emplace(next_group_++, std::move(claim));
  return found->second;
}

void Accounts::forget_groups(uint32_t before) {
  std::erase_if(groups_, [before](const auto& one) { return one.first < before; });
  forget_at_ = std::max(kMaxGroups, 2 * groups_.size());
  forgetting_ = false;
}

std::optional<StateReason> Accounts::refuse(uint32_t group) {
  if (stale_) calculate();
  return ledger_.start_problem(groups_.at(group),
                               {totals_.get(), qos_totals_.get(), core_.config.accounting.safe}, core_.now());
}

// ---- usage and fair share -----------------------------------------------------------------------------

void Accounts::reset_usage_if_due(int64_t now) {
  const config::UsageReset period = core_.config.priority.reset;
  if (period == config::UsageReset::kNone) return;
  const auto wall = static_cast<time_t>(now);
  std::tm begin{};
  localtime_r(&wall, &begin);
  begin.tm_hour = begin.tm_min = begin.tm_sec = 0;
  begin.tm_isdst = -1;
  if (period == config::UsageReset::kWeekly) begin.tm_mday -= begin.tm_wday;
  if (period == config::UsageReset::kMonthly) begin.tm_mday = 1;
  if (period == config::UsageReset::kQuarterly) begin.tm_mday = 1, begin.tm_mon -= begin.tm_mon % 3;
  if (period == config::UsageReset::kYearly) begin.tm_mday = 1, begin.tm_mon = 0;
  const int64_t since = std::mktime(&begin);
  if (usage_since_ >= since) return;
  const bool first = usage_since_ == 0;
  usage_since_ = since;
  UsagePeriod period_begun;
  period_begun.set_since(since);
  core_.committer.row_changed(store::kUsagePeriod.row(period_begun));
  if (first) return;
  usage_.clear_all();
  for (const auto& [id, one] : book_.associations()) store_usage(id);
  for (const auto& [id, one] : book_.qos()) store_qos_usage(id);
}

std::unordered_map<uint32_t, uint32_t> Accounts::shares_in_effect() const {
  if (core_.config.accounting.allocation_shares) {
    return sched::allocation_shares(book_, sched::capacity_of(core_.world->machine().layout()),
                                    [this](uint32_t id) { return ledger_.has_active_jobs(id); });
  }
  std::unordered_map<uint32_t, uint32_t> shares;
  for (const auto& [id, record] : book_.associations()) shares[id] = record.shares();
  return shares;
}

void Accounts::calculate() {
  const int64_t now = core_.now();
  stale_ = false;
  fair_shares_.clear();
  if (!book_.configured()) return;
  reset_usage_if_due(now);
  const auto runs = running(now);
  totals_ = std::make_shared<accounts::UsageBook::Totals>(usage_.totals(book_, runs, now));
  qos_totals_ = std::make_shared<accounts::UsageBook::Totals>(usage_.qos_totals(runs, now));
  fair_shares_ = accounts::fair_shares(book_, *totals_, shares_in_effect());
}

double Accounts::fair_share(uint32_t association) const {
  const auto found = fair_shares_.find(association);
  return found == fair_shares_.end() ? 0 : found->second.factor;
}

}  // namespace minke::engine
