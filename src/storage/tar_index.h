// Reads single members of an archive that has an index (tar_format.h), without reading what is before them,
// also of one in zstd frames (zstd_frames.h). Blocking; any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/fd.h"
#include "storage/tar_format.h"
#include "storage/zstd_frames.h"

namespace minke::storage {

class TarIndex {
 public:
  // Errors: errno; EINVAL if there is no index, or it is damaged.
  static Result<TarIndex> open(const std::string& path);
  static Result<TarIndex> of(int file, const std::string& name);  // the descriptor is duplicated
  TarIndex(TarIndex&& other) noexcept;
  TarIndex& operator=(TarIndex&&) = delete;
  ~TarIndex();

  uint64_t size() const { return footer_.entries; }
  // Calls `take` in the archive's order until it returns false.
  void each(const std::function<bool(const IndexEntry&)>& take) const;
  // Returns the content of a member. Errors: errno; EIO if it is not what was packed.
  Result<std::string> read(const IndexEntry& entry) const;
  std::string_view entries_text() const { return entries_; }
  int fd() const { return file_.get(); }
  bool is_compressed() const { return frames_.has_value(); }
  // Reads a part of the archive's content. Returns false if it cannot be read.
  bool read(uint64_t at, char* to, size_t size, FrameReader::Hand& hand) const;

 private:
  TarIndex() = default;
  os::UniqueFd file_;
  std::optional<FrameReader> frames_;
  std::string unpacked_;  // the index, if it is not mapped
  IndexFooter footer_;
  void* mapped_ = nullptr;
  size_t mapped_size_ = 0;
  std::string_view entries_;
};

// Reads an archive back from the disk and compares each member's checksum. Errors: EIO with the
// member's name; ECANCELED.
Status verify_archive(int file, const std::string& name, std::atomic<uint64_t>& verified,
                      const std::atomic<bool>* stop = nullptr);

}  // namespace minke::storage
