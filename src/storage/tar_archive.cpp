#include "storage/tar_archive.h"

#include <fcntl.h>
#include <libdeflate.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "storage/striping.h"
#include "storage/tar_format.h"

namespace minke::storage {

namespace {

constexpr size_t kWriteBytes = 4 << 20;

Status cut(int file, uint64_t size) {
  if (::ftruncate(file, static_cast<off_t>(size)) != 0 || ::lseek(file, 0, SEEK_END) < 0)
    return failure_from_errno("writing", errno);
  return {};
}

}  // namespace

uint32_t tar_crc(uint32_t crc, const char* data, size_t size) {
  return ::libdeflate_crc32(crc, data, size);
}

Result<TarArchive> TarArchive::create(int directory, const std::string& path, const std::string& name,
                                      int index, const Options& options) {
  TarArchive archive;
  if (!options.from) {
    ::unlinkat(directory, name.c_str(), 0);
    make_striped(path + "/" + name, options.expected);
  }
  const int flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC | (options.from ? 0 : O_CREAT);
  archive.file_.reset(::openat(directory, name.c_str(), flags, 0666));
  archive.index_.reset(::fcntl(index, F_DUPFD_CLOEXEC, 0));
  if (!archive.file_ || !archive.index_) return failure_from_errno(name, errno);
  const Place from = options.from.value_or(Place{});
  for (const auto& [file, size] : {std::pair{archive.fd(), from.written}, {index, from.index_written}})
    if (const Status done = cut(file, size); !done) return failure(done.error());
  archive.size_ = from.size;
  archive.out_ = std::make_unique<CheckedFile>(archive.fd(), from.written, options.verified);
  archive.index_written_ = from.index_written;
  archive.entries_ = from.entries;
  if (options.compress) {
    auto frames = walk_frames(archive.fd(), from.written);
    if (!frames) return failure(frames.error());
    archive.frames_ = std::make_unique<FrameWriter>(*archive.out_, std::move(*frames),
                                                    std::clamp(std::thread::hardware_concurrency(), 2U, 32U));
  }
  return archive;
}

Status TarArchive::write(std::string_view bytes) {
  size_ += bytes.size();
  if (frames_) return frames_->write(bytes);
  return out_->write(bytes);
}

Status TarArchive::add_to_index(const IndexEntry& entry) {
  index_buffer_ += index_entry_text(entry);
  ++entries_;
  return index_buffer_.size() >= kWriteBytes ? flush_index() : Status{};
}

Result<TarArchive::Place> TarArchive::checkpoint() {
  Status done = frames_ ? frames_->flush() : Status{};
  if (done) done = out_->settle();
  if (done) done = flush_index();
  if (!done) return failure(done.error());
  return Place{size_, out_->size(), index_written_, entries_};
}

Status TarArchive::finish() {
  if (Status put = write(std::string(2 * kTarBlock, '\0')); !put) return put;
  IndexFooter footer{.offset = size(), .entries = entries_};
  if (Status put = flush_index(); !put) return put;
  std::string piece(kWriteBytes, '\0');
  for (uint64_t at = 0; at < index_written_;) {
    const ssize_t got = ::pread(index_.get(), piece.data(), piece.size(), static_cast<off_t>(at));
    if (got <= 0) return failure_from_errno("the index", got == 0 ? EIO : errno);
    footer.crc = tar_crc(footer.crc, piece.data(), static_cast<size_t>(got));
    if (Status put = write({piece.data(), static_cast<size_t>(got)}); !put) return put;
    at += got;
  }
  if (Status put = write(index_footer_text(footer)); !put) return put;
  if (frames_)
    if (Status put = frames_->finish(); !put) return put;
  return out_->finish();
}

Status TarArchive::flush_index() {
  for (size_t done = 0; done < index_buffer_.size();) {
    const ssize_t count = ::write(index_.get(), index_buffer_.data() + done, index_buffer_.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return failure_from_errno("writing", count == 0 ? ENOSPC : errno);
    done += static_cast<size_t>(count);
  }
  index_written_ += index_buffer_.size();
  index_buffer_.clear();
  return {};
}

}  // namespace minke::storage
