#include "view/sprio.h"

#include <fmt/format.h>

#include <cmath>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "api/priorities.pb.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "text/number.h"
#include "text/sluid.h"

namespace minke::view {
namespace {

using Context = DisplayContext;
using Line = PriorityLine;

constexpr const char* kLongFormat =
    "%.15i %9r %.8u %.10Y %.10S %.10A %.10B %.10F %.10J %.10P %.10Q %.11N %.20T";
constexpr const char* kNewLongFormat =
    "%.15i %9r %.8u %.8o %.10Y %.10S %.10A %.10B %.10F %.10J %.10P %.10n %.10Q %.11N %.20T";
constexpr const char* kNewLongNormalizedFormat =
    "%.15i %9r %.8u %.8o %10y %10a %10b %10f %10j %10p %10n %10q %20t";
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
template <auto get_factor, auto get_weight>
void weighted(const Line& line, const Context&, std::string& out) {
  const double weight = line.weights == nullptr ? 0 : (line.weights->*get_weight)();
  const double factor = line.job == nullptr ? 1 : line.parts == nullptr ? 0 : (line.parts->*get_factor)();
  append_number(out, static_cast<int64_t>(std::nearbyint(weight * factor)));  // as printf's %.0f
}
template <auto get_factor, auto get_weight>
void normal_factor(const Line& line, const Context&, std::string& out) {
  if (line.job == nullptr) {
    append_number(out, line.weights == nullptr ? 0 : (line.weights->*get_weight)());
  } else {
    fmt::format_to(std::back_inserter(out), "{:.7f}",
                   line.parts == nullptr ? 0.0 : (line.parts->*get_factor)());
  }
}
void qos_name(const Line& line, const Context&, std::string& out) {
  if (line.job != nullptr) append_or_null(out, line.job->qos());
}
void account(const Line& line, const Context&, std::string& out) {
  if (line.job != nullptr) append_or_null(out, line.job->account());
}
void sluid(const Line& line, const Context&, std::string& out) {
  if (line.job != nullptr) out += text::format_sluid(*line.job);
}
void nice(const Line& line, const Context&, std::string& out) {
  if (line.job != nullptr) append_number(out, line.job->spec().nice());
}
void tres(const Line& line, const Context&, std::string& out) {
  const auto* list = line.parts != nullptr     ? &line.parts->tres()
                     : line.weights != nullptr ? &line.weights->tres()
                                               : nullptr;
  if (list == nullptr || list->empty()) {
    if (line.job == nullptr) out += "(null)";
    return;
  }
  for (int i = 0; i < list->size(); ++i)
    fmt::format_to(std::back_inserter(out), "{}{}={:.0f}", i == 0 ? "" : ",", list->Get(i).name(),
                   list->Get(i).seconds());
}

constexpr Overflow kCut = Overflow::kCut;
constexpr Overflow kSpill = Overflow::kSpill;

// In the order of --helpformat.
constexpr TableField<Line> kFields[] = {
    {'a', "age_normalized", "AGE", kCut, kCut,
     normal_factor<&api::JobPriority::age, &api::PriorityWeights::age>},
    {'A', "age", "AGE", kCut, kCut, weighted<&api::JobPriority::age, &api::PriorityWeights::age>},
    {'b', "assoc_normalized", "ASSOC", kCut, kCut,
     normal_factor<&api::JobPriority::association, &api::PriorityWeights::association>},
    {'B', "assoc", "ASSOC", kCut, kCut,
     weighted<&api::JobPriority::association, &api::PriorityWeights::association>},
    {'c', "cluster", "CLUSTER", kCut, kCut, cluster},
    {'f', "fairshare_normalized", "FAIRSHARE", kCut, kCut,
     normal_factor<&api::JobPriority::fair_share, &api::PriorityWeights::fair_share>},
    {'F', "fairshare", "FAIRSHARE", kCut, kCut,
     weighted<&api::JobPriority::fair_share, &api::PriorityWeights::fair_share>},
    {'i', "jobid", "JOBID", kSpill, kCut, job_id},
    {'j', "jobsize_normalized", "JOBSIZE", kCut, kCut,
     normal_factor<&api::JobPriority::job_size, &api::PriorityWeights::job_size>},
    {'J', "jobsize", "JOBSIZE", kCut, kCut,
     weighted<&api::JobPriority::job_size, &api::PriorityWeights::job_size>},
    {'n', "qosname", "QOSNAME", kCut, kCut, qos_name},
    {'N', "nice", "NICE", kCut, kCut, nice},
    {'o', "account", "ACCOUNT", kCut, kCut, account},
    {'p', "partition_normalized", "PARTITION", kCut, kCut,
     normal_factor<&api::JobPriority::partition_factor, &api::PriorityWeights::partition>},
    {'P', "partition_factor", "PARTITION", kCut, kCut,
     weighted<&api::JobPriority::partition_factor, &api::PriorityWeights::partition>},
    {'r', "partition", "PARTITION", kCut, kCut, partition},
    {'S', "site", "SITE", kCut, kCut, site},
    {'q', "qos_normalized", "QOS", kCut, kCut,
     normal_factor<&api::JobPriority::qos_factor, &api::PriorityWeights::qos>},
    {'Q', "qos", "QOS", kCut, kCut, weighted<&api::JobPriority::qos_factor, &api::PriorityWeights::qos>},
    {'s', "sluid", "SLUID", kCut, kCut, sluid},
    {'u', "user", "USER", kCut, kCut, user},
    {'y', "priority_normalized", "PRIORITY", kCut, kCut, normal_priority},
    {'Y', "priority", "PRIORITY", kSpill, kCut, priority},
    {'t', "tres_normalized", "TRES", kCut, kCut, tres},
    {'T', "tres", "TRES", kCut, kCut, tres},
};

// As Slurm: a column for each factor with a weight.
std::string short_format(const SprioOptions& options, const api::PriorityWeights* weights) {
  std::string format = options.show_user ? "%.15i %9r %.8u" : "%.15i %9r";
  format += options.normalized ? " %10y" : " %.10Y %.10S";
  if (weights == nullptr) return format;
  struct Factor {
    bool weighs;
    const char *normalized, *plain;
  };
  const Factor factors[] = {
      {weights->age() != 0, " %10a", " %.10A"},        {weights->association() != 0, " %10b", " %.10B"},
      {weights->fair_share() != 0, " %10f", " %.10F"}, {weights->job_size() != 0, " %10j", " %.10J"},
      {weights->partition() != 0, " %10p", " %.10P"},  {weights->qos() != 0, " %10q", " %.10Q"},
      {!weights->tres().empty(), " %20t", " %.20T"}};
  for (const Factor& one : factors)
    if (one.weighs) format += options.normalized ? one.normalized : one.plain;
  return format;
}

}  // namespace

std::vector<PriorityLine> priority_lines(std::span<const model::JobRecord* const> jobs,
                                         const SprioOptions& options) {
  std::vector<PriorityLine> lines;
  for (const model::JobRecord* job : jobs) {
    // Only what is eligible competes.
    const bool later = job->reason() == model::WAIT_DEPENDENCY || job->reason() == model::WAIT_TIME;
    if (later || job->state() != model::JOB_PENDING || job->priority() == 0) continue;
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

Table<PriorityLine> priority_table(const SprioOptions& options, std::vector<std::string>& problems,
                                   const api::PriorityWeights* weights) {
  const bool old = options.release < kSlurm24;  // without accounts and names of QOS
  const std::string format = options.format       ? *options.format
                             : !options.long_list ? short_format(options, weights)
                             : options.normalized ? old ? kLongNormalizedFormat : kNewLongNormalizedFormat
                             : old                ? kLongFormat
                                                  : kNewLongFormat;
  return Table<PriorityLine>::from_short_format(kFields, format, problems);
}

std::string priority_help_format() {
  std::string out;
  size_t shown = 0;
  for (const TableField<Line>& field : kFields) {
    out.append(1, '%').append(1, field.letter).append(4, ' ');
    if (++shown % 8 == 0) out += '\n';
  }
  if (shown % 8 != 0) out += '\n';
  return out;
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
  const api::JobPriority parts = line.parts == nullptr ? api::JobPriority() : *line.parts;
  const api::PriorityWeights weights = line.weights == nullptr ? api::PriorityWeights() : *line.weights;
  document.integer("site", 0);
  const std::tuple<const char*, double, double> factors[] = {
      {"age", parts.age(), weights.age()},
      {"association", parts.association(), weights.association()},
      {"fairshare", parts.fair_share(), weights.fair_share()},
      {"job_size", parts.job_size(), weights.job_size()},
      {"partition_factor", parts.partition_factor(), weights.partition()},
      {"qos", parts.qos_factor(), weights.qos()}};
  for (const auto& [name, factor, weight] : factors)
    document.integer(name, static_cast<int64_t>(factor * weight));
  document.integer("nice", job.spec().nice());
  document.end();
}

}  // namespace minke::view
