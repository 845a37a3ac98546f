#include "view/account_settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "accounts/account_book.h"
#include "model/accounts.pb.h"
#include "text/duration.h"
#include "text/memory.h"

namespace minke::view {

using model::Limits;
using TresLimits = google::protobuf::RepeatedPtrField<model::Tres>;

std::string tres_text(const TresLimits& limits, bool by_name) {
  std::vector<std::string> items;
  for (const model::Tres& limit : limits) {
    items.push_back(
        limit.name() + "=" +
        (limit.name() == "mem" ? text::format_mib(limit.count()) : std::to_string(limit.count())));
  }
  if (by_name) std::sort(items.begin(), items.end());
  return fmt::format("{}", fmt::join(items, ","));
}

namespace {

class Lines {
 public:
  void add(std::string_view name, std::string value) {
    if (!value.empty()) settings_.emplace_back(name, std::move(value));
  }
  void add(std::string_view name, bool is_set, uint32_t value) {
    if (is_set) add(name, std::to_string(value));
  }
  Settings take() { return std::move(settings_); }

 private:
  Settings settings_;
};

}  // namespace

Settings settings_of(const model::AssociationRecord& record) {
  const Limits& limits = record.limits();
  Lines lines;
  if (record.shares() != 1)
    lines.add("Fairshare",
              record.shares() == accounts::kSharesAsParent ? "parent" : std::to_string(record.shares()));
  lines.add("GrpTRESMins", tres_text(limits.grp_tres_mins()));
  lines.add("GrpTRESRunMins", tres_text(limits.grp_tres_run_mins()));
  lines.add("GrpTRES", tres_text(limits.grp_tres()));
  lines.add("GrpJobs", limits.has_grp_jobs(), limits.grp_jobs());
  lines.add("GrpJobsAccrue", limits.has_grp_jobs_accrue(), limits.grp_jobs_accrue());
  lines.add("GrpSubmitJobs", limits.has_grp_submit_jobs(), limits.grp_submit_jobs());
  if (limits.has_grp_wall()) lines.add("GrpWall", text::format_minutes(limits.grp_wall()));
  lines.add("MaxTRESMins", tres_text(limits.max_tres_mins()));
  lines.add("MaxTRES", tres_text(limits.max_tres()));
  lines.add("MaxTRESPerNode", tres_text(limits.max_tres_per_node()));
  lines.add("MaxJobs", limits.has_max_jobs(), limits.max_jobs());
  lines.add("MaxJobsAccrue", limits.has_max_jobs_accrue(), limits.max_jobs_accrue());
  lines.add("MaxSubmitJobs", limits.has_max_submit_jobs(), limits.max_submit_jobs());
  if (limits.has_max_wall()) lines.add("MaxWall", text::format_minutes(limits.max_wall()));
  lines.add("Priority", record.has_priority(), record.priority());
  lines.add("QOS", fmt::format("{}", fmt::join(record.qos(), ",")));
  lines.add("DefQOS", record.default_qos());
  if (record.core_years() > 0) lines.add("CoreYears", fmt::format("{:g}", record.core_years()));
  if (record.rgu_years() > 0) lines.add("RGUYears", fmt::format("{:g}", record.rgu_years()));
  return lines.take();
}

Settings settings_of(const model::QosRecord& record) {
  const Limits& limits = record.limits();
  Lines lines;
  lines.add("Flags", fmt::format("{}", fmt::join(record.flags(), ",")));
  lines.add("GraceTime", record.grace_seconds() != 0, record.grace_seconds());
  lines.add("GrpJobs", limits.has_grp_jobs(), limits.grp_jobs());
  lines.add("GrpSubmitJobs", limits.has_grp_submit_jobs(), limits.grp_submit_jobs());
  lines.add("GrpTRES", tres_text(limits.grp_tres()));
  lines.add("GrpTRESMins", tres_text(limits.grp_tres_mins()));
  lines.add("GrpTRESRunMins", tres_text(limits.grp_tres_run_mins()));
  if (limits.has_grp_wall()) lines.add("GrpWall", text::format_minutes(limits.grp_wall()));
  lines.add("MaxJobsPerAccount", limits.has_max_jobs_per_account(), limits.max_jobs_per_account());
  lines.add("MaxJobsPerUser", limits.has_max_jobs(), limits.max_jobs());
  lines.add("MaxSubmitJobsPerAccount", limits.has_max_submit_jobs_per_account(),
            limits.max_submit_jobs_per_account());
  lines.add("MaxSubmitJobsPerUser", limits.has_max_submit_jobs(), limits.max_submit_jobs());
  lines.add("MaxTRESPerAccount", tres_text(limits.max_tres_per_account()));
  lines.add("MaxTRESPerJob", tres_text(limits.max_tres()));
  lines.add("MaxTRESPerNode", tres_text(limits.max_tres_per_node()));
  lines.add("MaxTRESPerUser", tres_text(limits.max_tres_per_user()));
  lines.add("MaxTRESMins", tres_text(limits.max_tres_mins()));
  if (limits.has_max_wall()) lines.add("MaxWall", text::format_minutes(limits.max_wall()));
  lines.add("MinTRESPerJob", tres_text(limits.min_tres()));
  lines.add("Preempt", fmt::format("{}", fmt::join(record.preempt(), ",")));
  std::string mode = record.preempt_mode();
  for (char& c : mode) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  lines.add("PreemptMode", mode);
  lines.add("Priority", record.priority() != 0, record.priority());
  if (record.has_usage_factor()) lines.add("UsageFactor", fmt::format("{:.4f}", record.usage_factor()));
  return lines.take();
}

}  // namespace minke::view
