// A directory for one test, which is removed behind it. For tests; one thread.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

namespace minke::farming {

class Directory {
 public:
  Directory() {
    char name[] = "/tmp/farming-test.XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace minke::farming
