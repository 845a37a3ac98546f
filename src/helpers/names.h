// Shared by the commands for files: names of users and groups, paths as users give them, errors
// by path. One thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace minke::helpers {

// Asks for each number once. A number without a name stands for itself.
class NameTable {
 public:
  const std::string& user(uid_t uid);
  const std::string& group(gid_t gid);

 private:
  std::map<uid_t, std::string> users_;
  std::map<gid_t, std::string> groups_;
};

// Resolves links in a path that the user gave; the operation itself then follows none. Returns it unchanged
// if it leads nowhere.
std::string following(const std::string& path);

// Prints the errors kept, and how many there were. Returns the exit status: 1 if there was one.
int report_errors(std::string_view command, const std::vector<Error>& errors, uint64_t count);

}  // namespace minke::helpers
