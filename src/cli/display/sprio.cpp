#include "cli/display/sprio.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "text/number.h"

namespace minke::cli {
namespace {

using Context = DisplayContext;
using Line = PriorityLine;

constexpr const char* kDefaultFormat = "%.15i %9r %.10Y %.10S";
constexpr const char* kUserFormat = "%.15i %9r %.8u %.10Y %.10S";
constexpr const char* kLongFormat =
    "%.15i %9r %.8u %.10Y %.10S %.10A %.10B %.10F %.10J %.10P %.10Q %.11N %.20T";
constexpr const char* kNormalizedFormat = "%.15i %9r %10y";
constexpr const char* kLongNormalizedFormat = "%.15i %9r %.8u %10y %10a %10b %10f %10j %10p %10q %.20t";

double normalized(uint32_t priority) {
  return priority / double{UINT32_MAX};
}

void job_id(const Line& line, const Context&, std::string& out) {
  if (line.job == nullptr) {
    out += "Weights";
  } else {
    append_number(out, line.job->job_id());
  }
}
void partition(const Line& line, const Context&, std::string& out) {
  out += line.partition;
}
void cluster(const Line& line, const Context& context, std::string& out) {
  if (line.job != nullptr) out += context.cluster_name;
}
void user(const Line& line, const Context&, std::string& out) {
  if (line.job != nullptr) out += line.job->user_name();
}
void priority(const Line& line, const Context&, std::string& out) {
  if (line.job != nullptr) append_number(out, line.job->priority());
}
void normal_priority(const Line& line, const Context&, std::string& out) {
  if (line.job != nullptr)
    fmt::format_to(std::back_inserter(out), "{:.14f}", normalized(line.job->priority()));
}
void site(const Line& line, const Context&, std::string& out) {
  out += line.job == nullptr ? '1' : '0';
}
void weighted(const Line&, const Context&, std::string& out) {
  out += '0';
}
void normal_factor(const Line& line, const Context&, std::string& out) {
  out += line.job == nullptr ? "0" : "0.0000000";
}
void nice(const Line& line, const Context&, std::string& out) {
  if (line.job != nullptr) append_number(out, line.job->spec().nice());
}
void tres(const Line& line, const Context&, std::string& out) {
  if (line.job == nullptr) out += "(null)";
}

constexpr Overflow kCut = Overflow::kCut;
constexpr Overflow kSpill = Overflow::kSpill;

constexpr TableField<Line> kFields[] = {
    {'a', "age_normalized", "AGE", kCut, kCut, normal_factor},
    {'A', "age", "AGE", kCut, kCut, weighted},
    {'b', "assoc_normalized", "ASSOC", kCut, kCut, normal_factor},
    {'B', "assoc", "ASSOC", kCut, kCut, weighted},
    {'c', "cluster", "CLUSTER", kCut, kCut, cluster},
    {'f', "fairshare_normalized", "FAIRSHARE", kCut, kCut, normal_factor},
    {'F', "fairshare", "FAIRSHARE", kCut, kCut, weighted},
    {'i', "jobid", "JOBID", kSpill, kCut, job_id},
    {'j', "jobsize_normalized", "JOBSIZE", kCut, kCut, normal_factor},
    {'J', "jobsize", "JOBSIZE", kCut, kCut, weighted},
    {'N', "nice", "NICE", kCut, kCut, nice},
    {'p', "partition_normalized", "PARTITION", kCut, kCut, normal_factor},
    {'P', "partition_factor", "PARTITION", kCut, kCut, weighted},
    {'q', "qos_normalized", "QOS", kCut, kCut, normal_factor},
    {'Q', "qos", "QOS", kCut, kCut, weighted},
    {'r', "partition", "PARTITION", kCut, kCut, partition},
    {'S', "site", "SITE", kCut, kCut, site},
    {'t', "tres_normalized", "TRES", kCut, kCut, tres},
    {'T', "tres", "TRES", kCut, kCut, tres},
    {'u', "user", "USER", kCut, kCut, user},
    {'y', "priority_normalized", "PRIORITY", kCut, kCut, normal_priority},
    {'Y', "priority", "PRIORITY", kSpill, kCut, priority},
};

}  // namespace

std::vector<PriorityLine> priority_lines(std::span<const model::JobRecord* const> jobs,
                                         const SprioOptions& options) {
  std::vector<PriorityLine> lines;
  for (const model::JobRecord* job : jobs) {
    if (job->state() != model::JOB_PENDING || job->priority() == 0) continue;
    for (std::string_view name : text::split(job->partition(), ',')) {
      if (options.partitions.empty() ||
          std::find(options.partitions.begin(), options.partitions.end(), name) != options.partitions.end())
        lines.push_back({job, name});
    }
  }
  std::stable_sort(lines.begin(), lines.end(), [](const PriorityLine& left, const PriorityLine& right) {
    return left.job->job_id() < right.job->job_id();
  });
  return lines;
}

Table<PriorityLine> priority_table(const SprioOptions& options, std::vector<std::string>& problems) {
  const std::string_view format = options.format ? std::string_view(*options.format)
                                  : options.normalized
                                      ? options.long_list ? kLongNormalizedFormat : kNormalizedFormat
                                  : options.long_list ? kLongFormat
                                  : options.show_user ? kUserFormat
                                                      : kDefaultFormat;
  return Table<PriorityLine>::from_short_format(kFields, format, problems);
}

void describe_priority(Document& document, const PriorityLine& line, const DisplayContext& context) {
  const model::JobRecord& job = *line.job;
  document.begin_object();
  document.integer("job_id", job.job_id());
  document.text("partition", line.partition);
  document.text("cluster", context.cluster_name);
  document.text("user", job.user_name());
  document.integer("user_id", job.uid());
  document.integer("priority", job.priority());
  document.real("priority_normalized", normalized(job.priority()));
  for (const char* factor :
       {"site", "age", "association", "fairshare", "job_size", "partition_factor", "qos"})
    document.integer(factor, 0);
  document.integer("nice", job.spec().nice());
  document.end();
}

}  // namespace minke::cli
