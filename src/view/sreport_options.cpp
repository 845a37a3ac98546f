// The words of an sreport command: report, units, options.
#include <ctime>

#include <algorithm>
#include <limits>

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
// In the order in which a shortened name is looked for.
constexpr NamedReport kReports[] = {
    {"cluster", "AccountUtilizationByUser", Report::kAccountUtilizationByUser},
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

Status set_grouping(std::string_view value, ReportOptions& options) {
  options.grouping.clear();
  for (std::string_view size : text::split(value, ',')) {
    const auto number = text::parse_unsigned(size, UINT32_MAX);
    if (!number) return failure(" Bad grouping: " + std::string(value));
    options.grouping.push_back(static_cast<uint32_t>(*number));
  }
  std::sort(options.grouping.begin(), options.grouping.end());
  return {};
}

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
        "Valid cluster reports are, \"AccountUtilizationByUser\", \"UserUtilizationByAccount\", "
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
  // A shortened name means the plain unit; with "Per" in it, both.
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
  if (equals == std::string_view::npos) {
    if (is_option(name, "PrintJobCount") && name.size() > 1) {
      options.print_job_count = true;
    } else if (is_option(name, "group")) {
      options.group_accounts = true;
    } else if (is_option(name, "all_clusters") || is_option(name, "tree") || is_option(name, "individual") ||
               is_option(name, "flatview") || is_option(name, "withdeleted")) {
      // Of several clusters, or of how accounts below one another are shown: there is one of each.
    } else {
      return failure(" Unknown condition: " + std::string(word));
    }
    return {};
  }
  std::string_view value = word.substr(equals + 1);
  if (value.size() > 1 && (value.front() == '"' || value.front() == '\'') && value.back() == value.front())
    value = value.substr(1, value.size() - 2);
  if (is_option(name, "start") || is_option(name, "end")) {
    const auto time = text::parse_time(value, now, true);
    if (!time) return failure(time.error());
    const bool is_start = is_option(name, "start");
    // A window begins and ends with an hour.
    (is_start ? options.start : options.end) =
        is_start ? *time - *time % kHour : (*time + kHour - 1) / kHour * kHour;
  } else if (is_option(name, "format")) {
    options.format = value;
  } else if (is_option(name, "accounts")) {
    options.accounts = words_of(value);
  } else if (is_option(name, "users")) {
    options.users = words_of(value);
  } else if (is_option(name, "wckeys")) {
    options.wckeys = words_of(value);
  } else if (is_option(name, "partitions")) {
    options.partitions = words_of(value);
  } else if (is_option(name, "nodes")) {
    options.nodes = words_of(value);
  } else if (is_option(name, "gid")) {
    options.gids = words_of(value);
  } else if (is_option(name, "grouping")) {
    return set_grouping(value, options);
  } else if (is_option(name, "topcount")) {
    const auto count = text::parse_unsigned(value, 1000000);
    if (!count || *count == 0) return failure(" Bad TopCount: " + std::string(value));
    options.top_count = static_cast<uint32_t>(*count);
  } else if (is_option(name, "jobs")) {
    for (const std::string& job : words_of(value))
      if (auto number = text::parse_unsigned(job, UINT32_MAX))
        options.jobs.push_back(static_cast<uint32_t>(*number));
  } else if (!is_option(name, "clusters") && !is_option(name, "names")) {
    return failure(" Unknown condition: " + std::string(word));
  }
  return {};
}

}  // namespace minke::view
