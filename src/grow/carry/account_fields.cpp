#include "grow/carry/account_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "accounts/account_book.h"
#include "model/accounts.pb.h"
#include "text/duration.h"
#include "text/memory.h"
#include "text/number.h"

namespace minke::grow {
namespace {

using model::Limits;
using TresList = google::protobuf::RepeatedPtrField<model::Tres>;

constexpr FieldKind kNumber = FieldKind::kNumber;
constexpr FieldKind kTres = FieldKind::kTres;
constexpr FieldKind kList = FieldKind::kList;
constexpr FieldKind kText = FieldKind::kText;

constexpr AccountField kAssociationFields[] = {
    {"Share", "Fairshare", kNumber},
    {"Priority", "Priority", kNumber},
    {"GrpJobs", "GrpJobs", kNumber},
    {"GrpJobsAccrue", "GrpJobsAccrue", kNumber},
    {"GrpSubmit", "GrpSubmitJobs", kNumber},
    {"GrpWall", "GrpWall", kNumber},
    {"GrpTRES", "GrpTRES", kTres},
    {"GrpTRESMins", "GrpTRESMins", kTres},
    {"GrpTRESRunMins", "GrpTRESRunMins", kTres},
    {"MaxJobs", "MaxJobs", kNumber},
    {"MaxJobsAccrue", "MaxJobsAccrue", kNumber},
    {"MaxSubmit", "MaxSubmitJobs", kNumber},
    {"MaxWall", "MaxWallDurationPerJob", kNumber},
    {"MaxTRES", "MaxTRESPerJob", kTres},
    {"MaxTRESPerNode", "MaxTRESPerNode", kTres},
    {"MaxTRESMins", "MaxTRESMinsPerJob", kTres},
    {"QOS", "QOSLevel", kList},
    {"DefaultQOS", "DefaultQOS", kText},
};

constexpr AccountField kQosFields[] = {
    {"Description", "Description", kText},
    {"Priority", "Priority", kNumber},
    {"GraceTime", "GraceTime", kNumber},
    {"Preempt", "Preempt", kList},
    {"PreemptMode", "PreemptMode", kText},
    {"PreemptExemptTime", "PreemptExemptTime", kNumber},
    {"Flags", "Flags", kList},
    {"UsageThres", "UsageThreshold", kNumber},
    {"UsageFactor", "UsageFactor", kNumber},
    {"LimitFactor", "LimitFactor", kNumber},
    {"GrpTRES", "GrpTRES", kTres},
    {"GrpTRESMins", "GrpTRESMins", kTres},
    {"GrpTRESRunMins", "GrpTRESRunMins", kTres},
    {"GrpJobs", "GrpJobs", kNumber},
    {"GrpJobsAccrue", "GrpJobsAccrue", kNumber},
    {"GrpSubmit", "GrpSubmitJobs", kNumber},
    {"GrpWall", "GrpWall", kNumber},
    {"MaxTRES", "MaxTRESPerJob", kTres},
    {"MaxTRESPerNode", "MaxTRESPerNode", kTres},
    {"MaxTRESMins", "MaxTRESMinsPerJob", kTres},
    {"MaxWall", "MaxWallDurationPerJob", kNumber},
    {"MaxTRESPU", "MaxTRESPerUser", kTres},
    {"MaxJobsPU", "MaxJobsPerUser", kNumber},
    {"MaxJobsAccruePU", "MaxJobsAccruePerUser", kNumber},
    {"MaxSubmitPU", "MaxSubmitJobsPerUser", kNumber},
    {"MaxTRESPA", "MaxTRESPerAccount", kTres},
    {"MaxJobsPA", "MaxJobsPerAccount", kNumber},
    {"MaxJobsAccruePA", "MaxJobsAccruePerAccount", kNumber},
    {"MaxSubmitPA", "MaxSubmitJobsPerAccount", kNumber},
    {"MinTRES", "MinTRESPerJob", kTres},
    {"MinPrioThres", "MinPrioThreshold", kNumber},
};

std::string number(bool is_set, uint32_t value) {
  return is_set ? std::to_string(value) : std::string();
}
std::string minutes(bool is_set, uint32_t value) {
  return is_set ? text::format_minutes(value) : std::string();
}
std::string seconds(bool is_set, int64_t value) {
  return is_set ? text::format_seconds(value) : std::string();
}
std::string real(bool is_set, double value) {
  return is_set ? fmt::format("{:.6f}", value) : std::string();
}
std::string tres(const TresList& list) {
  std::vector<std::string> items;
  for (const model::Tres& one : list)
    items.push_back(one.name() + "=" +
                    (one.name() == "mem" ? text::format_mib(one.count()) : std::to_string(one.count())));
  return fmt::format("{}", fmt::join(items, ","));
}
std::string list(const google::protobuf::RepeatedPtrField<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ","));
}

std::string sorted(std::string_view text) {
  std::vector<std::string> items;
  for (const std::string_view item : text::split(text, ',')) {
    if (!text::trim(item).empty()) items.emplace_back(text::trim(item));
  }
  std::sort(items.begin(), items.end());
  return fmt::format("{}", fmt::join(items, ","));
}

// What sacctmgr prints where nobody has set anything.
bool is_default(std::string_view column, std::string_view text) {
  constexpr struct {
    std::string_view column, text;
  } kDefaults[] = {
      {"GraceTime", "00:00:00"}, {"PreemptMode", "cluster"}, {"UsageFactor", "1.000000"}, {"Priority", "0"}};
  return std::any_of(std::begin(kDefaults), std::end(kDefaults),
                     [&](const auto& one) { return one.column == column && one.text == text; });
}

}  // namespace

std::span<const AccountField> association_fields() {
  return kAssociationFields;
}
std::span<const AccountField> qos_fields() {
  return kQosFields;
}

std::vector<std::string> wanted_fields(const model::AssociationRecord& record) {
  const Limits& has = record.limits();
  std::vector<std::string> values = {
      record.shares() == accounts::kSharesAsParent ? "parent" : std::to_string(record.shares()),
      number(record.has_priority(), record.priority()),
      number(has.has_grp_jobs(), has.grp_jobs()),
      number(has.has_grp_jobs_accrue(), has.grp_jobs_accrue()),
      number(has.has_grp_submit_jobs(), has.grp_submit_jobs()),
      minutes(has.has_grp_wall(), has.grp_wall()),
      tres(has.grp_tres()),
      tres(has.grp_tres_mins()),
      tres(has.grp_tres_run_mins()),
      number(has.has_max_jobs(), has.max_jobs()),
      number(has.has_max_jobs_accrue(), has.max_jobs_accrue()),
      number(has.has_max_submit_jobs(), has.max_submit_jobs()),
      minutes(has.has_max_wall(), has.max_wall()),
      tres(has.max_tres()),
      tres(has.max_tres_per_node()),
      tres(has.max_tres_mins()),
      list(record.qos()),
      record.default_qos(),
  };
  for (size_t i = 0; i < values.size(); ++i) values[i] = plain_value(kAssociationFields[i], values[i]);
  return values;
}

std::vector<std::string> wanted_fields(const model::QosRecord& record) {
  const Limits& has = record.limits();
  std::vector<std::string> values = {
      record.description(),
      std::to_string(record.priority()),
      seconds(true, record.grace_seconds()),
      list(record.preempt()),
      text::lower_case(record.preempt_mode()),
      seconds(record.has_preempt_exempt_seconds(), record.preempt_exempt_seconds()),
      list(record.flags()),
      real(record.has_usage_threshold(), record.usage_threshold()),
      real(record.has_usage_factor(), record.usage_factor()),
      real(record.has_limit_factor(), record.limit_factor()),
      tres(has.grp_tres()),
      tres(has.grp_tres_mins()),
      tres(has.grp_tres_run_mins()),
      number(has.has_grp_jobs(), has.grp_jobs()),
      number(has.has_grp_jobs_accrue(), has.grp_jobs_accrue()),
      number(has.has_grp_submit_jobs(), has.grp_submit_jobs()),
      minutes(has.has_grp_wall(), has.grp_wall()),
      tres(has.max_tres()),
      tres(has.max_tres_per_node()),
      tres(has.max_tres_mins()),
      minutes(has.has_max_wall(), has.max_wall()),
      tres(has.max_tres_per_user()),
      number(has.has_max_jobs(), has.max_jobs()),
      number(has.has_max_jobs_accrue(), has.max_jobs_accrue()),
      number(has.has_max_submit_jobs(), has.max_submit_jobs()),
      tres(has.max_tres_per_account()),
      number(has.has_max_jobs_per_account(), has.max_jobs_per_account()),
      number(has.has_max_jobs_accrue_per_account(), has.max_jobs_accrue_per_account()),
      number(has.has_max_submit_jobs_per_account(), has.max_submit_jobs_per_account()),
      tres(has.min_tres()),
      number(has.has_min_priority(), has.min_priority()),
  };
  for (size_t i = 0; i < values.size(); ++i) values[i] = plain_value(kQosFields[i], values[i]);
  return values;
}

std::string plain_value(const AccountField& field, std::string_view text) {
  text = text::trim(text);
  if (is_default(field.column, text)) return {};
  if (field.kind == kTres || field.kind == kList) return sorted(text);
  return std::string(text);
}

std::string setting_of(const AccountField& field, const std::string& before, const std::string& wanted) {
  const std::string head = std::string(field.setting) + "=";
  if (field.column == std::string_view("GraceTime"))  // the only time that it takes as seconds alone
    return head + std::to_string(text::parse_seconds(wanted.empty() ? "0" : wanted).value_or(0));
  if (field.kind != kTres) {
    if (!wanted.empty()) return head + wanted;
    return head + (field.kind == kText && field.column == std::string_view("PreemptMode") ? "cluster"
                   : field.kind == kNumber                                                ? "-1"
                                                                                          : "");
  }
  // Those that are there and not wanted are taken away one by one.
  std::string items = wanted;
  for (const std::string_view item : text::split(before, ',')) {
    const std::string name(item.substr(0, item.rfind('=')));
    const bool stays = ("," + wanted).find("," + name + "=") != std::string::npos;
    if (!name.empty() && !stays) items += (items.empty() ? "" : ",") + name + "=-1";
  }
  return head + items;
}

}  // namespace minke::grow
