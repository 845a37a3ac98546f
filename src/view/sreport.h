// The reports of sreport: usage of the cluster within a window of time, by account, user or size.
//
// A Tally takes one accounted job after the other and keeps only sums, so that a report over a million jobs
// needs no memory for them. Pure; one thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "view/print_fields.h"

namespace minke::model {
class JobRecord;
class ReservationRecord;
}  // namespace minke::model

namespace minke::view {

enum class Report {
  kAccountUtilizationByUser,
  kAccountUtilizationByQos,
  kUserUtilizationByAccount,
  kUserUtilizationByWckey,
  kWckeyUtilizationByUser,
  kClusterUtilization,
  kJobSizesByAccount,
  kJobSizesByWckey,
  kTopUsage,
  kReservationUtilization,
};

enum class ReportUnit {
  kSeconds,
  kMinutes,
  kHours,
  kPercent,
  kSecondsPercent,
  kMinutesPercent,
  kHoursPercent
};

enum class Tres { kCpu, kMemory, kEnergy, kNode, kBilling, kDisk, kVirtualMemory, kPages, kGpu };
inline constexpr std::array<std::string_view, 9> kTresNames = {
    "cpu", "mem", "energy", "node", "billing", "fs/disk", "vmem", "pages", "gres/gpu"};
using TresSeconds = std::array<double, kTresNames.size()>;

struct ReportOptions {
  Report report = Report::kClusterUtilization;
  int64_t start = 0, end = 0;  // s since the epoch; the end is excluded
  ReportUnit unit = ReportUnit::kMinutes;
  std::vector<Tres> tres;  // empty: CPUs, without a column for the name
  std::string format;      // empty: the report's own
  std::vector<std::string> accounts, users, wckeys, partitions, nodes, gids;
  std::vector<uint32_t> jobs;
  std::vector<uint32_t> grouping = {50, 250, 500, 1000};  // sizes at which another column begins
  uint32_t top_count = 10;
  bool group_accounts = false;   // of a user, in the top list
  bool print_job_count = false;  // shows how many jobs, not how long
  bool no_header = false;
  PrintLayout layout = PrintLayout::kFixed;
};

// The current resources of the cluster.
struct ClusterSize {
  std::string name;
  double cpus = 0, memory_mib = 0, nodes = 0, gpus = 0;
};

class Tally {
 public:
  Tally(const ReportOptions& options, int64_t now) : options_(options), now_(now) {}
  void add(const model::JobRecord& job);

  // A reservation of so many CPUs, before the jobs that run in it are added.
  void add(const model::ReservationRecord& reservation, uint64_t cpus);

  // Returns the whole report, header and all. Fails on an unknown field.
  Result<std::string> print(const ClusterSize& cluster) const;

 private:
  struct Key {
    std::string first, second;  // account and user, or the other way round
    auto operator<=>(const Key&) const = default;
  };
  struct Sizes {
    std::vector<double> columns;
    uint64_t jobs = 0;
  };

  struct Reserved {
    std::string name;
    int64_t start = 0, end = 0;  // s since the epoch
    uint64_t cpus = 0;
    double allocated = 0;  // CPU seconds of jobs within the window
  };

  class Lines;

  bool selects(const model::JobRecord& job) const;
  double overlap(int64_t from, int64_t until) const;  // s of it within the window
  void add_wait(const model::JobRecord& job, bool started, const TresSeconds& rates);
  void add_size(const model::JobRecord& job, double seconds);
  Key key_of(const model::JobRecord& job) const;
  std::string print_sizes(const ClusterSize& cluster) const;

  const ReportOptions& options_;
  int64_t now_;
  std::map<Key, TresSeconds> used_;
  std::map<std::string, Sizes> sizes_;
  std::vector<Reserved> reserved_;
  TresSeconds allocated_{}, planned_{};
};

std::string report_heading(const ReportOptions& options);
bool reports_sizes(Report report);  // of jobs

// Reads "Start", "users=…": names may be abbreviated, in any case. Times are rounded to hours as in Slurm.
// Fails with Slurm's words.
Status read_report_option(std::string_view word, int64_t now, ReportOptions& options);
Result<Report> find_report(std::string_view group, std::string_view name);
Result<ReportUnit> find_unit(std::string_view text);
Result<std::vector<Tres>> find_tres(std::string_view list);
// Sets the window to yesterday, from midnight to midnight.
void set_default_window(int64_t now, ReportOptions& options);

}  // namespace minke::view
