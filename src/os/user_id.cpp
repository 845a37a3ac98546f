#include "os/user_id.h"

#include <pwd.h>

#include <cerrno>
#include <charconv>
#include <vector>

namespace minke::os {

Result<uint32_t> user_id_of(const std::string& user) {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> texts(1024);
  while (getpwnam_r(user.c_str(), &entry, texts.data(), texts.size(), &found) == ERANGE &&
         texts.size() < (size_t{1} << 20))
    texts.resize(2 * texts.size());
  if (found != nullptr) return entry.pw_uid;
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(user.data(), user.data() + user.size(), number);
  if (error == std::errc() && end == user.data() + user.size() && number != UINT32_MAX) return number;
  return failure("Invalid user: " + user);
}

}  // namespace minke::os
