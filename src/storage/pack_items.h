// The entries of a tree as they go into an archive: their attributes, and the content of small
// files. Any thread.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "os/fd.h"
#include "storage/failures.h"
#include "storage/tar_format.h"
#include "storage/tree_list.h"

namespace minke::storage {

// Memory for the content of many small files, allocated piece by piece and reused as a whole: with the heap
// for each, the system would map and unmap most of it again and again. One thread at a time.
class ContentMemory {
 public:
  char* take(size_t size);
  void reset() { used_blocks_ = used_ = 0; }

 private:
  static constexpr size_t kBlock = 1 << 20;  // the least to allocate at once
  std::vector<std::unique_ptr<char[]>> blocks_;
  size_t used_blocks_ = 0, used_ = 0;  // of the last one of these
};

struct PackItem {
  ListedEntry entry;
  TarMember member;
  const char* content = nullptr;  // of a small file: member.size bytes
  os::UniqueFd file;              // of a large one, to be read
  struct statx status {};
  uint32_t crc = 0;
  bool ready = false;  // false: it is left out, because it failed (reported) or is gone
};

class ItemReader {
 public:
  ItemReader(const std::string& from, Failures& failures) : from_(from), failures_(failures) {}
  void read(PackItem& item, ContentMemory& memory) const;
  // Whether the open file is unchanged; reports it if not.
  bool unchanged(const PackItem& item) const;
  std::string shown(const PackItem& item) const;
  void fail(const PackItem& item, int error_number) const;

 private:
  bool read_regular(PackItem& item, int directory, const char* name, ContentMemory& memory) const;

  const std::string& from_;
  Failures& failures_;
};

}  // namespace minke::storage
