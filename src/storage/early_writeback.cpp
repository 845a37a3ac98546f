#include "storage/early_writeback.h"

#include <unistd.h>

#include <chrono>
#include <system_error>

namespace minke::storage {

namespace {

constexpr auto kLook = std::chrono::milliseconds(20);
constexpr uint64_t kEnough = 32 << 20;  // bytes, for one sync

}  // namespace

EarlyWriteback::EarlyWriteback(int directory, const std::atomic<uint64_t>& written)
    : directory_(directory), written_(written) {
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error&) {
    // The sync at the end writes all of it then.
  }
}

EarlyWriteback::~EarlyWriteback() {
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  ending_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void EarlyWriteback::work() {
  uint64_t synced = written_;
  std::unique_lock lock(mutex_);
  while (!ending_.wait_for(lock, kLook, [this] { return end_; })) {
    const uint64_t now = written_;
    if (now - synced < kEnough) continue;
    lock.unlock();
    (void)::syncfs(directory_);
    synced = now;
    lock.lock();
  }
}

}  // namespace minke::storage
