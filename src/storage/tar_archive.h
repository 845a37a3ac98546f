// One tar archive while it is written: content, plain or in zstd frames, and the index, which stays beside it
// until the end. What a killed one has left can be continued from a checkpoint. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/fd.h"
#include "storage/checked_file.h"
#include "storage/tar_index.h"
#include "storage/zstd_frames.h"

namespace minke::storage {

// CRC-32, as in the index; starts from 0.
uint32_t tar_crc(uint32_t crc, const char* data, size_t size);

class TarArchive {
 public:
  // The progress: bytes of content, of the file and of the index's file; entries of the index.
  struct Place {
    uint64_t size = 0, written = 0, index_written = 0, entries = 0;
  };
  struct Options {
    bool compress = false;
    uint64_t expected = 0;      // about how many bytes it will have, for its stripes; 0: not known
    std::optional<Place> from;  // continues from here with what is there
    std::atomic<uint64_t>* verified = nullptr;  // counts the bytes that were read back
  };
  // `path` is relative to `directory`. `index`: an open file for the index; it is duplicated. Errors: errno.
  static Result<TarArchive> create(int directory, const std::string& path, const std::string& name, int index,
                                   const Options& options);

  uint64_t size() const { return size_; }
  Status write(std::string_view bytes);
  Status add_to_index(const IndexEntry& entry);
  // Returns a place to continue from once this process is gone.
  Result<Place> checkpoint();
  // Writes the end of the archive, index and footer; then all of it is on the disk, and what this object
  // wrote has been read back from there and compared.
  Status finish();
  int fd() const { return file_.get(); }

 private:
  Status flush_index();

  os::UniqueFd file_, index_;
  std::unique_ptr<CheckedFile> out_;
  std::unique_ptr<FrameWriter> frames_;  // null: plain
  std::string index_buffer_;
  uint64_t size_ = 0, index_written_ = 0, entries_ = 0;
};

}  // namespace minke::storage
