// The schema is that of Optuna's RDB storage, version 12 (alembic v3.2.0.a), which Optuna 3.2 to 5 use.
#include "sweep/optuna.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>

#include "store/sqlite.h"

namespace minke::sweep {

namespace {

using Json = nlohmann::ordered_json;

constexpr char kSchema[] = R"(
CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num));
INSERT INTO alembic_version VALUES('v3.2.0.a');
CREATE TABLE studies (study_id INTEGER NOT NULL, study_name VARCHAR(512) NOT NULL, PRIMARY KEY (study_id));
CREATE UNIQUE INDEX ix_studies_study_name ON studies (study_name);
CREATE TABLE study_directions (study_direction_id INTEGER NOT NULL, direction VARCHAR(8) NOT NULL, study_id INTEGER NOT NULL,
  objective INTEGER NOT NULL, PRIMARY KEY (study_direction_id), UNIQUE (study_id, objective),
  FOREIGN KEY(study_id) REFERENCES studies (study_id));
CREATE TABLE study_system_attributes (study_system_attribute_id INTEGER NOT NULL, study_id INTEGER, "key" VARCHAR(512),
  value_json TEXT, PRIMARY KEY (study_system_attribute_id), UNIQUE (study_id, "key"),
  FOREIGN KEY(study_id) REFERENCES studies (study_id));
CREATE TABLE study_user_attributes (study_user_attribute_id INTEGER NOT NULL, study_id INTEGER, "key" VARCHAR(512),
  value_json TEXT, PRIMARY KEY (study_user_attribute_id), UNIQUE (study_id, "key"),
  FOREIGN KEY(study_id) REFERENCES studies (study_id));
CREATE TABLE trials (trial_id INTEGER NOT NULL, number INTEGER, study_id INTEGER, state VARCHAR(8) NOT NULL,
  datetime_start DATETIME, datetime_complete DATETIME, PRIMARY KEY (trial_id),
  FOREIGN KEY(study_id) REFERENCES studies (study_id));
CREATE INDEX trials_study_id_key ON trials (study_id);
CREATE TABLE trial_heartbeats (trial_heartbeat_id INTEGER NOT NULL, trial_id INTEGER NOT NULL, heartbeat DATETIME NOT NULL,
  PRIMARY KEY (trial_heartbeat_id), UNIQUE (trial_id), FOREIGN KEY(trial_id) REFERENCES trials (trial_id));
CREATE TABLE trial_intermediate_values (trial_intermediate_value_id INTEGER NOT NULL, trial_id INTEGER NOT NULL,
  step INTEGER NOT NULL, intermediate_value FLOAT, intermediate_value_type VARCHAR(7) NOT NULL,
  PRIMARY KEY (trial_intermediate_value_id), UNIQUE (trial_id, step), FOREIGN KEY(trial_id) REFERENCES trials (trial_id));
CREATE TABLE trial_params (param_id INTEGER NOT NULL, trial_id INTEGER, param_name VARCHAR(512), param_value FLOAT,
  distribution_json TEXT, PRIMARY KEY (param_id), UNIQUE (trial_id, param_name),
  FOREIGN KEY(trial_id) REFERENCES trials (trial_id));
CREATE TABLE trial_system_attributes (trial_system_attribute_id INTEGER NOT NULL, trial_id INTEGER, "key" VARCHAR(512),
  value_json TEXT, PRIMARY KEY (trial_system_attribute_id), UNIQUE (trial_id, "key"),
  FOREIGN KEY(trial_id) REFERENCES trials (trial_id));
CREATE TABLE trial_user_attributes (trial_user_attribute_id INTEGER NOT NULL, trial_id INTEGER, "key" VARCHAR(512),
  value_json TEXT, PRIMARY KEY (trial_user_attribute_id), UNIQUE (trial_id, "key"),
  FOREIGN KEY(trial_id) REFERENCES trials (trial_id));
CREATE TABLE trial_values (trial_value_id INTEGER NOT NULL, trial_id INTEGER NOT NULL, objective INTEGER NOT NULL,
  value FLOAT, value_type VARCHAR(7) NOT NULL, PRIMARY KEY (trial_value_id), UNIQUE (trial_id, objective),
  FOREIGN KEY(trial_id) REFERENCES trials (trial_id));
CREATE TABLE version_info (version_info_id INTEGER NOT NULL, schema_version INTEGER, library_version VARCHAR(256),
  PRIMARY KEY (version_info_id), CHECK (version_info_id=1));
INSERT INTO version_info VALUES(1, 12, '3.6.0');
)";

// What Optuna calls a distribution: of numbers as values, of categories as indices of choices, which are no
// lists.
struct Described {
  std::string distribution;
  double value = 0;
};

Json choice_of(const search::Value& value) {
  if (const auto* compound = std::get_if<search::Compound>(&value)) return compound->json;  // as a text
  return Json::parse(search::json_of(value), nullptr, false);
}

Described described(const search::Space& space, size_t parameter, double coordinate) {
  const search::Parameter& one = space.parameters()[parameter];
  if (one.is_category()) {
    Json choices = Json::array();
    for (const search::Value& value : one.values) choices.push_back(choice_of(value));
    return {Json{{"name", "CategoricalDistribution"}, {"attributes", {{"choices", choices}}}}.dump(),
            coordinate};
  }
  const search::Value value = space.value(parameter, coordinate);
  const auto* whole = std::get_if<int64_t>(&value);
  const double number = whole != nullptr ? static_cast<double>(*whole) : std::get<double>(value);
  const bool bounded = one.distribution == search::Distribution::kUniform ||
                       one.distribution == search::Distribution::kIntUniform ||
                       one.distribution == search::Distribution::kLogUniform;
  // Of a normal one, what all but a millionth of the values are within.
  const auto end = [&](double share) {
    const search::Value at = space.value(parameter, share);
    return std::holds_alternative<int64_t>(at) ? static_cast<double>(std::get<int64_t>(at))
                                               : std::get<double>(at);
  };
  double low = bounded && one.step == 0 ? one.low : std::min(number, end(1e-6));
  double high = bounded && one.step == 0 ? one.high : std::max(number, end(1 - 1e-6));
  const bool log = one.distribution == search::Distribution::kLogUniform && one.step == 0 && low > 0;
  Json attributes;
  if (one.whole) {
    attributes = {{"log", log}, {"step", 1}, {"low", std::llround(low)}, {"high", std::llround(high)}};
    return {Json{{"name", "IntDistribution"}, {"attributes", attributes}}.dump(), number};
  }
  attributes = {{"step", nullptr}, {"low", low}, {"high", high}, {"log", log}};
  return {Json{{"name", "FloatDistribution"}, {"attributes", attributes}}.dump(), number};
}

std::string time_text(int64_t seconds) {
  const auto time = static_cast<time_t>(seconds);
  struct tm local {};
  ::localtime_r(&time, &local);
  char text[64];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S.000000", &local);
  return text;
}

class Writer {
 public:
  explicit Writer(store::Connection& database) : database_(database) {}

  // Values stand in the order of the question marks; numbers as their shortest exact text, which SQLite makes
  // numbers again.
  Status insert(const std::string& sql, const std::vector<std::string>& values) {
    auto statement = database_.prepare(sql);
    if (!statement) return failure(statement.error());
    for (size_t i = 0; i < values.size(); ++i) statement->bind_text(static_cast<int>(i + 1), values[i]);
    return statement->run();
  }

  Status trial(const Record& record, const search::Trial& trial) {
    const TrialRecord& more = record.trials().at(trial.number);
    const std::string id = std::to_string(trial.number);
    // Optuna has no trials that pause: such a one was stopped early, as far as is known.
    const bool early = trial.fate == search::Fate::kStopped || trial.fate == search::Fate::kPaused;
    const char* state = trial.fate == search::Fate::kRuns                     ? "RUNNING"
                        : !trial.value || trial.fate == search::Fate::kFailed ? "FAIL"
                        : early                                               ? "PRUNED"
                                                                              : "COMPLETE";
    const bool over = std::string_view(state) != "RUNNING";
    Status wrote =
        insert("INSERT INTO trials VALUES (CAST(? AS INTEGER), CAST(? AS INTEGER), 1, ?, ?, NULLIF(?, ''))",
               {id, std::to_string(trial.number - 1), state, time_text(more.asked),
                over ? time_text(more.told) : ""});
    // What Optuna takes for failed has no value there.
    if (wrote && trial.value && over && trial.fate != search::Fate::kFailed)
      wrote = insert(
          "INSERT INTO trial_values(trial_id, objective, value, value_type) VALUES (CAST(? AS INTEGER), 0, "
          "CAST(? AS REAL), 'FINITE')",
          {id, search::json_of(*trial.value)});
    for (const auto& [budget, value] : trial.at_budget) {
      if (wrote && budget > 0)
        wrote = insert(
            "INSERT INTO trial_intermediate_values(trial_id, step, intermediate_value, "
            "intermediate_value_type) "
            "VALUES (CAST(? AS INTEGER), CAST(? AS INTEGER), CAST(? AS REAL), 'FINITE')",
            {id, std::to_string(budget), search::json_of(value)});
    }
    const search::Space& space = record.search().plan().space;
    for (size_t i = 0; i < space.size() && wrote; ++i) {
      if (std::isnan(trial.point[i])) continue;
      const Described one = described(space, i, trial.point[i]);
      wrote = insert(
          "INSERT INTO trial_params(trial_id, param_name, param_value, distribution_json) "
          "VALUES (CAST(? AS INTEGER), ?, CAST(? AS REAL), ?)",
          {id, space.parameters()[i].name, search::json_of(one.value), one.distribution});
    }
    return wrote;
  }

 private:
  store::Connection& database_;
};

Status write_study(const Record& record, const std::string& path, const std::string& study) {
  auto database = store::Connection::open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "");
  if (!database) return failure(database.error());
  Status wrote = (*database)->execute("BEGIN");
  if (wrote) wrote = (*database)->execute(kSchema);
  Writer writer(**database);
  if (wrote) wrote = writer.insert("INSERT INTO studies VALUES (1, ?)", {study});
  if (wrote)
    wrote = writer.insert("INSERT INTO study_directions VALUES (1, ?, 1, 0)",
                          {record.search().plan().goal == search::Goal::kMinimize ? "MINIMIZE" : "MAXIMIZE"});
  for (const auto& [number, trial] : record.search().trials()) {
    if (wrote) wrote = writer.trial(record, trial);
  }
  if (wrote) wrote = (*database)->execute("COMMIT");
  return wrote;
}

}  // namespace

Status export_optuna(const Record& record, const std::string& path, const std::string& study) {
  if (::access(path.c_str(), F_OK) == 0)
    return failure(path + " is there already: name another file", EEXIST);
  const std::string unfinished = path + ".unfinished";
  ::unlink(unfinished.c_str());
  Status wrote = write_study(record, unfinished, study);
  if (wrote && ::rename(unfinished.c_str(), path.c_str()) != 0) wrote = failure_from_errno(path, errno);
  if (!wrote) ::unlink(unfinished.c_str());
  return wrote;
}

}  // namespace minke::sweep
