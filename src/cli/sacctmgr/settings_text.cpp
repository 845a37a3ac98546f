#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "cli/sacctmgr/settings.h"
#include "model/accounts.pb.h"
#include "text/duration.h"
#include "text/memory.h"

namespace minke::cli {

using model::Limits;
using TresLimits = google::protobuf::RepeatedPtrField<model::Tres>;

int tres_rank(std::string_view name) {
  constexpr std::array<std::string_view, 8> kOrder = {"cpu",     "mem",     "energy", "node",
                                                      "billing", "fs/disk", "vmem",   "pages"};
  return static_cast<int>(std::find(kOrder.begin(), kOrder.end(), name) - kOrder.begin());
}

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

std::string minutes_text(uint32_t minutes) {
  return text::format_minutes(minutes);
}

namespace {

class Lines {
 public:
  explicit Lines(int width) : width_(width) {}
  void add(std::string_view name, const std::string& value) {
    if (!value.empty()) fmt::format_to(std::back_inserter(text_), "  {:<{}}= {}\n", name, width_, value);
  }
  void add(std::string_view name, bool is_set, uint32_t value) {
    if (is_set) add(name, std::to_string(value));
  }
  std::string take() { return std::move(text_); }

 private:
  int width_;
  std::string text_;
};

}  // namespace

std::string settings_text(const model::AssociationRecord& record) {
  const Limits& limits = record.limits();
  Lines lines(14);
  if (record.shares() != 1)
    lines.add("Fairshare",
              record.shares() == accounts::kSharesAsParent ? "parent" : std::to_string(record.shares()));
  lines.add("GrpTRESMins", tres_text(limits.grp_tres_mins()));
  lines.add("GrpTRESRunMins", tres_text(limits.grp_tres_run_mins()));
  lines.add("GrpTRES", tres_text(limits.grp_tres()));
  lines.add("GrpJobs", limits.has_grp_jobs(), limits.grp_jobs());
  lines.add("GrpJobsAccrue", limits.has_grp_jobs_accrue(), limits.grp_jobs_accrue());
  lines.add("GrpSubmitJobs", limits.has_grp_submit_jobs(), limits.grp_submit_jobs());
  if (limits.has_grp_wall()) lines.add("GrpWall", minutes_text(limits.grp_wall()));
  lines.add("MaxTRESMins", tres_text(limits.max_tres_mins()));
  lines.add("MaxTRES", tres_text(limits.max_tres()));
  lines.add("MaxTRESPerNode", tres_text(limits.max_tres_per_node()));
  lines.add("MaxJobs", limits.has_max_jobs(), limits.max_jobs());
  lines.add("MaxJobsAccrue", limits.has_max_jobs_accrue(), limits.max_jobs_accrue());
  lines.add("MaxSubmitJobs", limits.has_max_submit_jobs(), limits.max_submit_jobs());
  if (limits.has_max_wall()) lines.add("MaxWall", minutes_text(limits.max_wall()));
  lines.add("Priority", record.has_priority(), record.priority());
  lines.add("QOS", fmt::format("{}", fmt::join(record.qos(), ",")));
  lines.add("DefQOS", record.default_qos());
  if (record.core_years() > 0) lines.add("CoreYears", fmt::format("{:g}", record.core_years()));
  if (record.rgu_years() > 0) lines.add("RGUYears", fmt::format("{:g}", record.rgu_years()));
  return lines.take();
}

std::string settings_text(const model::QosRecord& record) {
  const Limits& limits = record.limits();
  std::string text = fmt::format("  Description    = {}\n", record.description());
  Lines lines(25);
  lines.add("Flags", fmt::format("{}", fmt::join(record.flags(), ",")));
  lines.add("GraceTime", record.grace_seconds() != 0, record.grace_seconds());
  lines.add("GrpJobs", limits.has_grp_jobs(), limits.grp_jobs());
  lines.add("GrpSubmitJobs", limits.has_grp_submit_jobs(), limits.grp_submit_jobs());
  lines.add("GrpTRES", tres_text(limits.grp_tres()));
  lines.add("GrpTRESMins", tres_text(limits.grp_tres_mins()));
  lines.add("GrpTRESRunMins", tres_text(limits.grp_tres_run_mins()));
  if (limits.has_grp_wall()) lines.add("GrpWall", minutes_text(limits.grp_wall()));
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
  if (limits.has_max_wall()) lines.add("MaxWall", minutes_text(limits.max_wall()));
  lines.add("MinTRESPerJob", tres_text(limits.min_tres()));
  lines.add("Preempt", fmt::format("{}", fmt::join(record.preempt(), ",")));
  std::string mode = record.preempt_mode();
  for (char& c : mode) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  lines.add("PreemptMode", mode);
  lines.add("Priority", record.priority() != 0, record.priority());
  if (record.has_usage_factor()) lines.add("UsageFactor", fmt::format("{:.4f}", record.usage_factor()));
  return text + lines.take();
}

}  // namespace minke::cli
