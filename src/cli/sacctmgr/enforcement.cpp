#include "cli/sacctmgr/enforcement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>

#include "cli/sacctmgr/settings.h"
#include "model/accounts.pb.h"
#include "text/number.h"

namespace minke::cli {
namespace {

// In Slurm these limit the ageing of pending jobs, or belong to what is not done here; they are only stored.
constexpr std::string_view kNeverHonoured[] = {"GrpJobsAccrue",  "MaxJobsAccrue", "MinPrioThreshold",
                                               "UsageThreshold", "LimitFactor",   "PreemptExemptTime"};
constexpr std::string_view kHonouredFlags[] = {"DenyOnLimit", "NoDecay", "OverPartQOS"};

struct Settings {
  std::set<std::string> limits, qos, order, never;

  void add(const std::string& name) {
    for (const std::string_view one : kNeverHonoured) {
      if (name == one) return static_cast<void>(never.insert(name));
    }
    if (name == "QOS") {
      qos.insert(name);
    } else if (name == "Fairshare" || name == "Priority" || name == "CoreYears" || name == "RGUYears") {
      order.insert(name);
    } else if (name.starts_with("Grp") || name.starts_with("Max") || name.starts_with("Min")) {
      limits.insert(name);
    }
  }
};

// Adds the names of the lines ("  MaxJobs       = 1") that are in `now` but not in `before`.
void add_new_lines(const std::string& now, const std::string& before, Settings& settings) {
  const auto old = text::split(before, '\n');
  const std::set<std::string_view> known(old.begin(), old.end());
  for (const std::string_view line : text::split(now, '\n')) {
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos || known.contains(line)) continue;
    settings.add(std::string(text::trim(line.substr(0, equals))));
  }
}

void add_accruing(const model::Limits& now, const model::Limits& before, Settings& settings) {
  const auto changed = [&](bool is_set, bool differs, const char* name) {
    if (is_set && differs) settings.add(name);
  };
  changed(now.has_min_priority(), now.min_priority() != before.min_priority(), "MinPrioThreshold");
  changed(now.has_max_jobs_accrue(), now.max_jobs_accrue() != before.max_jobs_accrue(), "MaxJobsAccrue");
  changed(now.has_max_jobs_accrue_per_account(),
          now.max_jobs_accrue_per_account() != before.max_jobs_accrue_per_account(), "MaxJobsAccrue");
  changed(now.has_grp_jobs_accrue(), now.grp_jobs_accrue() != before.grp_jobs_accrue(), "GrpJobsAccrue");
}

void add_unused(const model::QosRecord& now, const model::QosRecord& before, Settings& settings) {
  const auto changed = [&](bool is_set, bool differs, const char* name) {
    if (is_set && differs) settings.add(name);
  };
  changed(now.has_usage_threshold(), now.usage_threshold() != before.usage_threshold(), "UsageThreshold");
  changed(now.has_limit_factor(), now.limit_factor() != before.limit_factor(), "LimitFactor");
  changed(now.has_preempt_exempt_seconds(), now.preempt_exempt_seconds() != before.preempt_exempt_seconds(),
          "PreemptExemptTime");
  const auto has = [](const auto& list, const std::string& flag) {
    return std::find(std::begin(list), std::end(list), flag) != std::end(list);
  };
  for (const std::string& flag : now.flags())
    if (!has(kHonouredFlags, flag) && !has(before.flags(), flag)) settings.never.insert("Flags=" + flag);
}

template <typename Record>
void add_record(const Record& now, const Record* before, Settings& settings) {
  Record none;
  if constexpr (requires { none.set_shares(1); }) none.set_shares(1);
  // Setting the current value again still counts as setting it.
  const bool alike = before != nullptr && before->SerializeAsString() == now.SerializeAsString();
  const Record& old = before != nullptr && !alike ? *before : none;
  add_new_lines(settings_text(now), settings_text(old), settings);
  add_accruing(now.limits(), old.limits(), settings);
  if constexpr (requires { none.usage_threshold(); }) add_unused(now, old, settings);
}

std::string value_of(const Parameters& parameters, const std::string& name) {
  const auto found = parameters.find(name);
  return found == parameters.end() ? std::string() : found->second;
}

bool lists(const std::string& words, std::string_view word) {
  for (const std::string_view one : text::split(words, ',')) {
    if (text::equals_ignoring_case(one, word)) return true;
  }
  return false;
}

std::string enforce_hint(std::string_view word) {
  return fmt::format(
      "For that, minke.toml needs enforce = [\"{0}\"] below [accounting] (slurm.conf: "
      "AccountingStorageEnforce={0}); then: scontrol reconfigure",
      word);
}

}  // namespace

std::vector<std::string> without_effect(const accounts::AccountsChange& change,
                                        const accounts::AccountBook& before, const Parameters& parameters) {
  Settings settings;
  for (const model::AssociationRecord& one : change.associations) {
    if (!one.cluster().empty()) continue;  // another cluster's, which is only recorded here
    const model::AssociationRecord* old = one.id() == 0 ? nullptr : before.association(one.id());
    if (old == nullptr) old = before.find(one.account(), one.user(), one.partition());
    add_record(one, old, settings);
  }
  for (const model::QosRecord& one : change.qos) add_record(one, before.qos(one.name()), settings);
  const std::string enforced = value_of(parameters, "AccountingStorageEnforce");
  std::vector<std::string> sentences;
  if (!settings.limits.empty() && !lists(enforced, "limits") && !lists(enforced, "safe"))
    sentences.push_back(fmt::format("{} will not hold anybody up: this cluster does not enforce limits. {}",
                                    fmt::join(settings.limits, ", "), enforce_hint("limits")));
  if (!settings.qos.empty() && !lists(enforced, "qos"))
    sentences.push_back("the list of QOS keeps nobody from another one: this cluster does not enforce QOS. " +
                        enforce_hint("qos"));
  if (!settings.order.empty() && value_of(parameters, "PriorityType") == "priority/basic")
    sentences.push_back(fmt::format(
        "{} will not change the order of jobs: PriorityType is priority/basic. For that, minke.toml "
        "needs type = \"multifactor\" below [priority]; then: scontrol reconfigure",
        fmt::join(settings.order, ", ")));
  if (!settings.never.empty())
    sentences.push_back(
        fmt::format("{} will be kept, and changes nothing here", fmt::join(settings.never, ", ")));
  return sentences;
}

}  // namespace minke::cli
