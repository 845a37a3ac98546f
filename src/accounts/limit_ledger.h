// LimitLedger: the resources that jobs of each association and QOS use, and
// whether one more job fits the limits.
//
// A job is entered at its submission and again at its start, and removed in the reverse order. Group limits
// count an association with all below it. As in Slurm, a limit of the partition's QOS overrides the job's QOS
// (the reverse with OverPartQOS), and a QOS overrides the association. The checks run in Slurm's order, which
// decides the reported reason. Pure; one thread, which also owns the AccountBook.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "accounts/account_book.h"

namespace minke::model {
class QosRecord;
enum StateReason : int;
}  // namespace minke::model

namespace minke::accounts {

// "cpu", "mem" (MiB), "node", "billing", "gres/gpu", "gres/gpu:a100", "license/matlab"; each at most once.
using TresCounts = std::vector<std::pair<std::string, std::uint64_t>>;
std::uint64_t count_of(const TresCounts& counts, std::string_view name);

// The association and QOS that a job is charged to, and the resources that it asks for.
struct Claim {
  std::uint32_t association = 0;  // 0: none, nothing is limited
  std::uint32_t qos = 0;          // 0: none
  std::uint32_t uid = 0;
  TresCounts tres;
  std::uint32_t limit_minutes = 0xffffffff;  // 0xffffffff: no time limit
  std::uint32_t partition_qos = 0;           // the partition's own; 0: none
};

// Decayed usage, in TRES x s.
struct Usage {
  double raw = 0;  // billing units x s
  double wall_seconds = 0;
  std::map<std::string, double> tres;
  void add(const Usage& other);
  void scale(double factor);
};

class LimitLedger {
 public:
  struct Use {
    std::uint64_t submitted = 0;  // pending and running; each array task counts
    std::uint64_t running = 0;
    std::map<std::string, std::uint64_t> tres;  // of running jobs
  };

  explicit LimitLedger(const AccountBook& book) : book_(book) {}
  // A copy that follows another book.
  LimitLedger(const LimitLedger& other, const AccountBook& book);

  void submitted(const Claim& claim, std::uint64_t tasks);
  void withdrawn(const Claim& claim, std::uint64_t tasks);  // ended, or cancelled while pending
  // `claim.tres` is what the job was allocated.
  void started(std::uint32_t job_id, const Claim& claim, std::int64_t now);
  void ended(std::uint32_t job_id);
  bool runs(std::uint32_t job_id) const { return running_.contains(job_id); }

  const Use& use(std::uint32_t association) const;
  const Use& qos_use(std::uint32_t qos) const;
  // TRES x s that running jobs below the association may still use before their time limits.
  Usage promised(std::uint32_t association, std::int64_t now) const;
  std::unordered_map<std::uint32_t, Usage> promised_in_all(std::int64_t now) const;  // by association
  Usage promised_in_qos(std::uint32_t qos, std::int64_t now) const;
  bool has_active_jobs(std::uint32_t association) const { return use(association).submitted > 0; }

  // Whether any limit could keep a job of this claim from starting. If not, the
  // caller can skip start_problem().
  bool limited(const Claim& claim) const;
  // Checks the numbers of jobs, and with the QOS's DenyOnLimit also requests that could never start.
  std::optional<model::StateReason> submission_problem(const Claim& claim, std::uint64_t tasks) const;
  // `usage` and `qos_usage` are up to date. `safe`: the job must be able to end
  // within the remaining TRES-minutes.
  struct Past {
    const std::unordered_map<std::uint32_t, Usage>* associations = nullptr;  // with all below
    const std::unordered_map<std::uint32_t, Usage>* qos = nullptr;
    bool safe = false;
  };
  std::optional<model::StateReason> start_problem(const Claim& claim, const Past& past,
                                                  std::int64_t now) const;
  // Returns the longest time limit that MaxWall and MaxTRESMinsPerJob allow; 0xffffffff: any. If a limit
  // rules out even one minute, it is ignored here, and submission_problem() reports it.
  std::uint32_t longest_minutes(const Claim& claim) const;
  // Returns the most nodes that a job of this claim may have; 0xffffffff: no limit.
  std::uint32_t max_nodes(const Claim& claim) const;

 private:
  struct Running {
    Claim claim;
    std::int64_t start = 0;
  };
  using Pair = std::pair<std::uint32_t, std::uint32_t>;
  class SubmissionCheck;
  class StartCheck;
  template <typename Change>
  void each_use(const Claim& claim, Change change);
  // Returns the QOS whose limits apply, the one that decides first in front.
  std::vector<const model::QosRecord*> qos_in_order(const Claim& claim) const;
  std::uint32_t account_of(std::uint32_t association) const;  // the account's own association

  const AccountBook& book_;
  std::unordered_map<std::uint32_t, Use> associations_, qos_;
  std::map<Pair, Use> qos_users_, qos_accounts_;
  std::unordered_map<std::uint32_t, Running> running_;
};

}  // namespace minke::accounts
