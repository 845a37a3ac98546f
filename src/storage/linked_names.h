// The names of files that have several, while a tree is copied by several threads: the first thread that
// meets a file copies it, the others wait until it has, and link their names to the copy. A file is forgotten
// when all its names were met, so memory holds those whose names are still to come.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace minke::storage {

class LinkedNames {
 public:
  using File = std::pair<uint64_t, uint64_t>;  // device, inode

  // Returns the path of the file's copy; empty: the caller is to make it, and to call made() then.
  std::string meet(const File& file, uint32_t names) {
    std::unique_lock lock(mutex_);
    const auto [at, is_first] = files_.try_emplace(file);
    Entry& entry = at->second;
    if (is_first) {
      entry.to_come = names - 1;
      return "";
    }
    // The map's entries stay where they are, and this one while somebody waits for it.
    ++entry.waiting;
    made_.wait(lock, [&] { return entry.made; });
    --entry.waiting;
    std::string path = entry.path;
    if (entry.to_come > 0) --entry.to_come;
    if (path.empty()) {  // it could not be copied: the next one tries
      entry.made = false;
      return "";
    }
    if (entry.to_come == 0 && entry.waiting == 0) files_.erase(file);
    return path;
  }
  // `path`: where the copy is, from the top of the new tree; empty if there is none.
  void made(const File& file, std::string path) {
    {
      const std::lock_guard lock(mutex_);
      const auto at = files_.find(file);
      if (at == files_.end()) return;
      at->second.path = std::move(path);
      at->second.made = true;
      if (at->second.to_come == 0 && at->second.waiting == 0) files_.erase(at);
    }
    made_.notify_all();
  }

 private:
  struct Entry {
    std::string path;
    uint32_t to_come = 0, waiting = 0;
    bool made = false;
  };
  std::mutex mutex_;  // guards what follows
  std::condition_variable made_;
  std::map<File, Entry> files_;
};

}  // namespace minke::storage
