#include "storage/zstd_frames.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "os/read_at.h"

namespace minke::storage {

namespace {

constexpr int kLevel = 1;
constexpr uint32_t kSkippableMagic = 0x184D2A5E, kTableMagic = 0x8F92EAB1;
constexpr size_t kTableFooter = 9, kTableEntry = 8, kSkippableHeader = 8;
constexpr uint8_t kChecksums = 0x80, kReserved = 0x7C;  // of the table's descriptor

void put_little(std::string& out, uint32_t number) {
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<char>(number >> (8 * i)));
}
uint32_t take_little(const char* at) {
  uint32_t number = 0;
  for (int i = 3; i >= 0; --i) number = number << 8 | static_cast<unsigned char>(at[i]);
  return number;
}

}  // namespace

Result<std::vector<Frame>> walk_frames(int file, uint64_t end) {
  std::vector<Frame> frames;
  if (end == 0) return frames;
  void* mapped = ::mmap(nullptr, end, PROT_READ, MAP_PRIVATE, file, 0);
  if (mapped == MAP_FAILED) return failure_from_errno("frames", errno);
  const char* content = static_cast<const char*>(mapped);
  uint64_t place = 0, begin = 0;
  while (place < end) {
    const size_t size = ::ZSTD_findFrameCompressedSize(content + place, end - place);
    const unsigned long long bytes = ::ZSTD_getFrameContentSize(content + place, end - place);
    if (::ZSTD_isError(size) != 0 || bytes > kFrameBytes) break;
    frames.push_back({place, begin, static_cast<uint32_t>(size), static_cast<uint32_t>(bytes)});
    place += size;
    begin += bytes;
  }
  ::munmap(mapped, end);
  if (place != end) return failure("frames: damaged", EINVAL);
  return frames;
}

FrameWriter::FrameWriter(CheckedFile& out, std::vector<Frame> frames, unsigned threads)
    : out_(out), frames_(std::move(frames)), most_waiting_(threads * 8) {
  if (!frames_.empty()) {
    begin_ = frames_.back().begin + frames_.back().bytes;
  }
  for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { compress(); });
}

FrameWriter::~FrameWriter() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

std::unique_ptr<FrameWriter::Work> FrameWriter::new_work() {
  if (!spare_.empty()) {
    std::unique_ptr<Work> work = std::move(spare_.back());
    spare_.pop_back();
    work->filled = work->size = 0;
    work->taken = work->done = false;
    return work;
  }
  auto work = std::make_unique<Work>();
  work->content.reset(new char[kFrameBytes]);
  work->compressed.reset(new char[::ZSTD_compressBound(kFrameBytes)]);
  return work;
}

void FrameWriter::compress() {
  ZSTD_CCtx* context = ::ZSTD_createCCtx();
  ZSTD_DCtx* back = ::ZSTD_createDCtx();
  const std::unique_ptr<char[]> again(new char[kFrameBytes]);
  ::ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, kLevel);
  ::ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto next = std::find_if(in_order_.begin(), in_order_.end(),
                                   [](const std::unique_ptr<Work>& work) { return !work->taken; });
    if (next == in_order_.end()) {
      if (over_) break;
      wake_.wait(lock);
      continue;
    }
    Work& work = **next;  // stays until it is done
    work.taken = true;
    lock.unlock();
    const size_t size = ::ZSTD_compress2(context, work.compressed.get(), ::ZSTD_compressBound(kFrameBytes),
                                         work.content.get(), work.filled);
    // Unpacks it and compares the content with the checksum of the input.
    const bool same =
        ::ZSTD_isError(size) == 0 &&
        ::ZSTD_decompressDCtx(back, again.get(), kFrameBytes, work.compressed.get(), size) == work.filled;
    work.size = same ? size : 0;
    lock.lock();
    work.done = true;
    wake_.notify_all();
  }
  ::ZSTD_freeCCtx(context);
  ::ZSTD_freeDCtx(back);
}

// Writes finished frames, in order; `all` also waits for the rest.
Status FrameWriter::write_done(bool all) {
  std::unique_lock lock(mutex_);
  while (!in_order_.empty()) {
    if (!in_order_.front()->done) {
      if (!all && in_order_.size() < most_waiting_) break;
      wake_.wait(lock, [&] { return in_order_.front()->done; });
    }
    std::unique_ptr<Work> work = std::move(in_order_.front());
    in_order_.pop_front();
    lock.unlock();
    if (work->size == 0) return failure("zstd: it cannot be compressed", EIO);
    frames_.push_back(
        {out_.size(), begin_, static_cast<uint32_t>(work->size), static_cast<uint32_t>(work->filled)});
    begin_ += work->filled;
    if (Status done = out_.write({work->compressed.get(), work->size}); !done) return done;
    spare_.push_back(std::move(work));
    lock.lock();
  }
  return {};
}

Status FrameWriter::hand_on() {
  {
    const std::lock_guard lock(mutex_);
    in_order_.push_back(std::move(filling_));
  }
  wake_.notify_all();
  return write_done(false);
}

Status FrameWriter::write(std::string_view content) {
  while (!content.empty()) {
    if (!filling_) filling_ = new_work();
    const std::string_view piece = content.substr(0, kFrameBytes - filling_->filled);
    std::memcpy(filling_->content.get() + filling_->filled, piece.data(), piece.size());
    filling_->filled += piece.size();
    content.remove_prefix(piece.size());
    if (filling_->filled == kFrameBytes)
      if (Status done = hand_on(); !done) return done;
  }
  return {};
}

Status FrameWriter::flush() {
  if (filling_ && filling_->filled > 0)
    if (Status done = hand_on(); !done) return done;
  return write_done(true);
}

Status FrameWriter::finish() {
  if (Status done = flush(); !done) return done;
  std::string table;
  put_little(table, kSkippableMagic);
  put_little(table, static_cast<uint32_t>(frames_.size() * kTableEntry + kTableFooter));
  for (const Frame& frame : frames_) {
    put_little(table, frame.compressed);
    put_little(table, frame.bytes);
  }
  put_little(table, static_cast<uint32_t>(frames_.size()));
  table.push_back(0);  // no checksums: the frames have them
  put_little(table, kTableMagic);
  return out_.write(table);
}

Result<FrameReader> FrameReader::open(int file) {
  const auto none = [] { return failure("no table of zstd frames", EINVAL); };
  struct stat status {};
  if (::fstat(file, &status) != 0) return failure_from_errno("frames", errno);
  const auto size = static_cast<uint64_t>(status.st_size);
  char footer[kTableFooter];
  if (size < kTableFooter + kSkippableHeader ||
      !os::read_at(file, footer, kTableFooter, size - kTableFooter) ||
      take_little(footer + 5) != kTableMagic || (footer[4] & kReserved) != 0)
    return none();
  const uint64_t count = take_little(footer);
  const size_t entry = kTableEntry + ((footer[4] & kChecksums) != 0 ? 4 : 0);
  const uint64_t bytes = count * entry + kTableFooter;
  if (bytes + kSkippableHeader > size) return none();
  std::string table(bytes + kSkippableHeader, '\0');
  const uint64_t end = size - table.size();
  if (!os::read_at(file, table.data(), table.size(), end) || take_little(table.data()) != kSkippableMagic ||
      take_little(table.data() + 4) != bytes)
    return none();
  FrameReader reader;
  reader.file_ = file;
  uint64_t place = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const char* at = table.data() + kSkippableHeader + i * entry;
    const Frame frame{place, reader.size_, take_little(at), take_little(at + 4)};
    place += frame.compressed;
    reader.size_ += frame.bytes;
    if (place > end) return none();
    reader.frames_.push_back(frame);
  }
  return reader;
}

bool FrameReader::read(uint64_t at, char* to, size_t size, Hand& hand) const {
  if (at > size_ || size > size_ - at) return false;
  if (size == 0) return true;
  struct Context {
    ZSTD_DCtx* made = ::ZSTD_createDCtx();
    ~Context() { ::ZSTD_freeDCtx(made); }
  };
  thread_local const Context context;
  auto frame = std::upper_bound(frames_.begin(), frames_.end(), at,
                                [](uint64_t place, const Frame& one) { return place < one.begin; });
  for (--frame; size > 0; ++frame) {
    const auto number = static_cast<size_t>(frame - frames_.begin());
    if (hand.frame != number) {
      hand.frame = SIZE_MAX;
      if (frame->bytes > 64 << 20 || frame->compressed > 128 << 20)
        return false;  // of other programs; ours are small
      hand.compressed.resize(frame->compressed);
      hand.content.resize(frame->bytes);
      if (!os::read_at(file_, hand.compressed.data(), hand.compressed.size(), frame->place)) return false;
      const size_t got = ::ZSTD_decompressDCtx(context.made, hand.content.data(), hand.content.size(),
                                               hand.compressed.data(), hand.compressed.size());
      if (got != frame->bytes) return false;
      hand.frame = number;
    }
    const uint64_t skipped = at - frame->begin;
    const size_t piece = std::min<uint64_t>(size, frame->bytes - skipped);
    std::memcpy(to, hand.content.data() + skipped, piece);
    at += piece;
    to += piece;
    size -= piece;
  }
  return true;
}

}  // namespace minke::storage
