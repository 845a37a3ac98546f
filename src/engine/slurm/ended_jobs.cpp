#include "engine/slurm/ended_jobs.h"

#include <sqlite3.h>

#include <string_view>

#include "model/job_record.pb.h"
#include "os/files.h"

namespace minke::engine::slurm {
namespace {

constexpr char kTable[] =
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA auto_vacuum = INCREMENTAL;"
    "CREATE TABLE IF NOT EXISTS ended (job INTEGER, node TEXT, time INTEGER, measured BLOB, "
    "PRIMARY KEY (job, node)) WITHOUT ROWID;"
    "CREATE INDEX IF NOT EXISTS ended_by_time ON ended (time)";
constexpr int64_t kDroppedAtOnce = 500;

}  // namespace

Result<std::unique_ptr<EndedJobs>> EndedJobs::open(const std::string& directory, uint64_t most_bytes) {
  if (const Status made = os::make_directories(directory, 0700); !made) return failure(made.error());
  auto connection =
      store::Connection::open(directory + "/ended.db", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "");
  if (!connection) return failure(connection.error());
  std::unique_ptr<EndedJobs> jobs(new EndedJobs(std::move(*connection), most_bytes));
  if (const Status good = jobs->prepare(); !good) return failure(good.error());
  return jobs;
}

Status EndedJobs::prepare() {
  if (const Status made = connection_->execute(kTable); !made) return made;
  auto put = connection_->prepare("INSERT OR REPLACE INTO ended VALUES (?, ?, ?, ?)");
  if (!put) return failure(put.error());
  put_ = std::move(*put);
  auto get = connection_->prepare("SELECT node, measured FROM ended WHERE job = ? ORDER BY node");
  if (!get) return failure(get.error());
  get_ = std::move(*get);
  return {};
}

Status EndedJobs::keep_rows(const std::string& node, const api::MeasurementsReply& jobs) {
  for (const api::JobMeasurement& job : jobs.jobs()) {
    const std::string bytes = job.SerializeAsString();
    put_.bind(1, int64_t{job.job().job_id()});
    put_.bind_text(2, node);
    put_.bind(3, job.now().time());
    put_.bind(4, bytes);
    if (const Status done = put_.run(); !done) return done;
  }
  return drop_oldest();
}

Status EndedJobs::drop_oldest() {
  for (;;) {
    const auto bytes = connection_->integer("SELECT ifnull(sum(length(measured)), 0) FROM ended");
    if (!bytes) return failure(bytes.error());
    if (static_cast<uint64_t>(*bytes) <= most_bytes_) return {};
    const Status dropped = connection_->execute(
        "DELETE FROM ended WHERE (job, node) IN (SELECT job, node FROM ended ORDER BY time LIMIT " +
        std::to_string(kDroppedAtOnce) + ")");
    if (!dropped) return dropped;
  }
}

Status EndedJobs::keep(const std::string& node, const api::MeasurementsReply& jobs) {
  if (jobs.jobs().empty()) return {};
  const std::lock_guard<std::mutex> guard(lock_);
  if (const Status begun = connection_->execute("BEGIN"); !begun) return begun;
  const Status kept = keep_rows(node, jobs);
  const Status ended = connection_->execute(kept ? "COMMIT" : "ROLLBACK");
  return kept ? ended : kept;
}

Result<std::vector<api::JobMeasurement>> EndedJobs::of(uint32_t job_id) {
  std::vector<api::JobMeasurement> found;
  const std::lock_guard<std::mutex> guard(lock_);
  get_.bind(1, int64_t{job_id});
  for (;;) {
    const auto row = get_.step();
    if (!row) return failure(row.error());
    if (!*row) return found;
    api::JobMeasurement one;
    const std::string_view bytes = get_.bytes(1);
    if (!one.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) continue;
    one.mutable_job()->set_node_list(std::string(get_.bytes(0)));
    found.push_back(std::move(one));
  }
}

}  // namespace minke::engine::slurm
