// One tar archive while it is written: content, and the index beside it until the end. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/fd.h"
#include "storage/tar_index.h"

namespace minke::storage {

// CRC-32, as the index has it; 0 to begin with.
uint32_t tar_crc(uint32_t crc, const char* data, size_t size);

class TarArchive {
 public:
  // In the place of what has this name. Errors: errno.
  static Result<TarArchive> create(int directory, const std::string& name);

  uint64_t size() const { return written_ + buffer_.size(); }
  Status write(std::string_view bytes);
  Status add_to_index(const IndexEntry& entry);
  // The end of the archive, index and footer; then all of it on the disk.
  Status finish();
  int fd() const { return file_.get(); }

 private:
  static Status put(int file, std::string& buffer, uint64_t& written);
  Status flush();
  Status flush_index() { return put(index_.get(), index_buffer_, index_written_); }

  os::UniqueFd file_, index_;
  std::string buffer_, index_buffer_;
  uint64_t written_ = 0, index_written_ = 0, entries_ = 0;
};

}  // namespace minke::storage
