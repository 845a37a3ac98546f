#include "store/reader.h"

#include <pthread.h>

namespace minke::store {

Result<std::unique_ptr<Reader>> Reader::start(std::unique_ptr<Connection> connection) {
  if (auto set = connection->execute("PRAGMA cache_size = -1000"); !set) return failure(set.error());
  auto statements = ReportStatements::prepare(*connection);
  if (!statements) return failure(statements.error());
  std::unique_ptr<Reader> reader(new Reader(std::move(connection), std::move(*statements)));
  reader->thread_ = std::thread(&Reader::work, reader.get());
  pthread_setname_np(reader->thread_.native_handle(), "store-reader");
  return reader;
}

Reader::Reader(std::unique_ptr<Connection> connection, ReportStatements statements)
    : connection_(std::move(connection)), statements_(std::move(statements)) {}

Reader::~Reader() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  handed_in_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Reader::query(AccountingQuery query, Chunk chunk) {
  auto running = std::make_unique<Running>(Running{Report(std::move(query)), std::move(chunk)});
  {
    std::lock_guard lock(mutex_);
    running_.push_back(std::move(running));
  }
  handed_in_.notify_one();
}

void Reader::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    handed_in_.wait(lock, [&] { return stop_ || !running_.empty(); });
    if (stop_) break;
    auto running = std::move(running_.front());
    running_.pop_front();
    lock.unlock();
    const bool more = advance(*running);
    if (!more) running.reset();
    lock.lock();
    if (more) running_.push_back(std::move(running));
    if (running_.empty()) connection_->release_memory();
  }
  for (auto& running : running_) running->chunk(failure("the daemon is stopping"));
  running_.clear();
}

bool Reader::advance(Running& running) {
  auto part = running.report.next(statements_);
  if (!part) {
    running.chunk(failure(part.error()));
    return false;
  }
  if (!part->jobs.empty()) running.chunk(std::move(part->jobs));
  if (part->finished) running.chunk(std::vector<AccountedJob>());
  return !part->finished;
}

}  // namespace minke::store
