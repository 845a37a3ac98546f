// What directories hold, known at any time: the kernel tells which of their directories have changed
// (fanotify), and only those are read again. One process keeps it, root's; others read what it publishes, one
// small file for each directory that is watched. What is asked of it is at most some seconds old.
//
// Counts as usage_scan.h does, without what is in a root's .snapshots. Memory: about 150 bytes for each
// directory below, and 50 for each file with several names. Where the kernel has told too much to be kept,
// all is counted anew.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "os/fd.h"
#include "storage/usage_scan.h"

namespace minke::storage {

class LiveIndex {
 public:
  // Counts everything once. Roots that are not there are left out. Errors: EPERM and what else the kernel
  // says: it does not tell (not root, or a file system that it cannot watch).
  static Result<std::unique_ptr<LiveIndex>> open(const std::vector<std::string>& roots);
  virtual ~LiveIndex() = default;

  // Waits for changes, at most so many milliseconds and no longer than somebody reads what is written to the
  // pipe `until`, and takes them in. True: something is another.
  virtual bool follow(int milliseconds, int until) = 0;
  // Of a root, by the index that it was given with; nothing: it is not there.
  virtual std::optional<Amount> amount(size_t root) const = 0;
};

// What a keeper publishes in a directory of its own, and what others find there.
class LivePublisher {
 public:
  // Errors: another one is at it; the directory cannot be made.
  static Result<LivePublisher> open(const std::string& directory);
  // For who owns `path` to read, and for its group where that may read `path`. Written only where it is
  // another than the last one.
  void publish(const std::string& path, const std::optional<Amount>& amount);

 private:
  std::string directory_;
  std::shared_ptr<std::pair<os::UniqueFd, os::UniqueFd>> locks_;
  std::map<std::string, Amount> last_;
};

// Returns nothing if nobody keeps it now, or if this user may not read it.
std::optional<Amount> live_amount(const std::string& directory, const std::string& path);

}  // namespace minke::storage
