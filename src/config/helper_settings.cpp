#include "config/helper_settings.h"

#include "config/table.h"
#include "os/files.h"
#include "storage/words.h"

namespace minke::config {

HelperSettings read_helper_settings(const std::string& path) {
  constexpr size_t kMaxFileBytes = size_t{4} << 20;
  HelperSettings settings;
  const auto text = path.empty() ? Result<std::string>(failure("none")) : os::read_file(path, kMaxFileBytes);
  if (!text) return settings;
  const toml::parse_result parsed = toml::parse(*text, path);
  if (!parsed) return settings;
  settings.mail_run_as = parsed.table()["mail"]["run_as"].value_or(std::string());
  settings.cache_quota =
      storage::parse_bytes(parsed.table()["storage"]["cache_quota"].value_or(std::string()));
  return settings;
}

}  // namespace minke::config
