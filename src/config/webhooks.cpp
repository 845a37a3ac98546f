#include "config/webhooks.h"

#include <algorithm>

#include "config/toml.h"
#include "text/number.h"
#include "text/printable.h"

namespace minke::config {
namespace {

constexpr size_t kLongestAddress = 2000;

bool is_word_of_host(std::string_view name) {
  const auto is_good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
  };
  return !name.empty() && name.size() <= 253 && name.find("..") == std::string_view::npos &&
         std::all_of(name.begin(), name.end(), is_good);
}

// "host:443" or "[::1]:443" without the port; empty: it is neither.
std::string_view without_port(std::string_view authority) {
  const size_t bracket = authority.find(']');
  const size_t colon = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (colon == std::string_view::npos) return authority;
  if (!text::parse_unsigned(authority.substr(colon + 1), 65535)) return {};
  return authority.substr(0, colon);
}

}  // namespace

Status add_webhook_rule(WebhookRules& rules, const std::string& word) {
  using Reach = WebhookRules::Reach;
  const std::string lower = text::lower_case(word);
  const bool is_word = lower == "none" || lower == "public" || lower == "any";
  if (!is_word && !is_word_of_host(lower))
    return failure("must be \"none\", \"public\", \"any\", or a list of host names such as \".example.org\"");
  if (rules.reach != Reach::kNone && (is_word || rules.reach != Reach::kHosts))
    return failure("\"none\", \"public\" and \"any\" stand alone");
  if (!is_word) rules.hosts.push_back(lower);
  if (lower != "none")
    rules.reach = lower == "public" ? Reach::kPublic : lower == "any" ? Reach::kAny : Reach::kHosts;
  return {};
}

Result<std::string> webhook_address(std::string_view file, const std::string& name) {
  const toml::parse_result parsed = toml::parse(file);
  if (!parsed)
    return failure("~/.config/minke/webhooks.toml line " +
                   std::to_string(parsed.error().source().begin.line) + ": " +
                   text::printable(std::string(parsed.error().description())));
  const auto address = parsed.table()[name].value<std::string>();
  if (!address)
    return failure("~/.config/minke/webhooks.toml has no " + text::printable(name) + " = \"https://…\"");
  return *address;
}

Result<std::string> webhook_host(std::string_view address) {
  const std::string problem = "a web hook is http://HOST/… or https://HOST/…, without a user's name";
  const size_t scheme = address.starts_with("https://") ? 8 : address.starts_with("http://") ? 7 : 0;
  if (scheme == 0 || address.size() > kLongestAddress) return failure(problem);
  const auto is_odd = [](char c) {
    return c <= ' ' || c == 0x7f || c == '\\' || static_cast<signed char>(c) < 0;
  };
  if (std::any_of(address.begin(), address.end(), is_odd)) return failure(problem);
  const std::string_view rest = address.substr(scheme);
  const std::string host = text::lower_case(without_port(rest.substr(0, rest.find_first_of("/?#"))));
  if (is_word_of_host(host)) return host;
  const bool is_six = host.size() > 2 && host.front() == '[' && host.back() == ']' &&
                      host.find_first_not_of("0123456789abcdef:.", 1) == host.size() - 1;
  if (is_six) return host.substr(1, host.size() - 2);
  return failure(problem);
}

bool admits_host(const WebhookRules& rules, std::string_view host) {
  using Reach = WebhookRules::Reach;
  if (rules.reach == Reach::kPublic || rules.reach == Reach::kAny) return true;
  return std::any_of(rules.hosts.begin(), rules.hosts.end(), [&](const std::string& known) {
    if (known.front() != '.') return host == known;
    return host == std::string_view(known).substr(1) || host.ends_with(known);
  });
}

}  // namespace minke::config
