// The interactive applications that a person may start: those that come with this program, the site's and
// his own. A site's takes the place of one that comes with the program, and one's own that of both. Read
// anew each time, with the rights of this process, which are those of who asks. Blocking; any thread.
#pragma once

#include <string>
#include <vector>

#include "config/app_settings.h"

namespace minke::portal {

struct AppKinds {
  std::vector<config::AppSettings> apps;  // by their names
  std::vector<std::string> problems;      // of those that cannot be read
};

AppKinds all_apps();

// Of app_builtin.cpp: app.toml and script.sh of each.
struct BuiltinApp {
  const char *name, *settings, *script;
};
const std::vector<BuiltinApp>& builtin_apps();

}  // namespace minke::portal
