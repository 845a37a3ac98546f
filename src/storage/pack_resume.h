// Where a pack that was killed goes on. What has been packed so far is noted every now and then in a file
// beside the archive: the last entry, how far the files are, and the sum of what all entries up to there
// were. The next one looks at those entries again: where one has changed since, it begins anew. What the disk
// has lost meanwhile, a power cut's doing, the comparison at the end finds. One thread.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "base/result.h"
#include "os/fd.h"
#include "storage/tar_archive.h"

namespace minke::storage {

// Names in the archive of files with several names, by where the file is.
using FirstNames = std::map<std::tuple<uint32_t, uint32_t, uint64_t>, std::string>;

// Adds what an entry is to the sum.
uint64_t add_to_sum(uint64_t sum, const std::string& path, const struct statx& status);

struct PackCheckpoint {
  uint64_t sum = 0, files = 0, bytes = 0;
  unsigned shard = 0;  // how many have been begun
  TarArchive::Place place;
  std::string last;  // the entry's path below the root
};

// In a file of its own, where each takes the place of the one before.
class PackNotes {
 public:
  // `what`: all that the archive depends on but the entries. Of another one's notes nothing is used.
  PackNotes(os::UniqueFd file, std::string what) : file_(std::move(file)), what_(std::move(what)) {}
  std::optional<PackCheckpoint> read() const;
  void write(const PackCheckpoint& checkpoint);
  void clear();

 private:
  os::UniqueFd file_;
  std::string what_;
};

// Whether all entries up to that one are what they were. Fills in the names of the shard's files with
// several.
bool is_as_it_was(const std::string& from, const std::string& prefix, const PackCheckpoint& checkpoint,
                  FirstNames& names);

}  // namespace minke::storage
