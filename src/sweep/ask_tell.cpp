#include "sweep/ask_tell.h"

#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>

#include "os/files.h"
#include "sweep/trial_command.h"

namespace minke::sweep {

namespace {

using Json = nlohmann::ordered_json;
using End = search::Search::End;

constexpr size_t kMostReason = 1000;

Json wrong(const std::string& what) {
  return {{"error", what}};
}

Json shown(const Record& record, const search::Trial& trial) {
  Json json = {{"trial", trial.number}};
  json["parameters"] = Json::parse(trial_json(record.file(), trial.point, trial.budget), nullptr, false);
  if (trial.budget > 0) json["budget"] = trial.budget;
  json["directory"] = record.trial_directory(trial.number);
  return json;
}

// What to train: also the trial whose state it goes on from.
Json assigned(const Record& record, uint64_t number) {
  Json json = shown(record, record.search().trials().at(number));
  if (const auto& source = record.trials().at(number).source) json["source"] = *source;
  return json;
}

// Nothing where others must be told first, or all is done.
Result<std::optional<uint64_t>> begun(Record& record) {
  const auto next = record.search().next();
  if (!next) return std::optional<uint64_t>();
  const Status made = os::make_directories(record.trial_directory(next->trial), 0700);
  if (!made) return failure(made.error());
  if (const Status asked = record.ask(*next, std::time(nullptr)); !asked) return failure(asked.error());
  return std::optional<uint64_t>(next->trial);
}

Json report(Record& record, uint64_t trial, const Json& given) {
  const auto count = given.find("count"), value = given.find("value");
  if (count == given.end() || !count->is_number_unsigned() || value == given.end() || !value->is_number())
    return wrong("report needs count and value");
  record.search().report(trial, count->get<uint64_t>(), value->get<double>(), value->get<double>());
  return Json{{"stop", record.search().should_stop(trial)}};
}

Status tell(Record& record, uint64_t trial, const Json& given) {
  const auto value = given.find("value"), failed = given.find("failed");
  std::optional<double> number;
  if (value != given.end() && value->is_number()) number = value->get<double>();
  const bool stopped = given.contains("stopped") && given["stopped"] == true;
  const bool fails = failed != given.end() || !number || !std::isfinite(*number);
  std::string reason;
  if (fails)
    reason = failed != given.end() && failed->is_string() ? failed->get<std::string>()
                                                          : "its value is no finite number";
  const End end = fails ? End::kFailed : stopped ? End::kStopped : End::kComplete;
  return record.tell(trial, end, number, reason.substr(0, kMostReason), std::time(nullptr));
}

Json best(const Record& record) {
  const search::Trial* found = record.search().best();
  if (found == nullptr) return Json::object();
  Json json = shown(record, *found);
  json["value"] = *found->value;
  return json;
}

std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

AskTell::AskTell(Record& record) : record_(record) {
  for (const auto& [number, trial] : record.search().trials()) {
    if (trial.fate == search::Fate::kRuns) orphans_.insert(number);
  }
}

Result<std::string> AskTell::answer(const std::string& line, Asker asker) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object() || json.size() != 1 || !json.begin().value().is_object())
    return line_of(wrong("a line is one object: {\"ask\": {}}, report, tell or best"));
  const std::string& verb = json.begin().key();
  const Json& given = json.begin().value();
  if (verb == "best") return line_of(best(record_));
  if (verb == "ask") {
    std::optional<uint64_t> number;
    if (!orphans_.empty()) {
      number = *orphans_.begin();
      orphans_.erase(*number);
    } else {
      const auto next = begun(record_);
      if (!next) return failure(next.error());
      number = *next;
    }
    if (!number) return line_of({{record_.search().running() > 0 ? "wait" : "done", true}});
    owners_[*number] = asker;
    return line_of(assigned(record_, *number));
  }
  if (verb != "report" && verb != "tell")
    return line_of(wrong("there is no " + verb.substr(0, 100) + "; there are ask, report, tell, best"));
  const auto trial = given.find("trial");
  if (trial == given.end() || !trial->is_number_unsigned()) return line_of(wrong(verb + " needs a trial"));
  const auto found = record_.search().trials().find(trial->get<uint64_t>());
  if (found == record_.search().trials().end() || found->second.fate != search::Fate::kRuns)
    return line_of(wrong("trial " + trial->dump() + " is not being trained"));
  const uint64_t number = found->first;
  if (verb == "report") return line_of(report(record_, number, given));
  if (const Status told = tell(record_, number, given); !told) return failure(told.error());
  owners_.erase(number);
  orphans_.erase(number);
  return line_of({{"ok", true}});
}

void AskTell::lost(Asker asker) {
  for (auto one = owners_.begin(); one != owners_.end();) {
    if (one->second == asker) orphans_.insert(one->first);
    one = one->second == asker ? owners_.erase(one) : std::next(one);
  }
}

}  // namespace minke::sweep
