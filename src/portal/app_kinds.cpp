#include "portal/app_kinds.h"

#include <dirent.h>

#include <cstdlib>
#include <map>
#include <memory>

#include "portal/site.h"

namespace minke::portal {
namespace {

constexpr size_t kMostApps = 100;

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(directory.c_str()), ::closedir);
  if (open == nullptr) return names;
  while (const dirent* entry = ::readdir(open.get()))
    if (config::is_app_name(entry->d_name) && names.size() < kMostApps) names.emplace_back(entry->d_name);
  return names;
}

std::string own_directory() {
  if (const char* config = std::getenv("XDG_CONFIG_HOME"); config != nullptr && config[0] == '/')
    return std::string(config) + "/minke/apps";
  const char* home = std::getenv("HOME");
  return home != nullptr && home[0] == '/' ? std::string(home) + "/.config/minke/apps" : std::string();
}

}  // namespace

AppKinds all_apps() {
  AppKinds all;
  std::map<std::string, config::AppSettings> found;
  for (const BuiltinApp& one : builtin_apps()) {
    auto app = config::parse_app(one.name, one.settings, one.name);
    if (!app) continue;  // a unit test reads them all
    app->script = one.script;
    found[one.name] = std::move(*app);
  }
  const std::string site = site_settings().app_directory;
  for (const std::string& directory : {site, own_directory()}) {
    if (directory.empty()) continue;
    for (const std::string& name : names_in(directory)) {
      auto app = config::load_app(name, directory + "/" + name);
      if (app)
        found[name] = std::move(*app);
      else
        all.problems.push_back(app.error().message);
    }
  }
  for (auto& [name, app] : found) all.apps.push_back(std::move(app));
  return all;
}

}  // namespace minke::portal
