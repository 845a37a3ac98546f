#include "store/tables.h"

#include <array>

#include "model/step_record.pb.h"
#include "store/schema.h"

namespace minke::store {
namespace {

// In the order of Table.
constexpr std::array<TableInfo, kTableCount> kTables = {{
    {"jobs", "run", true, "job"},
    {"specs", "spec_id", true, "submission"},
    {"steps", "run", true, "step"},
    {"series", "run", true, "series"},
    {"accounts", "name", false, "account"},
    {"users", "name", false, "user"},
    {"assoc", "id", true, "association"},
    {"qos", "id", true, "qos"},
    {"clus", "name", false, "cluster"},
    {"feds", "name", false, "federation"},
    {"lics", "name", false, "resource"},
    {"usage", "id", true, "usage"},
    {"qos_usage", "id", true, "qos_usage"},
    {"since", "id", true, "usage_period"},
    {"nodes", "name", false, "node"},
    {"parts", "name", false, "partition"},
    {"plan", "name", false, "reservation"},
    {"resv", "job_id", true, "reserved_job"},
    {"trig", "id", true, "trigger"},
    {"pro", "job_id", true, "prolog"},
    {"mail", "id", true, "mail"},
    {"quotas", "path", false, "quota"},
    {"held", "job_id", true, "suspended_job"},
    {"machine", "id", true, "machine"},
    {"probe", "id", true, "commit_probe"},
    {"soft", "id", true, "software_request"},
    {"done", "key", false, "answer"},
    {"cron", "uid", true, "crontab"},
    {"ev", "id", false, "node_event"},
    {"tx", "id", true, "transaction"},
}};

std::string step_in_words(int64_t step) {
  const auto number = static_cast<uint32_t>(step);
  switch (step >> 32) {
    case model::STEP_BATCH:
      return "batch";
    case model::STEP_EXTERN:
      return "extern";
    case model::STEP_INTERACTIVE:
      return "interactive";
    default:
      return std::to_string(number);
  }
}

}  // namespace

const TableInfo& info_of(Table table) {
  return kTables.at(static_cast<size_t>(table));
}

std::string key_in_words(const DamagedRow& row) {
  if (const auto* name = std::get_if<std::string>(&row.key)) return *name;
  const int64_t key = std::get<int64_t>(row.key);
  const bool is_of_run =
      row.table == Table::kJobs || row.table == Table::kSteps || row.table == Table::kSeries;
  if (!is_of_run) return std::to_string(key);
  std::string words = std::to_string(run_job_id(key));
  if (row.table == Table::kSteps) words += "." + step_in_words(row.step);
  if (run_restarts(key) > 0) words += " (restart " + std::to_string(run_restarts(key)) + ")";
  return words;
}

std::string in_words(const DamagedRow& row) {
  return std::string(info_of(row.table).one_is) + " " + key_in_words(row);
}

}  // namespace minke::store
