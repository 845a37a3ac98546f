// The current size of directories at any time: the kernel reports which of them have changed (fanotify), and
// only those are read again. One process of root keeps the index; others read what it publishes, one small
// file for each watched directory. The values are at most some seconds old.
//
// Counts as usage_scan.h does, but not what is in a root's .snapshots. Memory: about 150 bytes for each
// directory below, and 50 for each file with several names. If the kernel has reported too much to be kept,
// everything is counted anew.
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
  // Counts everything once. Skips roots that do not exist. Fails with EPERM or the kernel's error if it
  // cannot watch (not root, or a file system that does not support it).
  static Result<std::unique_ptr<LiveIndex>> open(const std::vector<std::string>& roots);
  virtual ~LiveIndex() = default;

  // Waits for changes, at most so many milliseconds and until something is written to the pipe `until`, and
  // takes them in. Returns whether anything has changed.
  virtual bool follow(int milliseconds, int until) = 0;
  // The amount of a root, by its index in open(); nothing if it does not exist.
  virtual std::optional<Amount> amount(size_t root) const = 0;
};

// The files that a keeper publishes in a directory of its own, for others to read.
class LivePublisher {
 public:
  // Fails if another process publishes there, or the directory cannot be made.
  static Result<LivePublisher> open(const std::string& directory);
  // The owner of `path` may read it, and its group if that may read `path`. Written only if it differs
  // from the last one.
  void publish(const std::string& path, const std::optional<Amount>& amount);

 private:
  std::string directory_;
  std::shared_ptr<std::pair<os::UniqueFd, os::UniqueFd>> locks_;
  std::map<std::string, Amount> last_;
};

// Returns nothing if nobody keeps it now, or if this user may not read it.
std::optional<Amount> live_amount(const std::string& directory, const std::string& path);

}  // namespace minke::storage
