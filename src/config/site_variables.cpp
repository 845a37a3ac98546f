#include "config/site_variables.h"

#include "config/toml.h"
#include "os/files.h"

namespace minke::config {

std::map<std::string, std::string> read_site_variables(const std::string& path) {
  constexpr size_t kMaxFileBytes = size_t{1} << 20;
  std::map<std::string, std::string> variables;
  const auto text = os::read_file(path, kMaxFileBytes);
  // Most files have none: they need not be parsed.
  if (!text || text->find("variables") == std::string::npos) return variables;
  const toml::parse_result parsed = toml::parse(*text, path);
  if (!parsed) return variables;
  for (const std::string_view name : kSiteVariables) {
    if (const auto value = parsed.table()["variables"][name].value<std::string>())
      variables[std::string(name)] = *value;
  }
  return variables;
}

}  // namespace minke::config
