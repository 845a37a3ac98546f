#include "os/user_id.h"

#include <pwd.h>

#include <charconv>

namespace minke::os {

Result<uint32_t> user_id_of(const std::string& user) {
  if (const passwd* entry = getpwnam(user.c_str())) return entry->pw_uid;
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(user.data(), user.data() + user.size(), number);
  if (error == std::errc() && end == user.data() + user.size() && number != UINT32_MAX) return number;
  return failure("Invalid user: " + user);
}

}  // namespace minke::os
