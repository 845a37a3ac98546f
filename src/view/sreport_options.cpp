// The words of an sreport command: report, units, options.
#include <ctime>

#include <algorithm>
#include <limits>
#include <span>

#include "text/number.h"
#include "text/timestamp.h"
#include "view/sreport.h"

namespace minke::view {
namespace {

constexpr int64_t kHour = 3600;

struct NamedReport {
  std::string_view group, name;
  Report report;
};
// An abbreviated name means the first match in this order.
constexpr NamedReport kReports[] = {
    {"cluster", "AccountUtilizationByUser", Report::kAccountUtilizationByUser},
    {"cluster", "AccountUtilizationByQOS", Report::kAccountUtilizationByQos},
    {"cluster", "UserUtilizationByAccount", Report::kUserUtilizationByAccount},
    {"cluster", "UserUtilizationByWckey", Report::kUserUtilizationByWckey},
    {"cluster", "Utilization", Report::kClusterUtilization},
    {"cluster", "WCKeyUtilizationByUser", Report::kWckeyUtilizationByUser},
    {"job", "SizesByAccount", Report::kJobSizesByAccount},
    {"job", "SizesByWckey", Report::kJobSizesByWckey},
    {"reservation", "Utilization", Report::kReservationUtilization},
    {"user", "TopUsage", Report::kTopUsage},
};

std::vector<std::string> words_of(std::string_view list) {
  std::vector<std::string> words;
  for (std::string_view word : text::split(list, ','))
    if (!word.empty()) words.emplace_back(word);
  return words;
}

int64_t midnight(int64_t time, int days_before) {
  time_t value = time;
  tm parts;
  localtime_r(&value, &parts);
  parts.tm_hour = parts.tm_min = parts.tm_sec = 0;
  parts.tm_mday -= days_before;
  parts.tm_isdst = -1;
  return mktime(&parts);
}

bool is_option(std::string_view name, std::string_view full) {
  return !name.empty() && text::starts_with_ignoring_case(full, name);
}

// Applies a condition's value; times are relative to `now`.
using SetCondition = Status (*)(std::string_view value, int64_t now, ReportOptions& options);

Status set_grouping(std::string_view value, int64_t, ReportOptions& options) {
  options.grouping.clear();
  for (std::string_view size : text::split(value, ',')) {
    const auto number = text::parse_unsigned(size, UINT32_MAX);
    if (!number) return failure(" Bad grouping: " + std::string(value));
    options.grouping.push_back(static_cast<uint32_t>(*number));
  }
  std::sort(options.grouping.begin(), options.grouping.end());
  return {};
}

// A window begins and ends with an hour.
Status set_start(std::string_view value, int64_t now, ReportOptions& options) {
  const auto time = text::parse_time(value, now, true);
  if (!time) return failure(time.error());
  options.start = *time - *time % kHour;
  return {};
}
Status set_end(std::string_view value, int64_t now, ReportOptions& options) {
  const auto time = text::parse_time(value, now, true);
  if (!time) return failure(time.error());
  options.end = (std::min(*time, now) + kHour - 1) / kHour * kHour;  // nothing is known of what is to come
  return {};
}

Status set_format(std::string_view value, int64_t, ReportOptions& options) {
  options.format = value;
  return {};
}

template <std::vector<std::string> ReportOptions::*kMember>
Status set_words(std::string_view value, int64_t, ReportOptions& options) {
  options.*kMember = words_of(value);
  return {};
}

Status set_top_count(std::string_view value, int64_t, ReportOptions& options) {
  const auto count = text::parse_unsigned(value, 1000000);
  if (!count || *count == 0) return failure(" Bad TopCount: " + std::string(value));
  options.top_count = static_cast<uint32_t>(*count);
  return {};
}

Status add_jobs(std::string_view value, int64_t, ReportOptions& options) {
  for (const std::string& job : words_of(value))
    if (auto number = text::parse_unsigned(job, UINT32_MAX))
      options.jobs.push_back(static_cast<uint32_t>(*number));
  return {};
}

Status set_job_count(std::string_view, int64_t, ReportOptions& options) {
  options.print_job_count = true;
  return {};
}

Status set_group(std::string_view, int64_t, ReportOptions& options) {
  options.group_accounts = true;
  return {};
}

// Settings of several clusters, or of nested accounts: there is only one way for each.
Status ignore(std::string_view, int64_t, ReportOptions&) {
  return {};
}

// An abbreviated name means the first match in this order.
struct Condition {
  std::string_view name;
  size_t shortest;
  SetCondition set;
};
constexpr Condition kSwitches[] = {{"PrintJobCount", 2, set_job_count}, {"group", 1, set_group},
                                   {"all_clusters", 1, ignore},         {"tree", 1, ignore},
                                   {"individual", 1, ignore},           {"flatview", 1, ignore},
                                   {"withdeleted", 1, ignore}};
constexpr Condition kConditions[] = {{"start", 1, set_start},
                                     {"end", 1, set_end},
                                     {"format", 1, set_format},
                                     {"accounts", 1, set_words<&ReportOptions::accounts>},
                                     {"users", 1, set_words<&ReportOptions::users>},
                                     {"wckeys", 1, set_words<&ReportOptions::wckeys>},
                                     {"partitions", 1, set_words<&ReportOptions::partitions>},
                                     {"nodes", 1, set_words<&ReportOptions::nodes>},
                                     {"gid", 1, set_words<&ReportOptions::gids>},
                                     {"grouping", 1, set_grouping},
                                     {"topcount", 1, set_top_count},
                                     {"jobs", 1, add_jobs},
                                     {"clusters", 1, ignore},
                                     {"names", 1, ignore}};

}  // namespace

Result<Report> find_report(std::string_view group, std::string_view name) {
  if (text::equals_ignoring_case(group, "job") && is_option(name, "Sizes")) return Report::kJobSizesByAccount;
  if (text::equals_ignoring_case(group, "job") && text::equals_ignoring_case(name, "SizesByAccountAndWckey"))
    return Report::kJobSizesByWckey;
  for (const NamedReport& known : kReports)
    if (known.group == group && is_option(name, known.name)) return known.report;
  std::string message = "Not valid report " + std::string(name) + "\n";
  if (group == "cluster")
    message +=
        "Valid cluster reports are, \"AccountUtilizationByUser\", \"AccountUtilizationByQOS\", "
        "\"UserUtilizationByAccount\", "
        "\"UserUtilizationByWckey\", \"Utilization\", and \"WCKeyUtilizationByUser\"";
  if (group == "job")
    message += "Valid job reports are, \"SizesByAccount, SizesByAccountAndWcKey, and SizesByWckey\"";
  if (group == "reservation") message += "Valid reservation reports are, \"Utilization\"";
  if (group == "user") message += "Valid user reports are, \"TopUsage\"";
  return failure(message);
}

Result<ReportUnit> find_unit(std::string_view text) {
  constexpr std::pair<std::string_view, ReportUnit> kUnits[] = {
      {"SecPer", ReportUnit::kSecondsPercent}, {"MinPer", ReportUnit::kMinutesPercent},
      {"HourPer", ReportUnit::kHoursPercent},  {"Seconds", ReportUnit::kSeconds},
      {"Minutes", ReportUnit::kMinutes},       {"Hours", ReportUnit::kHours},
      {"Percent", ReportUnit::kPercent}};
  // An abbreviated name means the plain unit; with "Per" in it, both.
  for (const auto& [name, unit] : kUnits)
    if (text::equals_ignoring_case(text, name)) return unit;
  for (const auto& [name, unit] : kUnits)
    if (name.find("Per") != std::string_view::npos && name != "Percent" &&
        text::starts_with_ignoring_case(text, name))
      return unit;
  for (const auto& [name, unit] : kUnits)
    if (name.find("Per") == std::string_view::npos || name == "Percent")
      if (is_option(text, name)) return unit;
  return failure("unknown time format " + std::string(text));
}

Result<std::vector<Tres>> find_tres(std::string_view list) {
  std::vector<Tres> found;
  for (const std::string& word : words_of(list)) {
    if (text::equals_ignoring_case(word, "all")) {
      found.clear();
      for (size_t i = 0; i < kTresNames.size(); ++i) found.push_back(static_cast<Tres>(i));
      return found;
    }
    const auto at = std::find_if(kTresNames.begin(), kTresNames.end(), [&](std::string_view name) {
      return text::equals_ignoring_case(name, word);
    });
    if (at == kTresNames.end()) return failure("No valid TRES given");
    found.push_back(static_cast<Tres>(at - kTresNames.begin()));
  }
  return found;
}

void set_default_window(int64_t now, ReportOptions& options) {
  options.start = midnight(now, 1);
  options.end = midnight(now, 0);
}

Status read_report_option(std::string_view word, int64_t now, ReportOptions& options) {
  const size_t equals = word.find('=');
  const std::string_view name = word.substr(0, equals);
  const bool is_switch = equals == std::string_view::npos;
  std::string_view value = is_switch ? std::string_view() : word.substr(equals + 1);
  if (value.size() > 1 && (value.front() == '"' || value.front() == '\'') && value.back() == value.front())
    value = value.substr(1, value.size() - 2);
  for (const Condition& one : is_switch ? std::span<const Condition>(kSwitches) : std::span(kConditions))
    if (name.size() >= one.shortest && is_option(name, one.name)) return one.set(value, now, options);
  return failure(" Unknown condition: " + std::string(word));
}

}  // namespace minke::view
