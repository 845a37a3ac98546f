// minke portal: the cluster in a browser.
#pragma once

#include <string>

#include "portal/shared.h"

namespace minke::cli {

struct PortalCommand {
  int port = -1;  // -1: one's usual one
  bool open = false;
  std::string token_file;
  int unused_minutes = 60;
  bool is_shared = false, prints_unit = false;
  portal::SharedOptions shared;
  // This program as a part of a shared portal (portal/door.h).
  bool is_worker = false, is_oidc_login = false;
  std::string login_service, login_name, login_address;
};

int portal_command(const PortalCommand& options);

}  // namespace minke::cli
