#include "storage/checked_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "storage/tar_archive.h"

namespace minke::storage {

namespace {

constexpr size_t kPieceBytes = 4 << 20;
constexpr size_t kBlock = 4096;         // I/O past the page cache is aligned to it
constexpr size_t kLargePage = 2 << 20;  // few pages to hold while the disk reads or writes
constexpr unsigned kThreads = 3;
constexpr size_t kAhead = 4;  // pieces that wait to be written

}  // namespace

CheckedFile::Memory CheckedFile::new_memory() {
  char* memory = static_cast<char*>(std::aligned_alloc(kLargePage, kPieceBytes + kLargePage));
  (void)::madvise(memory, kPieceBytes, MADV_HUGEPAGE);
  return Memory(memory);
}

CheckedFile::CheckedFile(int file, uint64_t at, std::atomic<uint64_t>* verified)
    : file_(::fcntl(file, F_DUPFD_CLOEXEC, 0)),
      direct_(::open(("/proc/self/fd/" + std::to_string(file)).c_str(), O_RDWR | O_DIRECT | O_CLOEXEC)),
      verified_(verified),
      memory_(new_memory()) {
  // Pieces begin at whole blocks: the bytes before `at` in its block are written once more.
  begin_ = at / kBlock * kBlock;
  const size_t before = at - begin_;
  if (before > 0 &&
      ::pread(file, memory_.get(), before, static_cast<off_t>(begin_)) != static_cast<ssize_t>(before))
    result_ = failure("what was written before cannot be read", EIO);
  filled_ = before;
  for (unsigned i = 0; i < kThreads; ++i) threads_.emplace_back([this] { work(); });
}

CheckedFile::~CheckedFile() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

Status CheckedFile::put(const char* from, size_t size, uint64_t at, bool past_memory) {
  const int file = past_memory && direct_ ? direct_.get() : file_.get();
  for (size_t done = 0; done < size;) {
    const ssize_t count = ::pwrite(file, from + done, size - done, static_cast<off_t>(at + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EINVAL && file == direct_.get()) return put(from, size, at, false);
    if (count <= 0) return failure_from_errno("writing", count == 0 ? ENOSPC : errno);
    done += static_cast<size_t>(count);
    if (file == direct_.get() && done % kBlock != 0) return put(from + done, size - done, at + done, false);
  }
  if (file == file_.get())
    (void)::sync_file_range(file, static_cast<off_t>(at), static_cast<off_t>(size), SYNC_FILE_RANGE_WRITE);
  return {};
}

Status CheckedFile::read_back(const Piece& piece, char* memory) {
  const auto wrong = [] { return failure("the disk does not give back what was written", EIO); };
  // Reading past the page cache also writes what is still in it.
  int file = direct_.get();
  if (!direct_) {
    file = file_.get();
    constexpr unsigned kWritten =
        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
    (void)::sync_file_range(file, static_cast<off_t>(piece.begin), static_cast<off_t>(piece.size), kWritten);
    (void)::posix_fadvise(file, static_cast<off_t>(piece.begin), static_cast<off_t>(piece.size),
                          POSIX_FADV_DONTNEED);
  }
  const size_t wanted = (piece.size + kBlock - 1) / kBlock * kBlock;
  for (size_t have = 0; have < piece.size;) {
    ssize_t got = ::pread(file, memory + have, wanted - have, static_cast<off_t>(piece.begin + have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EINVAL && file != file_.get()) {  // ends within a block
      file = file_.get();
      continue;
    }
    if (got < 0) return failure_from_errno("reading back", errno);
    if (got == 0) return wrong();
    have += static_cast<size_t>(got);
  }
  if (tar_crc(0, memory, piece.size) != piece.crc) return wrong();
  if (verified_ != nullptr) *verified_ += piece.size;
  return {};
}

void CheckedFile::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (over_) return;
    // Writing comes first; a piece some way behind is read back when the disk has time.
    const bool write = !to_write_.empty();
    if (!write && to_read_.empty()) {
      wake_.wait(lock);
      continue;
    }
    Piece piece = std::move(write ? to_write_.front() : to_read_.front());
    (write ? to_write_ : to_read_).pop_front();
    ++(write ? writing_ : reading_);
    Memory memory;
    if (!write) {
      memory = spare_.empty() ? new_memory() : std::move(spare_.back());
      if (!spare_.empty()) spare_.pop_back();
    }
    lock.unlock();
    Status done;
    if (write) {
      piece.crc = tar_crc(0, piece.memory.get(), piece.size);
      done = put(piece.memory.get(), piece.size, piece.begin, piece.size % kBlock == 0);
    } else {
      done = read_back(piece, memory.get());
    }
    lock.lock();
    --(write ? writing_ : reading_);
    if (!done && result_) result_ = done;
    if (write) {
      memory = std::move(piece.memory);
      to_read_.push_back({piece.begin, piece.size, nullptr, piece.crc});
    }
    spare_.push_back(std::move(memory));
    wake_.notify_all();
  }
}

Status CheckedFile::hand_on() {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [this] { return to_write_.size() < kAhead; });
  to_write_.push_back({begin_, filled_, std::move(memory_), 0});
  begin_ += filled_;
  filled_ = 0;
  if (spare_.empty()) {
    memory_ = new_memory();
  } else {
    memory_ = std::move(spare_.back());
    spare_.pop_back();
  }
  wake_.notify_all();
  return result_;
}

Status CheckedFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::string_view some = bytes.substr(0, kPieceBytes - filled_);
    std::memcpy(memory_.get() + filled_, some.data(), some.size());
    filled_ += some.size();
    bytes.remove_prefix(some.size());
    if (filled_ == kPieceBytes)
      if (Status done = hand_on(); !done) return done;
  }
  return {};
}

Status CheckedFile::settle() {
  {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return to_write_.empty() && writing_ == 0; });
    if (!result_) return result_;
  }
  // It stays the beginning of the current piece, which is written as a whole later.
  return put(memory_.get(), filled_, begin_, false);
}

Status CheckedFile::finish() {
  if (filled_ > 0)
    if (Status done = hand_on(); !done) return done;
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [this] { return to_write_.empty() && writing_ == 0; });
  lock.unlock();
  if (::fsync(file_.get()) != 0) return failure_from_errno("writing to the disk", errno);
  lock.lock();
  wake_.wait(lock, [this] { return to_read_.empty() && reading_ == 0; });
  return result_;
}

}  // namespace minke::storage
