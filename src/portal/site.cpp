#include "portal/site.h"

#include "os/minke_home.h"

namespace minke::portal {

config::PortalSettings site_settings() {
  std::string path = os::configuration_path(os::minke_home_path());
  if (path.empty()) path = os::configuration_path(os::site_home());
  return config::load_portal_settings(path);
}

std::string shared_log_file() {
  return os::site_home() + "/portal.log";
}

}  // namespace minke::portal
