// Starts writing to the disk what a long copy has made so far, beside the copy: the sync at its end has less
// to do, and the disk writes while the copy reads. The kernel alone begins half a minute later, or when a
// tenth of the memory waits.
//
// Has one thread while it lives; the owner may be any thread. It guarantees nothing: the final
// sync reports errors.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace minke::storage {

class EarlyWriteback {
 public:
  // `directory` is on the file system to write; `written` counts the bytes so far. Both outlive it.
  EarlyWriteback(int directory, const std::atomic<uint64_t>& written);
  ~EarlyWriteback();  // waits for a sync in progress

 private:
  void work();

  int directory_;
  const std::atomic<uint64_t>& written_;
  std::mutex mutex_;
  std::condition_variable ending_;
  bool end_ = false;
  std::thread thread_;
};

}  // namespace minke::storage
