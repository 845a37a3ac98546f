// What was measured of one job: now, and over its time, as columns that a graph draws.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "api/measurements.pb.h"
#include "engine/engine.h"
#include "engine/fetch.h"
#include "model/cluster.pb.h"
#include "model/job_record.pb.h"
#include "model/measurement.pb.h"
#include "portal/desk.h"
#include "portal/job_answers.h"
#include "portal/job_json.h"
#include "text/job_id.h"
#include "view/gpu_parts.h"

namespace minke::portal {
namespace {

// A column holds differences.
template <typename Column>
std::vector<int64_t> totals(const Column& differences) {
  std::vector<int64_t> values;
  int64_t value = 0;
  for (const int64_t difference : differences) values.push_back(value += difference);
  return values;
}

// The rise of a total per second between two samples, times `scale`; the first sample counts from the start.
Json rates(const std::vector<int64_t>& total, const std::vector<int64_t>& time, int64_t start, double scale) {
  Json values = Json::array();
  for (size_t i = 0; i < total.size() && i < time.size(); ++i) {
    const int64_t before = i == 0 ? std::min(start, time[0]) : time[i - 1];
    const int64_t rise = total[i] - (i == 0 ? 0 : total[i - 1]), seconds = time[i] - before;
    values.push_back(seconds <= 0 ? Json()
                                  : Json(scale * static_cast<double>(rise) / static_cast<double>(seconds)));
  }
  return values;
}

// Of counters of the machine, which begin with the first sample: nothing is known before it.
Json host_rates(const std::vector<int64_t>& total, const std::vector<int64_t>& time, double scale) {
  Json values = rates(total, time, 0, scale);
  if (!values.empty()) values[0] = Json();
  return values;
}

Json scaled(const std::vector<int64_t>& column, double scale) {
  Json values = Json::array();
  for (const int64_t value : column) values.push_back(scale * static_cast<double>(value));
  return values;
}

// Of a GPU: null where it was not measured.
Json figures(const model::Series::Gpu::Part& part, double scale) {
  Json values = Json::array();
  for (const std::optional<double> value : view::values_of(part, scale))
    values.push_back(value ? Json(*value) : Json());
  return values;
}

Json series_json(const model::Series& series, int64_t start) {
  const auto time = totals(series.time());
  Json value = {{"time", time},
                {"cores", rates(totals(series.cpu_milliseconds()), time, start, 1e-3)},
                {"memory_bytes", scaled(totals(series.memory_kib()), 1024)},
                {"read_bytes_per_second", rates(totals(series.read_kib()), time, start, 1024)},
                {"write_bytes_per_second", rates(totals(series.write_kib()), time, start, 1024)},
                {"processes", totals(series.processes())},
                {"threads", totals(series.threads())},
                {"running_threads", totals(series.running_threads())},
                {"watts", rates(totals(series.energy_joules()), time, start, 1)},
                {"cache_bytes", scaled(totals(series.cache_kib()), 1024)},
                {"shared_bytes", scaled(totals(series.shared_kib()), 1024)},
                {"node_received_bytes_per_second", host_rates(totals(series.received_kib()), time, 1024)},
                {"node_sent_bytes_per_second", host_rates(totals(series.sent_kib()), time, 1024)},
                {"processors", Json::array()},
                {"gpus", Json::array()}};
  for (const model::Series::Processor& one : series.processors()) {
    Json busy = host_rates(totals(one.milliseconds()), time, 1e-3);
    for (Json& part : busy)  // times are whole seconds: of a short while, it may seem busier than it can be
      if (part.is_number()) part = std::min(1.0, part.get<double>());
    value["processors"].push_back({{"id", one.id()}, {"cores", std::move(busy)}});
  }
  for (const model::Series::Gpu& gpu : series.gpus()) {
    value["gpus"].push_back({{"uuid", gpu.uuid()},
                             {"percent", totals(gpu.utilization())},
                             {"memory_percent", totals(gpu.memory_utilization())},
                             {"memory_bytes", scaled(totals(gpu.memory_mib()), 1 << 20)},
                             {"watts", scaled(totals(gpu.milliwatts()), 1e-3)},
                             {"clock_mhz", totals(gpu.clock_mhz())}});
    for (const model::Series::Gpu::Part& part : gpu.parts())
      if (const auto* name = view::name_of(part.part()))
        value["gpus"].back()[std::string(name->name)] = figures(part, name->scale);
  }
  return value;
}

}  // namespace

Result<Reply> show_measurements(Call& call) {
  const auto ability = call.cluster.measurements();
  if (!ability) return failure(ability.error().message, ENOTSUP);
  const auto wanted = text::parse_job_id(call.text("job"));
  if (!wanted) return failure(wanted.error());
  api::QueryMeasurementsRequest query;
  *query.mutable_filter()->add_jobs() = engine::selector_of(*wanted);
  query.set_with_series(true);
  const auto answer = (*ability)->measured(query);
  if (!answer) return failure(answer.error());
  Json value = {{"now", answer->now()}, {"notes", Json::array()}};
  for (const std::string& note : answer->notes()) value["notes"].push_back(note);
  const api::JobMeasurement* chosen = &api::JobMeasurement::default_instance();  // of what is not measured
  for (const api::JobMeasurement& one : answer->jobs())
    if (chosen->job().job_id() == 0 || one.job().job_id() == wanted->job_id) chosen = &one;
  const model::JobRecord& job = chosen->job();
  value["measured"] = chosen->has_now() || chosen->series().time_size() > 0;
  value["start"] = job.start_time();
  value["held"] = {
      {"cpus", job.num_cpus()}, {"memory_bytes", job.memory_mib() << 20}, {"gpus", gpus_of(job)}};
  value["last"] = {{"time", chosen->now().time()},
                   {"cores", chosen->cores()},
                   {"memory_bytes", chosen->now().memory_kib() << 10},
                   {"peak_memory_bytes", chosen->peak_memory_kib() << 10},
                   {"processes", chosen->now().processes()},
                   {"joules", chosen->now().energy_joules()}};
  value["series"] = series_json(chosen->series(), job.start_time());
  return json_reply(value);
}

}  // namespace minke::portal
