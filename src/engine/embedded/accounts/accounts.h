// Accounts: the association that a job is charged to, its usage, and the limits that keep it from starting.
//
// The tree, the counts and the usage are classes of src/accounts; this class makes them durable and updates
// them. A job with an association is in the ledger from submission to end. While nobody keeps accounts
// (AccountBook::configured()), jobs have no association, as in Slurm without slurmdbd. A job's usage is
// committed with its end. State's thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "accounts/account_book.h"
#include "accounts/fair_tree.h"
#include "accounts/limit_ledger.h"
#include "accounts/tres_weights.h"
#include "accounts/usage_book.h"
#include "base/result.h"
#include "engine/embedded/cluster_events.h"
#include "engine/embedded/job_events.h"
#include "rpc/socket.h"
#include "sched/forecast.h"
#include "sched/request.h"

namespace minke::api {
class AccountsReply;
class QueryAccountsRequest;
class UpdateAccountsRequest;
}  // namespace minke::api

namespace minke::model {
class AssociationRecord;
class JobRecord;
class JobSpec;
enum StateReason : int;
}  // namespace minke::model

namespace minke::store {
class LoadedRows;
struct DamagedRow;
}  // namespace minke::store

namespace minke::engine {

struct Core;

class Accounts : public JobListener, public ClusterListener {
 public:
  explicit Accounts(Core& core);

  void restore(store::LoadedRows& rows);         // call it before jobs are restored
  void keep_bare(const store::DamagedRow& row);  // keeps an id without its damaged record
  void adopt(Job& job);                          // a job that an earlier daemon started

  // Fills in account and QOS of `spec`. Errors have Slurm's numbers and words.
  struct Charge {
    uint32_t association = 0;
    uint32_t qos = 0;
    uint32_t partition_qos = 0;
  };
  Result<Charge> choose(model::JobSpec& spec, uint32_t uid);
  // Whether the limits on numbers of jobs allow it. `request`: the request in the job's first partition.
  Status admit(const Charge& charge, const model::JobSpec& spec, uint32_t uid, const sched::Request& request,
               uint64_t tasks);
  // While it is there, a job counts as submitted: a component of a heterogeneous job, while the next ones are
  // checked. State's thread.
  class Counted {
   public:
    Counted(Accounts& accounts, const Charge& charge, uint32_t uid);
    ~Counted();
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;

   private:
    Accounts& accounts_;
    const Charge charge_;
    const uint32_t uid_;
  };
  // The time limit in minutes for a job that sets none although limits on it hold; kUnlimited: none.
  uint32_t longest_minutes(const Charge& charge, const model::JobSpec& spec,
                           const sched::Request& request) const;

  // For each job: submitted() also after a requeue of an ended job; left() when it ends for good.
  void submitted(Job& job);
  void left(Job& job);
  void job_started(Job& job, Start start) override;
  void job_freed(Job& job, int64_t end_time) override;
  void job_requeued(Job& job) override { submitted(job); }
  void job_ended(Job& job, bool) override { left(job); }

  // Returns the value of sched::Request::limit_group; 0 if no limit can matter. Reduces a node range in
  // `request` to what the limits allow.
  uint32_t limit_group(const Job& job, const model::JobSpec& spec, sched::Request& request);
  const sched::LimitGate& gate() const { return gate_; }
  // A copy of the limits for one forecast, which changes to accounts and usage do not reach; null if nothing
  // is limited.
  std::unique_ptr<sched::ForeseenLimits> foresee();
  // Text for users: the limits of the QOS, or of the association and those above it, with their current use.
  std::string limits_in_words(const Job& job, bool of_qos) const;
  // Whether the limits that hold `job` also count `other`.
  bool limited_together(const Job& job, const Job& other, bool of_qos) const;

  void query(const api::QueryAccountsRequest& request, api::AccountsReply& reply);
  Status update(const api::UpdateAccountsRequest& request);  // the caller has checked Rights::admits()
  // Checks what a coordinator asks for: an error names what is not his to change. Any other user is refused.
  Status admits_coordinator(const std::string& user, const api::UpdateAccountsRequest& request) const;

  const accounts::AccountBook& book() const { return book_; }
  // Computes usage and fair share as of now. Limits use these values until the next call.
  void calculate();
  double fair_share(uint32_t association) const;
  void policy_changed();  // the configuration was read again
  // After a change, waiting jobs get new limit groups one after the other. Those of before are valid until
  // all have: then forget_groups() is called with what first_group() was when the first of them got its own.
  uint32_t first_group() const { return first_group_; }
  void forget_groups(uint32_t before);
  // The partition may have another QOS now.
  void partition_changed(const model::PartitionRecord&, bool recount) override {
    if (recount) count_by_partition();
  }

 private:
  void count_by_partition();  // after a change of partitions' QOS
  void add_owner(accounts::AccountsChange& tree) const;
  void store_usage(uint32_t association);
  void withdraw(const Job& job);
  void store_qos_usage(uint32_t qos);
  Status check_update(const api::UpdateAccountsRequest& request,
                      const accounts::AccountsChange& change) const;
  void store_change(const api::UpdateAccountsRequest& request, const accounts::AccountBook& before);
  struct Choice;
  Result<const model::AssociationRecord*> association_without_name(const Choice& choice) const;
  // Null if no association fits and none is needed.
  Result<const model::AssociationRecord*> association_for(model::JobSpec& spec,
                                                          const std::string& user) const;
  std::vector<accounts::Run> running(int64_t now) const;
  accounts::Claim claim_of(const Job& job) const;  // of a running job: what it was allocated
  accounts::Claim claim_of(const Charge& charge, const model::JobSpec& spec, uint32_t uid,
                           const sched::Request& request) const;  // of a job that is being submitted
  std::optional<model::StateReason> refuse(uint32_t group);
  uint32_t qos_of_partition(std::string_view partition) const;  // 0: none
  uint32_t qos_of_first_partition(const Job& job) const;
  std::unordered_map<uint32_t, uint32_t> shares_in_effect() const;
  void reset_usage_if_due(int64_t now);

  Core& core_;
  accounts::AccountBook book_;
  accounts::LimitLedger ledger_{book_};
  accounts::UsageBook usage_;
  int64_t usage_since_ = 0;                              // usage before this time was, or will be, reset
  std::unordered_map<uint32_t, accounts::Run> running_;  // by job
  using Totals = std::shared_ptr<const accounts::UsageBook::Totals>;  // forecasts may have an older one
  Totals totals_ = std::make_shared<accounts::UsageBook::Totals>();
  Totals qos_totals_ = totals_;
  std::shared_ptr<const accounts::AccountBook> foreseen_book_;  // a copy for forecasts
  std::unordered_map<uint32_t, accounts::FairShare> fair_shares_;
  bool stale_ = true;  // whether totals_ lacks a run that has ended
  sched::LimitGate gate_;
  using GroupKey = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, accounts::TresCounts>;
  std::map<GroupKey, uint32_t> group_ids_;
  std::unordered_map<uint32_t, accounts::Claim> groups_;  // by group
  uint32_t next_group_ = 1;
  uint32_t first_group_ = 1;  // since the last change
  size_t forget_at_;          // so many groups, those of jobs that left are dropped
  bool forgetting_ = false;
};

// The TRES that a job holds or asks for, as limits and billing count them; with `weights` also "billing".
accounts::TresCounts tres_counts(const model::JobRecord& record, const accounts::TresWeights* weights,
                                 double* billing);

}  // namespace minke::engine
