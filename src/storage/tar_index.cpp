#include "storage/tar_index.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <thread>
#include <vector>

#include "os/read_at.h"
#include "storage/tar_archive.h"

namespace minke::storage {

namespace {

uint32_t crc_of(std::string_view text, uint32_t crc = 0) {
  return tar_crc(crc, text.data(), text.size());
}

}  // namespace

Result<TarIndex> TarIndex::open(const std::string& path) {
  const os::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return failure_from_errno(path, errno);
  return of(file.get(), path);
}

Result<TarIndex> TarIndex::of(int file, const std::string& name) {
  const auto none = [&](const char* why) { return failure(name + ": " + why, EINVAL); };
  TarIndex index;
  index.file_.reset(::fcntl(file, F_DUPFD_CLOEXEC, 0));
  struct stat status {};
  if (!index.file_ || ::fstat(file, &status) != 0) return failure_from_errno(name, errno);
  if (!S_ISREG(status.st_mode)) return none("there is no index in it");
  if (auto frames = FrameReader::open(index.file_.get())) index.frames_ = std::move(*frames);
  const uint64_t size = index.frames_ ? index.frames_->size() : static_cast<uint64_t>(status.st_size);
  char footer[kFooterBytes];
  FrameReader::Hand hand;
  if (size < kFooterBytes || !index.read(size - kFooterBytes, footer, kFooterBytes, hand))
    return none("there is no index in it");
  const auto parsed = parse_index_footer({footer, kFooterBytes});
  if (!parsed || parsed->offset > size - kFooterBytes) return none("there is no index in it");
  index.footer_ = *parsed;
  const uint64_t length = size - kFooterBytes - parsed->offset;
  if (index.frames_) {
    constexpr uint64_t kMost = uint64_t{8} << 30;
    if (length > kMost) return none("its index is damaged");
    index.unpacked_.resize(length);
    if (!index.read(parsed->offset, index.unpacked_.data(), length, hand))
      return none("its index is damaged");
    index.entries_ = index.unpacked_;
  } else if (length > 0) {
    const uint64_t skipped = parsed->offset % static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
    index.mapped_size_ = length + skipped;
    index.mapped_ = ::mmap(nullptr, index.mapped_size_, PROT_READ, MAP_PRIVATE, file,
                           static_cast<off_t>(parsed->offset - skipped));
    if (index.mapped_ == MAP_FAILED) {
      index.mapped_ = nullptr;
      return failure_from_errno(name, errno);
    }
    index.entries_ = {static_cast<const char*>(index.mapped_) + skipped, length};
  }
  if (crc_of(index.entries_) != parsed->crc) return none("its index is damaged");
  return index;
}

TarIndex::TarIndex(TarIndex&& other) noexcept
    : file_(std::move(other.file_)),
      frames_(std::move(other.frames_)),
      unpacked_(std::move(other.unpacked_)),
      footer_(other.footer_),
      mapped_(std::exchange(other.mapped_, nullptr)),
      mapped_size_(other.mapped_size_),
      entries_(mapped_ == nullptr ? std::string_view(unpacked_) : other.entries_) {}

bool TarIndex::read(uint64_t at, char* to, size_t size, FrameReader::Hand& hand) const {
  if (frames_) return frames_->read(at, to, size, hand);
  return os::read_at(file_.get(), to, size, at);
}

TarIndex::~TarIndex() {
  if (mapped_ != nullptr) ::munmap(mapped_, mapped_size_);
}

void TarIndex::each(const std::function<bool(const IndexEntry&)>& take) const {
  std::string_view rest = entries_;
  while (const auto entry = take_index_entry(rest))
    if (!take(*entry)) return;
}

Result<std::string> TarIndex::read(const IndexEntry& entry) const {
  if (entry.offset > footer_.offset || entry.size > footer_.offset - entry.offset)
    return failure(entry.name + ": its index is damaged", EIO);
  std::string content(entry.size, '\0');
  FrameReader::Hand hand;
  if (!read(entry.offset, content.data(), content.size(), hand))
    return failure(entry.name + ": it cannot be read", EIO);
  if (crc_of(content) != entry.crc)
    return failure(entry.name + ": it is not what was packed (checksum)", EIO);
  return content;
}

Status verify_archive(int file, const std::string& name, std::atomic<uint64_t>& verified,
                      const std::atomic<bool>* stop) {
  (void)::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);  // from the disk, not from memory
  const auto index = TarIndex::of(file, name);
  if (!index) return failure(index.error());
  std::mutex mutex;
  std::string_view rest = index->entries_text();
  Status result;
  const auto work = [&] {
    std::vector<IndexEntry> mine;
    std::string piece(1 << 20, '\0');
    FrameReader::Hand hand;
    for (;;) {
      mine.clear();
      {
        const std::lock_guard lock(mutex);
        if (!result) return;
        for (uint64_t bytes = 0; mine.size() < 256 && bytes < 32 << 20;) {
          auto entry = take_index_entry(rest);
          if (!entry) break;
          bytes += entry->size;
          mine.push_back(std::move(*entry));
        }
      }
      if (mine.empty()) return;
      for (const IndexEntry& entry : mine) {
        uint32_t crc = 0;
        for (uint64_t at = 0; at < entry.size;) {
          const size_t wanted = std::min<uint64_t>(piece.size(), entry.size - at);
          if (!index->read(entry.offset + at, piece.data(), wanted, hand)) {
            crc = ~entry.crc;
            break;
          }
          crc = crc_of({piece.data(), wanted}, crc);
          at += wanted;
          verified += wanted;
        }
        const bool stopped = stop != nullptr && *stop;
        if (crc == entry.crc && !stopped) continue;
        const std::lock_guard lock(mutex);
        result = stopped ? failure("stopped", ECANCELED)
                         : failure(entry.name + ": it is not what was packed (checksum)", EIO);
        return;
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < std::clamp(std::thread::hardware_concurrency(), 2u, 8u); ++i)
    threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  return result;
}

}  // namespace minke::storage
