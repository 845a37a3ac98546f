// The parts of the configuration that decide who may use what, and who is served first: [accounting],
// [priority], and the weights that partitions bill by.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "accounts/tres_weights.h"
#include "base/result.h"
#include "sched/priority.h"

namespace minke::config {

class Table;

struct AccountingPolicy {
  // AccountingStorageEnforce: a job needs an association; its limits apply; so do those of its QOS; and a job
  // starts only if the remaining TRES-minutes suffice for its time limit.
  bool associations = false;
  bool limits = false;
  bool qos = false;
  bool safe = false;
  std::vector<std::string> tres;   // AccountingStorageTRES: "gres/nic", "license/x"; empty: all GRES count
  bool track_wckey = false;        // TrackWCKey: scontrol shows the wckey of jobs
  bool ask_account = false;        // users with several accounts must name one
  bool allocation_shares = false;  // shares follow from core-years and RGU-years
  int64_t purge_jobs_after = 0;    // s after its end that a job's record is kept; 0: for ever
  bool split_accounts = false;     // appends "_cpu" or "_gpu" to the account, by the job's request
};

// Whether AccountingStorageTRES lists it: "gres/nic", "license/x". With a type of it, the name counts too.
bool lists_tres(const AccountingPolicy& policy, std::string_view tres);

enum class UsageReset { kNone, kDaily, kWeekly, kMonthly, kQuarterly, kYearly };

struct PriorityPolicy {
  bool multifactor = false;  // else by submission
  sched::PriorityWeights weights;
  accounts::TresWeights tres;
  std::string tres_text;                   // as given
  int64_t half_life = int64_t{7} * 86400;  // s, of usage; 0: it does not decay
  int64_t calc_period = 300;               // s between two calculations
  UsageReset reset = UsageReset::kNone;
  bool max_tres = false;  // PriorityFlags=MAX_TRES: partitions of slurm.conf bill by the largest term
};

enum class PreemptType { kNone, kQos, kPartition };
enum class PreemptMode { kOff, kCancel, kRequeue, kSuspend };

struct PreemptionPolicy {
  PreemptType type = PreemptType::kNone;
  PreemptMode mode = PreemptMode::kOff;  // if neither QOS nor partition sets it
  bool enabled() const { return type != PreemptType::kNone; }
};

// Reads "cancel", in any case; returns nothing for an unknown word.
std::optional<PreemptMode> parse_preempt_mode(std::string word);
std::string preempt_mode_name(PreemptMode mode);  // as Slurm writes it

// Applies one word of AccountingStorageEnforce.
Status enforce(const std::string& word, AccountingPolicy& policy);

void read_accounting(Table& table, AccountingPolicy& policy);
void read_priority(Table& table, PriorityPolicy& policy);
void read_preemption(Table& table, PreemptionPolicy& policy);

}  // namespace minke::config
