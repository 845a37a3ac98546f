#include "sweep/record.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "os/files.h"

namespace minke::sweep {

namespace {

using Json = nlohmann::ordered_json;
using End = search::Search::End;

constexpr size_t kMaxSettings = size_t{1} << 20;

std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json json_of(const Settings& settings) {
  return {{"work_dir", settings.work_dir},
          {"seed", settings.seed},
          {"jobs", settings.jobs},
          {"trials", settings.trials},
          {"sbatch", settings.sbatch}};
}

const char* name_of(End end) {
  return end == End::kComplete ? "complete" : end == End::kStopped ? "stopped" : "failed";
}

search::Point point_of(const Json& json) {
  search::Point point;
  for (const Json& one : json)
    point.push_back(one.is_number() ? one.get<double>() : std::numeric_limits<double>::quiet_NaN());
  return point;
}

}  // namespace

Result<std::unique_ptr<Record>> Record::create(const std::string& directory, const std::string& file_text,
                                               const Settings& settings) {
  if (const Status made = os::make_directories(directory + "/trials", 0700); !made)
    return failure(made.error());
  const std::string path = directory + "/sweep.yaml", settings_path = directory + "/settings.json";
  const auto there = os::read_file(path, search::kMaxSweepBytes);
  const auto settings_there = os::read_file(settings_path, kMaxSettings);
  const auto lines = Journal::read(directory + "/journal.jsonl");
  if (!lines) return failure(lines.error());
  const bool begun = std::any_of(lines->begin(), lines->end(), [](const std::string& line) {
    return line.find("\"event\":\"job\"") != std::string::npos ||
           line.find("\"event\":\"tell\"") != std::string::npos;
  });
  const bool differs =
      there && settings_there && (*there != file_text || *settings_there != dumped(json_of(settings)) + "\n");
  if (differs && begun)
    return failure(
        directory +
            " has another sweep, or the same with other options: go on with it by minke sweep resume " +
            directory + ", or give this one a place of its own: --directory NEW",
        EEXIST);
  if (differs && !lines->empty()) {
    // Nothing of it was ever submitted: its options were wrong, and these may be right.
    const auto lock = os::lock_file(directory + "/lock");
    if (!lock) return failure("another minke sweep steers " + directory);
    if (const Status emptied = os::replace_file(directory + "/journal.jsonl", "", 0600); !emptied)
      return failure(emptied.error());
  }
  if (const Status wrote = os::replace_file(path, file_text, 0600); !wrote) return failure(wrote.error());
  if (const Status wrote = os::replace_file(settings_path, dumped(json_of(settings)) + "\n", 0600); !wrote)
    return failure(wrote.error());
  return open(directory);
}

Result<std::unique_ptr<Record>> Record::open(const std::string& directory) {
  auto record = std::make_unique<Record>();
  record->directory_ = directory;
  if (const Status loaded = record->load(); !loaded) return failure(loaded.error());
  return record;
}

Status Record::load() {
  const auto text = os::read_file(directory_ + "/sweep.yaml", search::kMaxSweepBytes);
  if (!text) return failure(directory_ + " is no sweep: it has no sweep.yaml", text.error().code);
  auto file = search::read_sweep_file(*text);
  if (!file) return failure(directory_ + "/sweep.yaml: " + file.error().message);
  file_ = std::move(*file);
  const auto settings = os::read_file(directory_ + "/settings.json", kMaxSettings);
  const Json json = settings ? Json::parse(*settings, nullptr, false) : Json();
  if (!json.is_object()) return failure(directory_ + "/settings.json cannot be read");
  try {
    settings_.work_dir = json.value("work_dir", "/");
    settings_.seed = json.value("seed", uint64_t{0});
    settings_.jobs = json.value("jobs", uint64_t{1});
    settings_.trials = json.value("trials", uint64_t{0});
    settings_.sbatch = json.value("sbatch", std::vector<std::string>{});
  } catch (const Json::exception&) {
    return failure(directory_ + "/settings.json cannot be read");
  }
  search::Plan plan = file_.plan;
  if (settings_.trials > 0) plan.trials = settings_.trials;
  if (plan.sampler.seed == 0) plan.sampler.seed = settings_.seed;
  search_ = std::make_unique<search::Search>(std::move(plan));
  trials_.clear();
  const auto lines = Journal::read(directory_ + "/journal.jsonl");
  if (!lines) return failure(lines.error());
  for (size_t i = 0; i < lines->size(); ++i) {
    const Status replayed = replay((*lines)[i]);
    if (!replayed)
      return failure(directory_ + "/journal.jsonl, line " + std::to_string(i + 1) + ": " +
                     replayed.error().message);
  }
  return {};
}

Status Record::steer() {
  auto lock = os::lock_file(directory_ + "/lock");
  if (!lock && lock.error().code == EWOULDBLOCK)
    return failure("another minke sweep steers " + directory_ + "; minke sweep status shows it");
  if (!lock) return failure(lock.error());
  lock_ = std::move(*lock);
  // What others wrote before they let go of the lock.
  if (const Status loaded = load(); !loaded) return loaded;
  auto journal = Journal::open(directory_ + "/journal.jsonl");
  if (!journal) return failure(journal.error());
  journal_.emplace(std::move(*journal));
  return {};
}

Status Record::write(const std::string& line) {
  MINKE_CHECK(journal_.has_value());
  if (const Status wrote = journal_->append(line); !wrote) return wrote;
  return replay(line);
}

Status Record::replay(const std::string& line) {
  const Json json = Json::parse(line, nullptr, false);
  const Json trial_number = json.is_object() ? json.value("trial", Json()) : Json();
  const std::string event = json.is_object() && json.contains("event") && json["event"].is_string()
                                ? json["event"].get<std::string>()
                                : "";
  if (event.empty() || !trial_number.is_number_unsigned())
    return failure("it is damaged; restore it from a backup");
  const auto number = trial_number.get<uint64_t>();
  if (event != "ask" && !trials_.contains(number)) return failure("it names a trial that has not begun");
  TrialRecord& trial = trials_[number];
  try {
    if (event == "ask") {
      search::Assignment assignment{number, json.value("budget", uint64_t{0}), point_of(json.at("point")),
                                    std::nullopt};
      if (assignment.point.size() != search_->plan().space.size())
        return failure("its trials have other parameters than sweep.yaml, which was edited");
      if (json.contains("source")) assignment.source = json.at("source").get<uint64_t>();
      trial.source = assignment.source;
      search_->restore(assignment);
      trial.lost_runs = 0;
      if (trial.asked == 0) trial.asked = json.value("time", int64_t{0});
    } else if (event == "run") {
      trial.runs.push_back({json.at("key").get<std::string>(), 0, false});
      trial.source.reset();
    } else if (event == "job") {
      if (trial.runs.empty()) return failure("it names a job of no run");
      trial.runs.back().job = json.at("job").get<uint32_t>();
    } else if (event == "lost") {
      if (!trial.runs.empty()) trial.runs.back().ended = true;
      ++trial.lost_runs;
      trial.reason = json.value("reason", "");
    } else if (event == "stopping") {
      trial.stopping = true;
    } else if (event == "tell") {
      if (!trial.runs.empty()) trial.runs.back().ended = true;
      const std::string end = json.value("end", "failed");
      std::optional<double> value;
      if (json.contains("value") && json["value"].is_number()) value = json["value"].get<double>();
      search_->tell(number,
                    end == "complete"  ? End::kComplete
                    : end == "stopped" ? End::kStopped
                                       : End::kFailed,
                    value);
      trial.reason = json.value("reason", "");
      trial.told = json.value("time", int64_t{0});
    }
  } catch (const Json::exception&) {
    return failure("it is damaged; restore it from a backup");
  }
  return {};
}

Status Record::ask(const search::Assignment& assignment, int64_t now) {
  Json json = {{"event", "ask"}, {"trial", assignment.trial}, {"budget", assignment.budget}, {"time", now}};
  json["point"] = Json::array();
  for (const double one : assignment.point) json["point"].push_back(std::isnan(one) ? Json() : Json(one));
  if (assignment.source) json["source"] = *assignment.source;
  json["parameters"] = Json::parse(search_->plan().space.json(assignment.point), nullptr, false);
  return write(dumped(json));
}

Status Record::begin_run(uint64_t trial, const std::string& key) {
  return write(dumped({{"event", "run"}, {"trial", trial}, {"key", key}}));
}

Status Record::submitted(uint64_t trial, uint32_t job) {
  return write(dumped({{"event", "job"}, {"trial", trial}, {"job", job}}));
}

Status Record::run_lost(uint64_t trial, const std::string& reason) {
  return write(dumped({{"event", "lost"}, {"trial", trial}, {"reason", reason}}));
}

Status Record::stopping(uint64_t trial) {
  return write(dumped({{"event", "stopping"}, {"trial", trial}}));
}

Status Record::tell(uint64_t trial, End end, std::optional<double> value, const std::string& reason,
                    int64_t now) {
  Json json = {{"event", "tell"}, {"trial", trial}, {"end", name_of(end)}, {"time", now}};
  if (value && std::isfinite(*value)) json["value"] = *value;
  if (!reason.empty()) json["reason"] = reason;
  return write(dumped(json));
}

}  // namespace minke::sweep
