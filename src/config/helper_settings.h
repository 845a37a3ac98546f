// What programs that the daemon starts read of minke.toml by themselves, when they need it: the mailer and
// the keeper of storage, the server of staged data. The daemon has checked it. Blocking; any thread.
#pragma once

#include <cstdint>
#include <string>

namespace minke::config {

struct HelperSettings {
  std::string mail_run_as;  // [mail] run_as: whose rights a mail program has; empty: nobody's
  uint64_t cache_quota =
      0;  // [storage] cache_quota: bytes of each user's in the cache of staged data; 0: none
};
// Of a file; without one, or one that is broken by now, what holds by default.
HelperSettings read_helper_settings(const std::string& path);

}  // namespace minke::config
