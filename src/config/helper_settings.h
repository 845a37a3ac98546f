// The settings of minke.toml that programs started by the daemon read themselves: the mailer, the keeper of
// storage, the server of staged data. The daemon has checked them. Blocking; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "config/webhooks.h"

namespace minke::config {

struct HelperSettings {
  std::string mail_run_as;     // [mail] run_as: whose rights a mail program has; empty: nobody's
  WebhookRules webhooks;       // [mail] webhooks: where the mailer may send to
  bool mail_commands = false;  // [mail] commands: whether it runs users' own commands
  uint64_t cache_quota =
      0;  // [storage] cache_quota: bytes of each user's in the cache of staged data; 0: none
};
// Reads a file; returns the defaults if there is none, or it is broken by now.
HelperSettings read_helper_settings(const std::string& path);

}  // namespace minke::config
