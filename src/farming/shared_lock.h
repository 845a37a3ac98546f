// Locks on bytes of a file that processes share, on one machine or on several over a network file system. The
// kernel gives a lock up when its process ends, however that ends. (Open file description locks, fcntl(2).)
// One thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "os/fd.h"

namespace minke::farming {

class SharedLock {
 public:
  // Makes the file where it is missing.
  static Result<SharedLock> open(const std::string& path);

  Status hold(uint64_t byte);            // waits
  Result<bool> try_hold(uint64_t byte);  // false: another has it
  void release(uint64_t byte);
  Result<bool> is_held_elsewhere(uint64_t byte);  // looks, and takes nothing

  // Whether the file system keeps locks among the processes of one machine alone, as mounted here: Lustre
  // with localflock, NFS with nolock or local_lock. False where that is not known.
  static bool are_local(const std::string& path);

 private:
  explicit SharedLock(std::string path, os::UniqueFd file) : path_(std::move(path)), file_(std::move(file)) {}
  Status failed(int error_number) const;

  std::string path_;
  os::UniqueFd file_;
};

}  // namespace minke::farming
