// Compressed files that can be read from anywhere: zstd's seekable format. Frames of a fixed size are
// compressed one by one, and a table of their sizes follows in a frame that zstd skips, so `zstd -d` restores
// the content. Frames have zstd's own checksums, so a read notices damage.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/result.h"
#include "storage/checked_file.h"

namespace minke::storage {

inline constexpr size_t kFrameBytes = 1 << 20;  // of content; a read of one byte costs at most this

struct Frame {
  uint64_t place = 0, begin = 0;       // in the file; in the content
  uint32_t compressed = 0, bytes = 0;  // its size there, and here
};

// Finds the frames at the front of a file, up to the byte `end`, by their own headers. Errors: EINVAL.
Result<std::vector<Frame>> walk_frames(int file, uint64_t end);

// Writes one file, behind the frames that are there already. Has threads that compress;
// one thread calls it.
class FrameWriter {
 public:
  FrameWriter(CheckedFile& out, std::vector<Frame> frames, unsigned threads);
  ~FrameWriter();

  Status write(std::string_view content);
  // Ends the frame; everything is in the file then.
  Status flush();
  Status finish();  // and the table

 private:
  struct Work {
    std::unique_ptr<char[]> content, compressed;
    size_t filled = 0, size = 0;  // size: compressed; 0: compression failed
    bool taken = false, done = false;
  };
  std::unique_ptr<Work> new_work();
  void compress();
  Status hand_on();
  Status write_done(bool all);

  CheckedFile& out_;
  std::vector<Frame> frames_;
  uint64_t begin_ = 0;
  std::unique_ptr<Work> filling_;
  std::vector<std::unique_ptr<Work>> spare_;  // memory is used again
  std::mutex mutex_;                          // guards what follows
  std::condition_variable wake_;
  std::deque<std::unique_ptr<Work>> in_order_;
  bool over_ = false;
  std::vector<std::thread> threads_;
  size_t most_waiting_;
};

// Reads such a file. Any thread; each brings a Hand of its own.
class FrameReader {
 public:
  struct Hand {
    size_t frame = SIZE_MAX;
    std::string content, compressed;
  };
  // Fails with EINVAL if it is not such a file, or with errno.
  static Result<FrameReader> open(int file);
  uint64_t size() const { return size_; }  // of the content
  // Returns false if it cannot be read, or is damaged.
  bool read(uint64_t at, char* to, size_t size, Hand& hand) const;

 private:
  int file_ = -1;  // belongs to the caller
  uint64_t size_ = 0;
  std::vector<Frame> frames_;
};

}  // namespace minke::storage
