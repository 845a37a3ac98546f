#include "store/writer.h"
#include "store/job_row.h"

#include <pthread.h>

namespace minke::store {
namespace {

// Bounds the time that a commit may wait for the group before it, and the size of the log.
constexpr size_t kRowsPerGroup = 20'000;

}  // namespace

Result<std::unique_ptr<Writer>> Writer::start(std::unique_ptr<Connection> connection, int checkpoint_pages) {
  // The log file is written over from its start after a checkpoint and keeps its blocks, up to this size.
  auto set = connection->execute(
      "PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = 16777216; PRAGMA cache_size = -2000");
  if (!set) return failure(set.error());
  auto rows = RowWriter::prepare(*connection);
  if (!rows) return failure(rows.error());
  auto retention = Retention::prepare(*connection);
  if (!retention) return failure(retention.error());
  auto begin = connection->prepare("BEGIN IMMEDIATE");
  auto commit = connection->prepare("COMMIT");
  auto rollback = connection->prepare("ROLLBACK");
  if (!begin || !commit || !rollback) return connection->error(SQLITE_ERROR);

  std::unique_ptr<Writer> writer(
      new Writer(std::move(connection), std::move(*rows), std::move(*retention), checkpoint_pages));
  writer->begin_ = std::move(*begin);
  writer->commit_ = std::move(*commit);
  writer->rollback_ = std::move(*rollback);
  sqlite3_wal_hook(
      writer->connection_->handle(),
      [](void* self, sqlite3*, const char*, int pages) {
        static_cast<Writer*>(self)->log_pages_ = pages;
        return SQLITE_OK;
      },
      writer.get());
  writer->thread_ = std::thread(&Writer::work, writer.get());
  pthread_setname_np(writer->thread_.native_handle(), "store-writer");
  return writer;
}

Writer::Writer(std::unique_ptr<Connection> connection, RowWriter rows, Retention retention,
               int checkpoint_pages)
    : connection_(std::move(connection)),
      rows_(std::move(rows)),
      retention_(std::move(retention)),
      checkpoint_pages_(checkpoint_pages) {}

Writer::~Writer() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  handed_in_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Writer::commit(Batch batch, std::function<void(Status)> done) {
  for (JobRow& row : batch.jobs) row.record.clear_spec();
  {
    std::lock_guard lock(mutex_);
    waiting_.push_back({std::move(batch), std::move(done)});
  }
  handed_in_.notify_one();
}

void Writer::forget(int64_t ended_before, Retention::Done done) {
  {
    std::lock_guard lock(mutex_);
    to_forget_.emplace_back(ended_before, std::move(done));
  }
  handed_in_.notify_one();
}

std::vector<PendingCommit> Writer::take_group() {
  std::vector<PendingCommit> group;
  std::unique_lock lock(mutex_);
  handed_in_.wait(lock,
                  [&] { return stop_ || !waiting_.empty() || retention_.busy() || !to_forget_.empty(); });
  size_t rows = 0;
  while (!waiting_.empty() && (group.empty() || rows + row_count(waiting_.front().batch) <= kRowsPerGroup)) {
    rows += row_count(waiting_.front().batch);
    group.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  return group;
}

void Writer::work() {
  while (more_to_do()) {
    auto group = take_group();
    if (!group.empty()) {
      const Status outcome = write(group);
      for (auto& commit : group) {
        if (commit.done) commit.done(outcome);
      }
      group.clear();
      checkpoint_if_due();
    }
    forget_a_slice();
  }
  retention_.settled(failure("the store is being closed"));
}

bool Writer::more_to_do() {
  std::lock_guard lock(mutex_);
  return !stop_ || !waiting_.empty();
}

void Writer::forget_a_slice() {
  if (!retention_.busy()) {
    std::lock_guard lock(mutex_);
    if (to_forget_.empty()) return;
    auto [ended_before, done] = std::move(to_forget_.front());
    to_forget_.pop_front();
    retention_.begin(ended_before, std::move(done));
  }
  Status outcome = begin_.run();
  if (outcome) outcome = retention_.advance();
  if (outcome) outcome = commit_.run();
  if (!outcome && connection_->in_transaction()) (void)rollback_.run();
  retention_.settled(outcome);
  checkpoint_if_due();
}

Status Writer::write(const std::vector<PendingCommit>& commits) {
  if (std::all_of(commits.begin(), commits.end(), [](const auto& commit) { return commit.batch.empty(); })) {
    return {};
  }
  if (auto begun = begin_.run(); !begun) return begun;
  Status written = write_rows(commits);
  if (written) written = commit_.run();
  // SQLite rolls back by itself after some errors only.
  if (!written && connection_->in_transaction()) (void)rollback_.run();
  return written;
}

Status Writer::write_rows(const std::vector<PendingCommit>& commits) {
  const Group group = merge(commits);
  Status status;
  for (const auto* row : group.set_aside) {
    if (status = rows_.set_aside(*row); !status) return status;
  }
  for (const auto* row : group.contents) {
    if (status = rows_.put_content(row->first, row->second); !status) return status;
    retention_.stored(row->first);
  }
  for (const auto* row : group.specs) {
    if (status = rows_.put(*row); !status) return status;
  }
  for (const auto* row : group.jobs) {
    if (status = rows_.put(*row); !status) return status;
  }
  for (const auto* row : group.steps) {
    if (status = rows_.put(*row); !status) return status;
  }
  for (const auto* row : group.submissions) {
    if (status = rows_.put_submission(row->first, row->second); !status) return status;
  }
  for (const auto* row : group.series) {
    if (status = rows_.put(*row); !status) return status;
  }
  for (const auto* row : group.rows) {
    if (status = rows_.put(*row); !status) return status;
  }
  return status;
}

void Writer::checkpoint_if_due() {
  if (log_pages_ < checkpoint_pages_) return;
  // An error (disk full, a reader in the way) harms nothing: the log keeps everything, and the next
  // commit tries this again.
  sqlite3_wal_checkpoint_v2(connection_->handle(), "main", SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
}

}  // namespace minke::store
