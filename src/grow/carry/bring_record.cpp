// bring_record(): rows of ended jobs and their steps into slurmdbd's data base, some hundred jobs in a
// transaction. A job that has its row there keeps it, so that a repetition adds what is missing and nothing
// twice. Last, slurmdbd is told to sum up the hours of the past again, for sreport.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <set>

#include "grow/carry/carry.h"
#include "grow/carry/database.h"
#include "grow/carry/parts.h"
#include "grow/carry/record_rows.h"
#include "grow/carry/slurm_numbers.h"
#include "grow/carry/snapshot.h"
#include "model/step_record.pb.h"
#include "os/files.h"
#include "text/number.h"

namespace minke::grow {
namespace {

constexpr int64_t kHour = 3600;
constexpr size_t kMostStatements = size_t{4} << 20;  // bytes in a transaction, about

using Columns = std::set<std::string, std::less<>>;

class RecordCarrier {
 public:
  RecordCarrier(const Database& database, const std::string& cluster, SlurmNumbers numbers)
      : database_(database), cluster_(cluster), numbers_(std::move(numbers)) {}

  Status prepare() {
    for (auto& [name, columns] : {std::pair<const char*, Columns*>{"_job_table", &job_columns_},
                                  std::pair<const char*, Columns*>{"_step_table", &step_columns_}}) {
      const auto rows = database_.ask(
          "SELECT column_name FROM information_schema.columns WHERE table_schema = DATABASE() AND "
          "table_name = " +
          sql_text(cluster_ + name));
      if (!rows) return failure(rows.error());
      for (const auto& row : *rows) columns->insert(row.front());
      if (columns->empty())
        return failure("slurmdbd has no table " + cluster_ + name + ": it does not know the cluster " +
                       cluster_ + " (sacctmgr add cluster " + cluster_ + ")");
    }
    const auto count = row_count();
    if (!count) return failure(count.error());
    before_ = *count;
    return {};
  }

  Status take(const api::AccountedJob& job) {
    const model::JobRecord& record = job.job();
    const bool again = record.job_id() == last_id_;
    last_submitted_ = submission_of(job, again ? last_submitted_ : 0, last_end_);
    last_id_ = record.job_id();
    last_end_ = record.end_time();
    first_start_ = std::min(first_start_, record.start_time() != 0 ? record.start_time() : record.end_time());
    add(job);
    return statements_.size() < kMostStatements ? Status() : flush();
  }
  Status flush() {
    if (statements_.empty()) return {};
    const Status done = database_.change(statements_);
    statements_.clear();
    return done;
  }

  // slurmdbd sums up what it finds behind the hour it last came to, while the cluster was there: for the time
  // of the old machine it gets a registration of that.
  Status sum_up_again(const std::map<std::string, uint64_t>& machine) {
    if (total_ == 0) return {};
    const std::string first = std::to_string(first_start_ - first_start_ % kHour);
    const std::string hours = sql_name(cluster_ + "_last_ran_table"),
                      events = sql_name(cluster_ + "_event_table");
    return database_.change(
        fmt::format("INSERT INTO {0} (hourly_rollup, daily_rollup, monthly_rollup) SELECT {1}, {1}, {1} FROM "
                    "DUAL WHERE NOT "
                    "EXISTS (SELECT 1 FROM {0});\nUPDATE {0} SET hourly_rollup = LEAST(hourly_rollup, {1}), "
                    "daily_rollup = "
                    "LEAST(daily_rollup, {1}), monthly_rollup = LEAST(monthly_rollup, {1});\n"
                    "INSERT INTO {2} (time_start, time_end, node_name, cluster_nodes, reason, state, tres) "
                    "SELECT {1}, e.time_start, "
                    "'', e.cluster_nodes, 'Cluster Registered TRES', 0, {3} FROM {2} e WHERE e.node_name = "
                    "'' AND e.time_start > {1} "
                    "AND NOT EXISTS (SELECT 1 FROM {2} o WHERE o.node_name = '' AND o.time_start <= {1}) "
                    "ORDER BY e.time_start LIMIT 1;\n",
                    hours, first, events, sql_text(tres_numbers(machine, numbers_))));
  }

  Result<Brought> finish() {
    const auto count = row_count();
    if (!count) return failure(count.error());
    Brought brought;
    brought.added = *count - before_;
    brought.there_already = total_ - std::min<uint64_t>(total_, brought.added);
    for (const auto& [name, jobs] : unknown_tres_)
      brought.remarks.push_back(
          fmt::format("{} jobs had {}, which this Slurm does not count: name it in "
                      "AccountingStorageTRES before the record is brought",
                      jobs, name));
    return brought;
  }

 private:
  Result<uint64_t> row_count() const {
    const auto rows = database_.ask("SELECT COUNT(*) FROM " + sql_name(cluster_ + "_job_table"));
    if (!rows) return failure(rows.error());
    return rows->empty() ? 0 : text::parse_unsigned(rows->front().front()).value_or(0);
  }

  static void columns_and_values(const SqlRow& row, const Columns& known, std::string& columns,
                                 std::string& values) {
    for (const auto& [name, value] : row) {
      if (!known.contains(name)) continue;
      columns += (columns.empty() ? "`" : ", `") + name + "`";
      values += (values.empty() ? "" : ", ") + value;
    }
  }

  void add(const api::AccountedJob& job) {
    const model::JobRecord& record = job.job();
    ++total_;
    (void)tres_numbers(tres_names(job), numbers_, &unknown_tres_);
    const std::string table = sql_name(cluster_ + "_job_table");
    std::string columns, values;
    columns_and_values(job_row(job, last_submitted_, numbers_, now_), job_columns_, columns, values);
    statements_ += fmt::format("INSERT INTO {} ({}) VALUES ({}) ON DUPLICATE KEY UPDATE id_job = id_job;\n",
                               table, columns, values);
    if (job.steps().empty()) return;
    statements_ +=
        fmt::format("SET @job = (SELECT job_db_inx FROM {} WHERE id_job = {} AND time_submit = {});\n", table,
                    record.job_id(), last_submitted_);
    for (const model::StepRecord& step : job.steps()) {
      columns = "job_db_inx";
      values = "@job";
      columns_and_values(step_row(step, numbers_), step_columns_, columns, values);
      statements_ +=
          fmt::format("INSERT INTO {} ({}) VALUES ({}) ON DUPLICATE KEY UPDATE id_step = id_step;\n",
                      sql_name(cluster_ + "_step_table"), columns, values);
    }
  }

  const Database& database_;
  std::string cluster_;
  SlurmNumbers numbers_;
  Columns job_columns_, step_columns_;
  std::string statements_;
  std::map<std::string, uint64_t> unknown_tres_;
  uint64_t total_ = 0, before_ = 0;
  uint32_t last_id_ = 0;
  int64_t last_submitted_ = 0, last_end_ = 0;
  int64_t now_ = std::time(nullptr);
  int64_t first_start_ = now_;
};

}  // namespace

Result<Brought> bring_record(const std::string& directory, const NewSlurm& slurm) {
  return bring_record_of(directory, slurm, [](const model::JobRecord&) { return true; });
}

Result<Brought> bring_record_of(const std::string& directory, const NewSlurm& slurm,
                                const std::function<bool(const model::JobRecord& job)>& chosen) {
  const auto snapshot = Snapshot::open(directory);
  if (!snapshot) return failure(snapshot.error());
  const auto database = Database::open(slurm, directory);
  if (!database) return failure(database.error());
  const std::string& cluster = snapshot->cluster().name;
  if (sql_name(cluster).empty()) return failure("'" + cluster + "' is no name of a cluster");
  auto numbers = slurm_numbers(*database, cluster);
  if (!numbers) return failure(numbers.error());
  RecordCarrier carrier(*database, cluster, std::move(*numbers));
  if (const Status prepared = carrier.prepare(); !prepared) return failure(prepared.error());
  const Status taken = snapshot->ended_jobs(
      [&](const api::AccountedJob& job) { return chosen(job.job()) ? carrier.take(job) : Status(); });
  if (!taken) return failure(taken.error());
  if (const Status flushed = carrier.flush(); !flushed) return failure(flushed.error());
  auto brought = carrier.finish();
  const std::string summed = directory + "/record-summed";
  if (!brought || (brought->added == 0 && ::access(summed.c_str(), F_OK) == 0)) return brought;
  if (const Status told = carrier.sum_up_again(snapshot->machine()); !told) return failure(told.error());
  if (const Status noted = os::replace_file(summed, "", 0600); !noted) return failure(noted.error());
  return brought;
}

}  // namespace minke::grow
