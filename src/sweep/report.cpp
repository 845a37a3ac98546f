#include "sweep/report.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "search/importance.h"
#include "sweep/trial_command.h"
#include "sweep/trial_metrics.h"
#include "text/printable.h"

namespace minke::sweep {

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostCurves = 4;

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.5g", value);
  return text;
}

std::string padded(std::string text, size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

uint32_t job_of(const TrialRecord& trial) {
  return trial.runs.empty() ? 0 : trial.runs.back().job;
}

Json json_of(const Record& record, const search::Trial& trial) {
  const TrialRecord& more = record.trials().at(trial.number);
  Json json = {{"trial", trial.number}, {"state", fate_name(trial.fate)}};
  json["value"] = trial.value ? Json(*trial.value) : Json();
  json["parameters"] = Json::parse(record.search().plan().space.json(trial.point), nullptr, false);
  if (trial.budget > 0)
    json[record.file().resource.empty() ? "budget" : record.file().resource] = trial.budget;
  json["jobs"] = Json::array();
  for (const Run& run : more.runs) {
    if (run.job != 0) json["jobs"].push_back(run.job);
  }
  json["directory"] = record.trial_directory(trial.number);
  if (!more.reason.empty()) json["reason"] = more.reason;
  return json;
}

std::string dumped(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// lr=0.1 units=64
std::string parameters_text(const Record& record, const search::Trial& trial) {
  const search::Space& space = record.search().plan().space;
  std::string out;
  for (size_t i = 0; i < space.size(); ++i) {
    if (std::isnan(trial.point[i])) continue;
    const search::Value value = space.value(i, trial.point[i]);
    const auto* real = std::get_if<double>(&value);
    out += (out.empty() ? "" : " ") + space.parameters()[i].name + "=" +
           (real != nullptr ? number_text(*real) : search::python_text(value));
  }
  return text::printable(out);
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

}  // namespace

std::string fate_name(search::Fate fate) {
  switch (fate) {
    case search::Fate::kRuns:
      return "RUNNING";
    case search::Fate::kPaused:
      return "PAUSED";
    case search::Fate::kDone:
      return "COMPLETED";
    case search::Fate::kStopped:
      return "STOPPED";
    case search::Fate::kFailed:
      break;
  }
  return "FAILED";
}

std::string status_text(const Record& record, int64_t now) {
  const search::Search& search = record.search();
  std::map<std::string, size_t> counts;
  int64_t first = now;
  for (const auto& [number, trial] : search.trials()) ++counts[fate_name(trial.fate)];
  for (const auto& [number, trial] : record.trials())
    first = std::min(first, trial.asked == 0 ? now : trial.asked);
  std::string out = "Sweep " + (record.file().name.empty() ? record.directory() : record.file().name) +
                    ", method " + std::string(search::method_name(search.plan().sampler.method)) + ": " +
                    std::to_string(search.trials().size()) +
                    (search.plan().trials > 0 ? " of " + std::to_string(search.plan().trials) : "") +
                    " trials";
  for (const auto& [name, count] : counts) out += ", " + std::to_string(count) + " " + name;
  out += "\n\nTRIAL  STATE      JOB       " +
         padded(record.file().metric.empty() ? "VALUE" : record.file().metric, 11) + "  " +
         (record.file().resource.empty() ? "" : padded(record.file().resource, 7) + "  ") + "PARAMETERS\n";
  for (const auto& [number, trial] : search.trials()) {
    const TrialRecord& more = record.trials().at(number);
    std::string count = std::to_string(number);
    out += std::string(count.size() < 5 ? 5 - count.size() : 0, ' ') + count + "  " +
           padded(fate_name(trial.fate), 9) + "  " +
           padded(job_of(more) == 0 ? "-" : std::to_string(job_of(more)), 8) + "  " +
           padded(trial.value ? number_text(*trial.value) : "-",
                  std::max<size_t>(11, record.file().metric.size())) +
           "  " +
           (record.file().resource.empty()
                ? ""
                : padded(std::to_string(trial.budget), std::max<size_t>(7, record.file().resource.size())) +
                      "  ") +
           parameters_text(record, trial) + "\n";
    if (trial.fate == search::Fate::kFailed) out += "       " + text::printable(more.reason) + "\n";
  }
  return out;
}

std::string status_json(const Record& record) {
  Json json = {{"name", record.file().name},
               {"directory", record.directory()},
               {"method", std::string(search::method_name(record.search().plan().sampler.method))},
               {"metric", record.file().metric},
               {"goal", record.search().plan().goal == search::Goal::kMinimize ? "minimize" : "maximize"},
               {"seed", record.search().plan().sampler.seed}};
  json["trials"] = Json::array();
  for (const auto& [number, trial] : record.search().trials())
    json["trials"].push_back(json_of(record, trial));
  return dumped(json) + "\n";
}

Result<std::string> best_text(const Record& record) {
  const search::Trial* best = record.search().best();
  if (best == nullptr) return failure("no trial has a value yet");
  return "Trial " + std::to_string(best->number) + ": " + record.file().metric + " " +
         number_text(*best->value) + "\n" +
         dumped(Json::parse(trial_json(record.file(), best->point, best->budget), nullptr, false), 1) + "\n" +
         record.trial_directory(best->number) + "\n";
}

Result<std::string> best_json(const Record& record) {
  const search::Trial* best = record.search().best();
  if (best == nullptr) return failure("no trial has a value yet");
  return dumped(json_of(record, *best)) + "\n";
}

std::string csv(const Record& record) {
  const search::Space& space = record.search().plan().space;
  std::string out = "trial,state,value";
  if (!record.file().resource.empty()) out += "," + csv_field(record.file().resource);
  for (const search::Parameter& parameter : space.parameters()) out += "," + csv_field(parameter.name);
  out += "\n";
  for (const auto& [number, trial] : record.search().trials()) {
    out += std::to_string(number) + "," + fate_name(trial.fate) + "," +
           (trial.value ? search::json_of(*trial.value) : "");
    if (!record.file().resource.empty()) out += "," + std::to_string(trial.budget);
    for (size_t i = 0; i < space.size(); ++i)
      out +=
          "," +
          (std::isnan(trial.point[i]) ? "" : csv_field(search::python_text(space.value(i, trial.point[i]))));
    out += "\n";
  }
  return out;
}

std::vector<Curve> read_curves(const Record& record) {
  std::vector<Curve> curves;
  for (const auto& [number, trial] : record.search().trials()) {
    TrialMetrics metrics(record.trial_directory(number));
    metrics.update();
    const ml::MetricSet set = metrics.all();
    if (const ml::Series* series = set.find(record.file().metric)) curves.push_back({number, *series});
  }
  return curves;
}

std::string curves_text(const Record& record, const std::vector<Curve>& curves, size_t width) {
  std::vector<const Curve*> order;
  for (const Curve& curve : curves) order.push_back(&curve);
  const auto& trials = record.search().trials();
  const auto loss = [&](const Curve* one) {
    const auto& value = trials.at(one->trial).value;
    return value ? record.search().loss(*value) : HUGE_VAL;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](const Curve* a, const Curve* b) { return loss(a) < loss(b); });
  std::string out;
  for (size_t i = 0; i < std::min(order.size(), kMostCurves); ++i)
    out += "trial " + std::to_string(order[i]->trial) + ", " + record.file().metric + "\n" +
           ml::draw_curve(order[i]->series, width, 4) + "\n";
  if (out.empty()) return "no trial has written " + record.file().metric + " below its directory yet\n";
  return out;
}

Result<std::string> importance_text(const Record& record, size_t width) {
  std::vector<search::Observation> history;
  for (const auto& [number, trial] : record.search().trials())
    history.push_back({trial.point, trial.value ? *trial.value : NAN});  // variance has no sign
  const auto found = search::importances(record.search().plan().space, history, 1);
  if (found.empty()) return failure("there are less than 4 trials with a value: ask again later");
  size_t longest = 9;
  for (const auto& parameter : record.search().plan().space.parameters())
    longest = std::max(longest, parameter.name.size());
  const size_t room = std::max<size_t>(10, width > longest + 26 ? width - longest - 26 : 10);
  std::string out = padded("PARAMETER", longest) + "  SHARE  CORRELATION\n";
  for (const search::Importance& one : found) {
    std::string bar;
    for (double filled = one.share * static_cast<double>(room); filled > 0.25; filled -= 1) bar += "█";
    char numbers[48];
    std::snprintf(numbers, sizeof numbers, "  %5.2f  %11s  ", one.share,
                  one.correlation == 0 ? "-" : number_text(std::round(one.correlation * 100) / 100).c_str());
    out +=
        padded(record.search().plan().space.parameters()[one.parameter].name, longest) + numbers + bar + "\n";
  }
  return text::printable_lines(out);
}

}  // namespace minke::sweep
