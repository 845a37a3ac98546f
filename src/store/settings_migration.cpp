#include "store/settings_migration.h"

#include <charconv>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "model/cluster.pb.h"
#include "model/lasting_state.pb.h"

namespace minke::store {
namespace {

// Settings whose value is a record already.
struct Kind {
  std::string_view prefix;
  const char* put;
  bool number_keys;
};
constexpr Kind kKinds[] = {
    {"account ", "INSERT OR IGNORE INTO accounts(name, record) VALUES(?1, ?2)", false},
    {"user ", "INSERT OR IGNORE INTO users(name, record) VALUES(?1, ?2)", false},
    {"association ", "INSERT OR IGNORE INTO associations(id, record) VALUES(?1, ?2)", true},
    {"qos ", "INSERT OR IGNORE INTO qos(id, record) VALUES(?1, ?2)", true},
    {"cluster ", "INSERT OR IGNORE INTO clusters(name, record) VALUES(?1, ?2)", false},
    {"federation ", "INSERT OR IGNORE INTO federations(name, record) VALUES(?1, ?2)", false},
    {"resource ", "INSERT OR IGNORE INTO resources(name, record) VALUES(?1, ?2)", false},
    {"usage ", "INSERT OR IGNORE INTO usage(id, record) VALUES(?1, ?2)", true},
    {"qos_usage ", "INSERT OR IGNORE INTO qos_usage(id, record) VALUES(?1, ?2)", true},
    {"node ", "INSERT OR IGNORE INTO nodes(name, record) VALUES(?1, ?2)", false},
    {"partition record ", "INSERT OR IGNORE INTO partitions(name, record) VALUES(?1, ?2)", false},
    {"reservation ", "INSERT OR IGNORE INTO reservations(name, record) VALUES(?1, ?2)", false},
    {"trigger ", "INSERT OR IGNORE INTO triggers(id, record) VALUES(?1, ?2)", true},
    {"prolog ", "INSERT OR IGNORE INTO prologs(job_id, record) VALUES(?1, ?2)", true},
    {"mail ", "INSERT OR IGNORE INTO mail(id, record) VALUES(?1, ?2)", true},
};
constexpr std::string_view kAside = "aside ";
constexpr std::string_view kChoice = "job in reservation ";
constexpr std::string_view kQuota = "quota ";
constexpr std::string_view kPartitionState = "partition ";  // older still: its state alone

std::optional<int64_t> number_in(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

class Mover {
 public:
  explicit Mover(Connection& connection) : connection_(connection) {}

  Status move(std::string_view name, std::string_view value);
  Status finish();  // writes the rows that several settings form

 private:
  Status put(const char* sql, int64_t key, std::string_view record);
  Status put(const char* sql, std::string_view key, std::string_view record);
  Status run(Result<Statement> statement, std::string_view record);
  // Returns whether it was a record of this kind.
  Result<bool> move_record(std::string_view name, std::string_view value);
  Result<bool> move_text(std::string_view name, std::string_view value);
  Result<bool> move_quota(std::string_view path, std::string_view value);
  Result<bool> move_suspended(std::string_view job_ids);
  Status set_aside(std::string_view name, std::string_view value);

  Connection& connection_;
  model::MachineState machine_;
};

Status Mover::run(Result<Statement> statement, std::string_view record) {
  if (!statement) return failure(statement.error());
  statement->bind(2, record);
  return statement->run();
}

Status Mover::put(const char* sql, int64_t key, std::string_view record) {
  auto statement = connection_.prepare(sql);
  if (statement) statement->bind(1, key);
  return run(std::move(statement), record);
}

Status Mover::put(const char* sql, std::string_view key, std::string_view record) {
  auto statement = connection_.prepare(sql);
  if (statement) statement->bind_text(1, key);
  return run(std::move(statement), record);
}

Result<bool> moved(const Status& done) {
  if (!done) return failure(done.error());
  return true;
}

Result<bool> Mover::move_record(std::string_view name, std::string_view value) {
  for (const Kind& kind : kKinds) {
    if (!name.starts_with(kind.prefix)) continue;
    const std::string_view key = name.substr(kind.prefix.size());
    if (!kind.number_keys) return moved(put(kind.put, key, value));
    const auto number = number_in(key);
    if (!number) return false;
    return moved(put(kind.put, *number, value));
  }
  return false;
}

Result<bool> Mover::move_quota(std::string_view path, std::string_view value) {
  std::istringstream fields{std::string(value)};
  uint64_t space = 0, files = 0;
  int64_t time = 0, space_over = 0, files_over = 0;
  if (!(fields >> space >> files >> time >> space_over >> files_over)) return false;
  model::QuotaCount count;
  count.set_path(std::string(path));
  count.set_space(space);
  count.set_files(files);
  count.set_time(time);
  count.set_space_over(space_over);
  count.set_files_over(files_over);
  return moved(
      put("INSERT OR IGNORE INTO quotas(path, record) VALUES(?1, ?2)", path, count.SerializeAsString()));
}

Result<bool> Mover::move_suspended(std::string_view job_ids) {
  std::istringstream words{std::string(job_ids)};
  for (uint32_t id = 0; words >> id;) {
    model::SuspendedJob job;
    job.set_job_id(id);
    if (const Status done = put("INSERT OR IGNORE INTO suspended_jobs(job_id, record) VALUES(?1, ?2)",
                                int64_t{id}, job.SerializeAsString());
        !done)
      return failure(done.error());
  }
  return true;
}

Result<bool> Mover::move_text(std::string_view name, std::string_view value) {
  if (name == "boot_id") {
    machine_.set_boot_id(std::string(value));
  } else if (name == "journal_id") {
    machine_.set_journal_id(std::string(value));
  } else if (name == "suspended_for_others") {
    return move_suspended(value);
  } else if (name == "usage_since") {
    const auto since = number_in(value);
    if (!since) return false;
    model::UsagePeriod period;
    period.set_since(*since);
    return moved(put("INSERT OR IGNORE INTO usage_period(id, record) VALUES(?1, ?2)", int64_t{1},
                     period.SerializeAsString()));
  } else if (name.starts_with(kQuota)) {
    return move_quota(name.substr(kQuota.size()), value);
  } else if (name.starts_with(kChoice)) {
    const auto job_id = number_in(name.substr(kChoice.size()));
    if (!job_id) return false;
    model::ReservedJob choice;
    choice.set_job_id(static_cast<uint32_t>(*job_id));
    choice.set_reservation(std::string(value));
    return moved(put("INSERT OR IGNORE INTO reserved_jobs(job_id, record) VALUES(?1, ?2)", *job_id,
                     choice.SerializeAsString()));
  } else if (name.starts_with(kPartitionState)) {
    model::PartitionRecord partition;
    partition.set_name(std::string(name.substr(kPartitionState.size())));
    partition.set_state(std::string(value));
    return moved(put("INSERT OR IGNORE INTO partitions(name, record) VALUES(?1, ?2)", partition.name(),
                     partition.SerializeAsString()));
  } else {
    return name == "commit_probe";
  }
  return true;
}

Status Mover::set_aside(std::string_view name, std::string_view value) {
  const size_t space = name.find(' ');
  auto statement = connection_.prepare("INSERT INTO set_aside(kind, key, record) VALUES(?1, ?2, ?3)");
  if (!statement) return failure(statement.error());
  statement->bind_text(1, space == std::string_view::npos ? "setting" : name.substr(0, space));
  statement->bind_text(2, space == std::string_view::npos ? name : name.substr(space + 1));
  statement->bind(3, value);
  return statement->run();
}

Status Mover::move(std::string_view name, std::string_view value) {
  if (value.empty()) return {};  // removed, in the form of earlier programs
  if (name.starts_with(kAside)) return set_aside(name.substr(kAside.size()), value);
  for (const auto part : {&Mover::move_record, &Mover::move_text}) {
    const auto done = (this->*part)(name, value);
    if (!done) return failure(done.error());
    if (*done) return {};
  }
  return set_aside(name, value);
}

Status Mover::finish() {
  if (machine_.boot_id().empty() && machine_.journal_id().empty()) return {};
  return put("INSERT OR IGNORE INTO machine(id, record) VALUES(?1, ?2)", int64_t{1},
             machine_.SerializeAsString());
}

}  // namespace

Status move_settings(Connection& connection) {
  Mover mover(connection);
  // "partition record NAME" comes before an older "partition NAME", which holds less.
  auto settings = connection.prepare(
      "SELECT name, value FROM settings ORDER BY name NOT LIKE 'partition record %', name");
  if (!settings) return failure(settings.error());
  while (true) {
    auto row = settings->step();
    if (!row) return failure(row.error());
    if (!*row) return mover.finish();
    if (const Status done = mover.move(settings->bytes(0), settings->bytes(1)); !done) return done;
  }
}

}  // namespace minke::store
