// Files with several names, while a tree is copied: the first caller copies, the others wait and
// then link. Any thread.
#pragma once

#include <sys/stat.h>

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

namespace minke::storage {

class Links {
 public:
  // Returns nothing to the first caller, who must tell `done`; else the path, below the destination's root,
  // to link to.
  std::optional<std::string> first_path(const struct statx& status) {
    const Key key{status.stx_dev_major, status.stx_dev_minor, status.stx_ino};
    std::unique_lock lock(mutex_);
    for (;;) {
      const auto [at, fresh] = paths_.try_emplace(key);
      if (fresh) return std::nullopt;
      if (!at->second.empty()) return at->second;
      wake_.wait(lock);  // the caller that copies it never waits for anybody
    }
  }
  // An empty path means that it failed; the next caller tries.
  void done(const struct statx& status, std::string path) {
    const std::lock_guard lock(mutex_);
    const Key key{status.stx_dev_major, status.stx_dev_minor, status.stx_ino};
    if (path.empty()) {
      paths_.erase(key);
    } else {
      paths_[key] = std::move(path);
    }
    wake_.notify_all();
  }

 private:
  using Key = std::tuple<uint32_t, uint32_t, uint64_t>;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::map<Key, std::string> paths_;
};

}  // namespace minke::storage
