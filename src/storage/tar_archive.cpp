#include "storage/tar_archive.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>

#include "storage/tar_format.h"

namespace minke::storage {

namespace {

constexpr size_t kWriteBytes = 4 << 20;

}  // namespace

uint32_t tar_crc(uint32_t crc, const char* data, size_t size) {
  return static_cast<uint32_t>(::crc32_z(crc, reinterpret_cast<const Bytef*>(data), size));
}

Result<TarArchive> TarArchive::create(int directory, const std::string& name) {
  TarArchive archive;
  ::unlinkat(directory, name.c_str(), 0);
  archive.file_.reset(::openat(directory, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  archive.index_.reset(::openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (archive.file_ && !archive.index_) {  // a file system without nameless files
    const std::string spool = name + "-index";
    archive.index_.reset(::openat(directory, spool.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    ::unlinkat(directory, spool.c_str(), 0);
  }
  if (!archive.file_ || !archive.index_) return failure_from_errno(name, errno);
  return archive;
}

Status TarArchive::write(std::string_view bytes) {
  buffer_.append(bytes);
  return buffer_.size() >= kWriteBytes ? flush() : Status{};
}

Status TarArchive::add_to_index(const IndexEntry& entry) {
  index_buffer_ += index_entry_text(entry);
  ++entries_;
  return index_buffer_.size() >= kWriteBytes ? flush_index() : Status{};
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
  if (Status put = flush(); !put) return put;
  if (::fsync(file_.get()) != 0) return failure_from_errno("writing to the disk", errno);
  return {};
}

Status TarArchive::put(int file, std::string& buffer, uint64_t& written) {
  for (size_t done = 0; done < buffer.size();) {
    const ssize_t count = ::write(file, buffer.data() + done, buffer.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return failure_from_errno("writing", count == 0 ? ENOSPC : errno);
    done += count;
  }
  written += buffer.size();
  buffer.clear();
  return {};
}

Status TarArchive::flush() {
  const uint64_t before = written_;
  Status done = put(file_.get(), buffer_, written_);
  // Begin writing to the disk now, so that the end need not wait for all of it.
  (void)::sync_file_range(file_.get(), static_cast<off_t>(before), static_cast<off_t>(written_ - before),
                          SYNC_FILE_RANGE_WRITE);
  return done;
}

}  // namespace minke::storage
