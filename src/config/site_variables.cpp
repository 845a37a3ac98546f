#include "config/site_variables.h"

#include "base/version.h"
#include "config/toml.h"
#include "os/files.h"
#include "text/number.h"

namespace minke::config {

namespace {

// The release of a slurm.conf that says one, as a line that Slurm takes for a comment:
// "#SLURM_VERSION=24.11.5".
int release_of_slurm_conf(std::string_view text) {
  constexpr std::string_view kName = "SLURM_VERSION";
  for (std::string_view line : text::split(text, '\n')) {
    line = text::trim(line);
    if (!line.starts_with('#')) continue;
    line = text::trim(line.substr(1));
    if (!line.starts_with(kName)) continue;
    line = text::trim(line.substr(kName.size()));
    if (line.starts_with('=')) return nearest_release(text::trim(line.substr(1)));
  }
  return kSlurm26;
}

}  // namespace

int read_release(const std::string& path) {
  constexpr size_t kMaxFileBytes = size_t{1} << 20;
  const auto text = os::read_file(path, kMaxFileBytes);
  if (text && path.ends_with(".conf")) return release_of_slurm_conf(*text);
  if (!text || text->find("compatibility") == std::string::npos) return kSlurm26;
  const toml::parse_result parsed = toml::parse(*text, path);
  if (!parsed) return kSlurm26;
  const auto said = parsed.table()["compatibility"]["slurm"].value<std::string>();
  return said ? parse_release(*said).value_or(kSlurm26) : kSlurm26;
}

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
