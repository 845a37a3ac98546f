#include "config/policy.h"

#include <algorithm>
#include <array>

#include "config/table.h"

namespace minke::config {

std::optional<PreemptMode> parse_preempt_mode(std::string word) {
  for (char& c : word) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  if (word == "off") return PreemptMode::kOff;
  if (word == "cancel") return PreemptMode::kCancel;
  if (word == "requeue") return PreemptMode::kRequeue;
  if (word == "suspend") return PreemptMode::kSuspend;
  return std::nullopt;
}

std::string preempt_mode_name(PreemptMode mode) {
  constexpr const char* kNames[] = {"OFF", "CANCEL", "REQUEUE", "GANG,SUSPEND"};
  return kNames[static_cast<size_t>(mode)];
}

void read_preemption(Table& table, PreemptionPolicy& policy) {
  table.text("type", [&](const std::string& word) -> Status {
    if (word != "none" && word != "qos" && word != "partition")
      return failure("must be none, qos or partition");
    policy.type = word == "qos"         ? PreemptType::kQos
                  : word == "partition" ? PreemptType::kPartition
                                        : PreemptType::kNone;
    return {};
  });
  table.text("mode", [&](const std::string& word) -> Status {
    const auto mode = parse_preempt_mode(word);
    if (!mode) return failure("must be off, cancel, requeue or suspend");
    policy.mode = *mode;
    return {};
  });
  if (policy.type != PreemptType::kNone && policy.mode == PreemptMode::kOff)
    table.fail(table.table(), "mode", "must be cancel, requeue or suspend where jobs may be preempted");
}

bool lists_tres(const AccountingPolicy& policy, std::string_view tres) {
  return std::any_of(policy.tres.begin(), policy.tres.end(), [&](const std::string& one) {
    return one == tres || (one.starts_with(tres) && one[tres.size()] == ':');
  });
}

Status enforce(const std::string& word, AccountingPolicy& policy) {
  if (word == "associations") {
    policy.associations = true;
  } else if (word == "limits") {
    policy.associations = policy.limits = true;
  } else if (word == "qos") {
    policy.associations = policy.qos = true;
  } else if (word == "safe") {
    policy.associations = policy.limits = policy.safe = true;
  } else {
    return failure("must be of associations, limits, qos and safe");
  }
  return {};
}

void read_accounting(Table& table, AccountingPolicy& policy) {
  table.texts("enforce", [&](const std::string& word) { return enforce(word, policy); });
  table.boolean("track_wckey", [&](bool value) { policy.track_wckey = value; });
  table.boolean("ask_account", [&](bool value) { policy.ask_account = value; });
  table.text("shares", [&](const std::string& word) -> Status {
    if (word != "given" && word != "allocations") return failure("must be given or allocations");
    policy.allocation_shares = word == "allocations";
    return {};
  });
  table.text("purge_jobs_after", [&](const std::string& given) -> Status {
    const auto value = text::parse_minutes(given);
    constexpr uint32_t kLeast = 24 * 60;
    if (given != "never" && (!value || *value < kLeast || *value == text::kUnlimited))
      return failure("must be a time of a day or more, as \"365-0\", or \"never\"");
    policy.purge_jobs_after = given == "never" ? 0 : int64_t{*value} * 60;
    return {};
  });
  table.boolean("split_accounts", [&](bool value) { policy.split_accounts = value; });
}

void read_priority(Table& table, PriorityPolicy& policy) {
  table.text("type", [&](const std::string& word) -> Status {
    if (word != "basic" && word != "multifactor") return failure("must be basic or multifactor");
    policy.multifactor = word == "multifactor";
    return {};
  });
  const auto weight = [&](std::string_view key, uint32_t& value) {
    table.number(key, 0, 0xfffffffe, [&](int64_t given) { value = static_cast<uint32_t>(given); });
  };
  weight("weight_age", policy.weights.age);
  weight("weight_association", policy.weights.association);
  weight("weight_fair_share", policy.weights.fair_share);
  weight("weight_job_size", policy.weights.job_size);
  weight("weight_partition", policy.weights.partition);
  weight("weight_qos", policy.weights.qos);
  table.text("weight_tres", [&](const std::string& given) -> Status {
    auto weights = accounts::parse_tres_weights(given);
    if (!weights) return failure(weights.error());
    policy.tres = std::move(*weights);
    policy.tres_text = given;
    return {};
  });
  table.minutes("max_age", [&](uint32_t value) { policy.weights.max_age = int64_t{value} * 60; });
  table.boolean("favor_small", [&](bool value) { policy.weights.favor_small = value; });
  table.text("half_life", [&](const std::string& given) -> Status {
    if (given == "0") {
      policy.half_life = 0;
      return {};
    }
    const auto value = text::parse_minutes(given);
    if (!value || *value == text::kUnlimited) return failure("must be a time, or \"0\" for usage that stays");
    policy.half_life = int64_t{*value} * 60;
    return {};
  });
  table.number("calc_period", 1, 86400, [&](int64_t value) { policy.calc_period = value; });
  table.text("usage_reset", [&](const std::string& word) -> Status {
    constexpr std::array<std::string_view, 6> kWords = {"none",    "daily",     "weekly",
                                                        "monthly", "quarterly", "yearly"};
    const auto* found = std::find(kWords.begin(), kWords.end(), word);
    if (found == kWords.end()) return failure("must be none, daily, weekly, monthly, quarterly or yearly");
    policy.reset = static_cast<UsageReset>(found - kWords.begin());
    return {};
  });
}

}  // namespace minke::config
