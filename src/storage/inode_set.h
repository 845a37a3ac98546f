// A set of inodes that were seen, for files with several names. Some 16 bytes each; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace minke::storage {

class InodeSet {
 public:
  // Returns false if it was there already.
  bool insert(uint64_t device, uint64_t inode) {
    Part& part = parts_[mixed(inode) >> 60];
    const std::lock_guard lock(part.mutex);
    return part.of_device[device].insert(inode);
  }

 private:
  static uint64_t mixed(uint64_t inode) { return (inode + 1) * 0x9E3779B97F4A7C15u; }

  // Open addressing; 0 is an empty place, and no file has inode 0.
  struct Table {
    std::vector<uint64_t> places;
    size_t used = 0;
    bool insert(uint64_t inode) {
      if (used * 4 >= places.size() * 3) grow();
      if (!put(inode)) return false;
      ++used;
      return true;
    }
    bool put(uint64_t inode) {
      for (size_t at = mixed(inode) & (places.size() - 1);; at = (at + 1) & (places.size() - 1)) {
        if (places[at] == inode) return false;
        if (places[at] == 0) {
          places[at] = inode;
          return true;
        }
      }
    }
    void grow() {
      std::vector<uint64_t> old(places.empty() ? 64 : places.size() * 2, 0);
      old.swap(places);
      for (const uint64_t inode : old)
        if (inode != 0) put(inode);
    }
  };
  struct Part {
    std::mutex mutex;
    std::map<uint64_t, Table> of_device;
  };
  std::array<Part, 16> parts_;
};

}  // namespace minke::storage
