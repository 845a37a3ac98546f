// A large file that is written from beginning to end, and read back from the disk while the rest is still
// being written: success means that the disk returns what it was given. Several pieces at a time, past the
// page cache if the file system allows that. For one thread; has threads of its own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "base/result.h"
#include "os/fd.h"

namespace minke::storage {

class CheckedFile {
 public:
  // `file` is open for reading and writing; it is duplicated. The caller has written what is before `at`.
  // `verified`, if not null, counts the bytes that were read back.
  CheckedFile(int file, uint64_t at, std::atomic<uint64_t>* verified);
  ~CheckedFile();

  Status write(std::string_view bytes);
  // Everything is in the file, for any reader; not yet on the disk.
  Status settle();
  // All of it is on the disk, and has been read back. Fails with EIO if it is not what was written.
  Status finish();
  uint64_t size() const { return begin_ + filled_; }  // where the next byte goes

 private:
  struct Freed {
    void operator()(char* memory) const { std::free(memory); }
  };
  using Memory = std::unique_ptr<char, Freed>;
  struct Piece {
    uint64_t begin = 0;
    size_t size = 0;
    Memory memory;  // null: it has been written, and waits to be read back
    uint32_t crc = 0;
  };
  static Memory new_memory();
  void work();
  Status put(const char* from, size_t size, uint64_t at, bool past_memory);
  Status read_back(const Piece& piece, char* memory);
  Status hand_on();

  os::UniqueFd file_, direct_;  // direct_: past the page cache, if that is possible
  std::atomic<uint64_t>* verified_;
  uint64_t begin_ = 0;  // of the piece that is being filled
  size_t filled_ = 0;
  Memory memory_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable wake_;
  std::deque<Piece> to_write_, to_read_;
  std::vector<Memory> spare_;
  unsigned writing_ = 0, reading_ = 0;
  bool over_ = false;
  Status result_;
  std::vector<std::thread> threads_;
};

}  // namespace minke::storage
