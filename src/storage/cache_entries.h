// The entries of a cache of staged data (staging.h): their names, their users, and which are removed when
// space is needed. Any number of processes; blocking.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "os/fd.h"
#include "storage/tree_walk.h"

namespace minke::storage {

uint64_t hash_of(std::string_view text);  // the entry's `source` tells those apart that collide
std::string hex(uint64_t number);         // 16 digits
// Text that differs if the content may differ.
std::string state_of(const struct statx& status);

// Sums up a whole tree in one number that does not depend on the order, and its size.
class Summary : public Visitor {
 public:
  std::atomic<uint64_t> sum{0}, bytes{0}, entries{0}, failures{0};
  void visit(unsigned, Directory&, const char* name, const struct statx& status) override {
    add(name, status);
  }
  bool enter(unsigned, Directory& directory, const struct statx& status) override {
    add(directory.parent() == nullptr ? "" : directory.name().c_str(), status);
    return true;
  }
  void failed(unsigned, const std::string&, int) override { ++failures; }

 private:
  void add(const char* name, const struct statx& status) {
    sum += hash_of(name + state_of(status));
    bytes += status.stx_blocks * 512;
    ++entries;
  }
};

// Waits for an exclusive lock on a file, which it makes if needed.
os::UniqueFd locked(const std::string& path);

// Of several processes that want an entry, one makes it and the others wait here. The lock's file is removed
// with it, because there would be one for each state of each source.
class Filling {
 public:
  Filling(const std::string& cache, const std::string& entry)
      : path_(cache + "/lock-" + entry), lock_(locked(path_)) {}
  Filling(const Filling&) = delete;
  Filling& operator=(const Filling&) = delete;
  ~Filling();

 private:
  std::string path_;
  os::UniqueFd lock_;
};

std::vector<std::string> names_in(const std::string& directory);  // but hidden ones
// "INODE PATH" of a job's directory; empty if it is not there.
std::string user_text(const std::string& directory);
// Whether a job uses the entry; forgets jobs whose directory is gone.
bool in_use(const std::string& entry);
uint64_t free_bytes(const std::string& path);
uint64_t total_bytes(const std::string& path);  // of its disk
uint64_t reserve_of(const std::string& path);   // of its disk: what a cache of all users leaves free

// Unmounts the images that no job uses any more; their entries stay. Returns how many stay mounted.
size_t unmount_idle(const std::string& cache);
// Removes the unfinished entries of processes that are gone.
void remove_abandoned(const std::string& cache);

// Removes it with everything in it, also what is mounted there.
void remove_entry(const std::string& entry);

// Removes unused entries, the least recently used first, until `bytes` are free or nothing is left to remove.
// Returns how many entries it removed.
size_t evict(const std::string& cache, uint64_t bytes);

// What a user has had brought into a cache that all users share (shared_cache.h).
struct Charge {
  uint64_t bytes = 0;
  size_t images = 0;  // mounted ones
};
// Removes unused entries of this user, the least recently used first, until `bytes` more fit the quota, and
// one more image fits `images`; returns what is left.
Charge make_room(const std::string& cache, uid_t user, uint64_t bytes, uint64_t quota, size_t images);

}  // namespace minke::storage
