#include "portal/workers.h"

#include <utility>

#include "engine/engine.h"
#include "engine/open.h"

namespace minke::portal {
namespace {

constexpr size_t kMostWaiting = 256;

}  // namespace

OwnEngine::OwnEngine() = default;
OwnEngine::~OwnEngine() = default;

Result<engine::Engine*> OwnEngine::get() {
  if (engine_ == nullptr) {
    auto opened = engine::open();
    if (!opened) return failure(opened.error());
    engine_ = std::move(*opened);
  }
  return engine_.get();
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool Workers::add(Work work) {
  const std::lock_guard lock(mutex_);
  if (waiting_.size() >= kMostWaiting) return false;
  waiting_.push_back(std::move(work));
  if (waiting_.size() > idle_ && threads_.size() < most_) threads_.emplace_back([this] { serve(); });
  wake_.notify_one();
  return true;
}

void Workers::serve() {
  OwnEngine own;
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    wake_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
    --idle_;
    if (ends_) return;
    const Work work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    work(opens_cluster_ ? own.get() : failure("this thread has no cluster"));
    lock.lock();
  }
}

}  // namespace minke::portal
