// Notes where a killed pack can continue. Every now and then the progress is written to a file beside the
// archive: the last entry, the sizes of the files, and a sum over all entries up to there. The next pack
// looks at those entries again: if one has changed since, it begins anew. The comparison at the end finds
// data that the disk lost meanwhile, such as in a power cut. One thread.
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

// Names in the archive of files with several names, by device and inode.
using FirstNames = std::map<std::tuple<uint32_t, uint32_t, uint64_t>, std::string>;

// Adds the attributes of an entry to the sum.
uint64_t add_to_sum(uint64_t sum, const std::string& path, const struct statx& status);

struct PackCheckpoint {
  uint64_t sum = 0, files = 0, bytes = 0;
  unsigned shard = 0;  // the number of shards begun
  TarArchive::Place place;
  std::string last;  // the entry's path below the root
};

// The notes are in a file of their own, where each replaces the one before.
class PackNotes {
 public:
  // `what` has everything that the archive depends on but the entries. Notes of other archives are ignored.
  PackNotes(os::UniqueFd file, std::string what) : file_(std::move(file)), what_(std::move(what)) {}
  std::optional<PackCheckpoint> read() const;
  void write(const PackCheckpoint& checkpoint);
  void clear();

 private:
  os::UniqueFd file_;
  std::string what_;
};

// Whether all entries up to that one are unchanged. Fills in the names of those files of the shard
// that have several.
bool is_as_it_was(const std::string& from, const std::string& prefix, const PackCheckpoint& checkpoint,
                  FirstNames& names);

}  // namespace minke::storage
