// Files of messages, one after the other, each behind its length in four bytes. One thread.
#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace minke::grow {

class MessageFile {
 public:
  // Makes it (0600), or empties it.
  static Result<MessageFile> create(const std::string& path);
  Status add(const std::string& message);
  Status finish();  // it is on the disk then

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};

Status read_messages(const std::string& path, const std::function<Status(const std::string& message)>& take);

}  // namespace minke::grow
