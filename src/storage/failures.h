// Failures by path: keeps the first few as text, and counts all. Any thread.
#pragma once

#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"

namespace minke::storage {

class Failures {
 public:
  static constexpr size_t kKept = 20;

  void add(const std::string& path, int error_number, const char* what = nullptr) {
    add(path,
        what == nullptr ? std::string(std::strerror(error_number))
                        : std::string(what) + ": " + std::strerror(error_number),
        error_number);
  }
  void add(const std::string& path, const std::string& words, int code = 0) {
    const std::lock_guard lock(mutex_);
    ++count_;
    if (kept_.size() < kKept) kept_.push_back({code, path + ": " + words});
  }
  void add_all(const Failures& others) {
    const std::vector<Error> kept = others.kept();
    const std::lock_guard lock(mutex_);
    count_ += others.count();
    for (const Error& error : kept)
      if (kept_.size() < kKept) kept_.push_back(error);
  }
  uint64_t count() const {
    const std::lock_guard lock(mutex_);
    return count_;
  }
  std::vector<Error> kept() const {
    const std::lock_guard lock(mutex_);
    return kept_;
  }

 private:
  mutable std::mutex mutex_;
  uint64_t count_ = 0;
  std::vector<Error> kept_;
};

}  // namespace minke::storage
