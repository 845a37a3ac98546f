#include "store/reader.h"
#include "store/job_row.h"

#include <pthread.h>

#include <utility>

namespace minke::store {

struct Reader::Running {
  Report report;
  Store::OnChunk chunk;
  uint32_t asker;
  bool rests;  // after each chunk, until the next is requested
  // Guarded by the mutex.
  bool resting = false;
  bool wanted = false;  // the next chunk is requested before this one is there
  bool dropped = false;
};

// The state that the owner's thread and this one share.
struct Reader::Shared {
  std::mutex mutex;
  std::condition_variable handed_in;
  bool stop = false;
  // By asker, in the order of their turns; neither the one whose turn it is nor those that rest
  // are in any of them.
  std::map<uint32_t, std::deque<std::shared_ptr<Running>>> waiting;
  uint32_t last_asker = 0;

  void add(std::shared_ptr<Running> running) { waiting[running->asker].push_back(std::move(running)); }
  std::shared_ptr<Running> take() {
    auto next = waiting.upper_bound(last_asker);
    if (next == waiting.end()) next = waiting.begin();
    last_asker = next->first;
    auto running = std::move(next->second.front());
    next->second.pop_front();
    if (next->second.empty()) waiting.erase(next);
    return running;
  }
};

class Reader::Rest final : public Store::Reading {
 public:
  Rest(std::shared_ptr<Shared> shared, std::shared_ptr<Running> running)
      : shared_(std::move(shared)), running_(std::move(running)) {}
  ~Rest() override {
    const std::lock_guard lock(shared_->mutex);
    running_->dropped = true;
  }
  void next() override {
    const std::lock_guard lock(shared_->mutex);
    if (!std::exchange(running_->resting, false)) {
      running_->wanted = true;
    } else if (!shared_->stop) {
      shared_->add(running_);
      shared_->handed_in.notify_one();
    }
  }

 private:
  std::shared_ptr<Shared> shared_;
  std::shared_ptr<Running> running_;
};

Result<std::unique_ptr<Reader>> Reader::start(std::unique_ptr<Connection> connection, OnDamaged on_damaged) {
  if (auto set = connection->execute("PRAGMA cache_size = -1000"); !set) return failure(set.error());
  auto statements = ReportStatements::prepare(*connection);
  if (!statements) return failure(statements.error());
  std::unique_ptr<Reader> reader(
      new Reader(std::move(connection), std::move(*statements), std::move(on_damaged)));
  reader->thread_ = std::thread(&Reader::work, reader.get());
  pthread_setname_np(reader->thread_.native_handle(), "store-reader");
  return reader;
}

Reader::Reader(std::unique_ptr<Connection> connection, ReportStatements statements, OnDamaged on_damaged)
    : connection_(std::move(connection)),
      statements_(std::move(statements)),
      on_damaged_(std::move(on_damaged)),
      shared_(std::make_shared<Shared>()) {}

Reader::~Reader() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->stop = true;
  }
  shared_->handed_in.notify_one();
  if (thread_.joinable()) thread_.join();
}

std::shared_ptr<Reader::Running> Reader::begin(AccountingQuery query, Store::OnChunk chunk, bool rests) {
  const uint32_t asker = query.asker;
  auto running = std::make_shared<Running>(Running{Report(std::move(query)), std::move(chunk), asker, rests});
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->add(running);
  }
  shared_->handed_in.notify_one();
  return running;
}

void Reader::query(AccountingQuery query, Store::OnChunk chunk) {
  begin(std::move(query), std::move(chunk), false);
}

std::unique_ptr<Store::Reading> Reader::read(AccountingQuery query, Store::OnChunk chunk) {
  return std::make_unique<Rest>(shared_, begin(std::move(query), std::move(chunk), true));
}

void Reader::work() {
  std::unique_lock lock(shared_->mutex);
  while (true) {
    shared_->handed_in.wait(lock, [&] { return shared_->stop || !shared_->waiting.empty(); });
    if (shared_->stop) break;
    auto running = shared_->take();
    if (running->dropped) continue;
    lock.unlock();
    const Outcome outcome = advance(*running);
    lock.lock();
    const bool rests = running->rests && outcome == Outcome::kChunk && !std::exchange(running->wanted, false);
    if (rests) {
      running->resting = true;
    } else if (outcome != Outcome::kEnded) {
      shared_->add(std::move(running));
    }
    if (shared_->waiting.empty()) connection_->release_memory();
  }
  for (auto& [asker, waiting] : shared_->waiting)
    for (auto& running : waiting) running->chunk(failure("the daemon is stopping"));
  shared_->waiting.clear();
}

Reader::Outcome Reader::advance(Running& running) {
  auto part = running.report.next(statements_);
  if (!part) {
    running.chunk(failure(part.error()));
    return Outcome::kEnded;
  }
  if (!part->damaged.empty()) on_damaged_(std::move(part->damaged));
  const bool any = !part->jobs.empty();
  if (any) running.chunk(std::move(part->jobs));
  if (part->finished) running.chunk(std::vector<AccountedJob>());
  return part->finished ? Outcome::kEnded : any ? Outcome::kChunk : Outcome::kNothingYet;
}

}  // namespace minke::store
