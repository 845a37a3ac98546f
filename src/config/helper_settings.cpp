#include "config/helper_settings.h"

#include "config/table.h"
#include "os/files.h"
#include "storage/words.h"

namespace minke::config {

namespace {

void read_webhooks(toml::node_view<const toml::node> node, WebhookRules& rules) {
  const auto add = [&](const toml::node& one) {
    if (const auto word = one.value<std::string>()) (void)add_webhook_rule(rules, *word);
  };
  if (const toml::array* list = node.as_array()) {
    for (const toml::node& one : *list) add(one);
  } else if (node.node() != nullptr) {
    add(*node.node());
  }
}

}  // namespace

HelperSettings read_helper_settings(const std::string& path) {
  constexpr size_t kMaxFileBytes = size_t{4} << 20;
  HelperSettings settings;
  const auto text = path.empty() ? Result<std::string>(failure("none")) : os::read_file(path, kMaxFileBytes);
  if (!text) return settings;
  const toml::parse_result parsed = toml::parse(*text, path);
  if (!parsed) return settings;
  settings.mail_run_as = parsed.table()["mail"]["run_as"].value_or(std::string());
  read_webhooks(parsed.table()["mail"]["webhooks"], settings.webhooks);
  settings.mail_commands = parsed.table()["mail"]["commands"].value_or(false);
  settings.cache_quota =
      storage::parse_bytes(parsed.table()["storage"]["cache_quota"].value_or(std::string()));
  return settings;
}

}  // namespace minke::config
