// The lines above a report: its name, its window, and its units.
#include <fmt/format.h>

#include "text/timestamp.h"
#include "view/sreport.h"

namespace minke::view {
namespace {

constexpr std::string_view kRule =
    "--------------------------------------------------------------------------------\n";

std::string_view unit_words(ReportUnit unit) {
  switch (unit) {
    case ReportUnit::kSeconds:
      return "Seconds";
    case ReportUnit::kMinutes:
      return "Minutes";
    case ReportUnit::kHours:
      return "Hours";
    case ReportUnit::kPercent:
      return "Percentage of Total";
    case ReportUnit::kSecondsPercent:
      return "Seconds/Percentage of Total";
    case ReportUnit::kMinutesPercent:
      return "Minutes/Percentage of Total";
    case ReportUnit::kHoursPercent:
      return "Hours/Percentage of Total";
  }
  return "";
}

std::string title_of(const ReportOptions& options) {
  switch (options.report) {
    case Report::kAccountUtilizationByUser:
      return "Cluster/Account/User Utilization";
    case Report::kAccountUtilizationByQos:
      return "Cluster/Account/QOS Utilization";
    case Report::kUserUtilizationByAccount:
      return "Cluster/User/Account Utilization";
    case Report::kUserUtilizationByWckey:
      return "Cluster/User/WCKey Utilization";
    case Report::kWckeyUtilizationByUser:
      return "Cluster/WCKey/User Utilization";
    case Report::kClusterUtilization:
      return "Cluster Utilization";
    case Report::kJobSizesByAccount:
    case Report::kJobSizesByWckey:
      return "Job Sizes";
    case Report::kTopUsage:
      return fmt::format("Top {} Users", options.top_count);
    case Report::kReservationUtilization:
      return "Reservation Utilization";
  }
  return "";
}

}  // namespace

bool reports_sizes(Report report) {
  return report == Report::kJobSizesByAccount || report == Report::kJobSizesByWckey;
}

std::string report_heading(const ReportOptions& options) {
  std::string out(kRule);
  out += fmt::format("{} {} - {}", title_of(options), text::format_time(options.start),
                     text::format_time(options.end - 1));
  const bool without_length =
      options.report == Report::kClusterUtilization || options.report == Report::kReservationUtilization;
  if (!without_length) out += fmt::format(" ({} secs)", options.end - options.start);
  out += '\n';
  if (reports_sizes(options.report) && options.print_job_count) {
    out += "Units are in number of jobs ran\n";
  } else if (options.unit == ReportUnit::kPercent) {
    out += reports_sizes(options.report) ? "Time reported in Percentage of Total\n"
                                         : "Usage reported in Percentage of Total\n";
  } else {
    out += fmt::format("{} reported in {}{}\n", reports_sizes(options.report) ? "Time" : "Usage",
                       reports_sizes(options.report)                                               ? ""
                       : options.tres.empty() && options.report != Report::kReservationUtilization ? "CPU "
                                                                                                   : "TRES ",
                       unit_words(options.unit));
  }
  return out + std::string(kRule);
}

}  // namespace minke::view
