#include "text/mail_address.h"

#include <algorithm>

#include "text/number.h"

namespace minke::text {

namespace {

constexpr size_t kMostAddressBytes = 254, kMostLocalBytes = 64, kMostLabelBytes = 63;
constexpr size_t kMostListBytes = 1024, kMostShown = 60;

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c);
}

bool is_local_part(std::string_view local) {
  if (local.empty() || local.size() > kMostLocalBytes) return false;
  if (!is_letter_or_digit(local.front()) && local.front() != '_') return false;
  if (local.back() == '.' || local.find("..") != std::string_view::npos) return false;
  return std::ranges::all_of(local, [](char c) {
    return is_letter_or_digit(c) || std::string_view("._+-=%").find(c) != std::string_view::npos;
  });
}

bool is_label(std::string_view label) {
  return !label.empty() && label.size() <= kMostLabelBytes && label.front() != '-' && label.back() != '-' &&
         std::ranges::all_of(label, [](char c) { return is_letter_or_digit(c) || c == '-'; });
}

// Makes an address safe to print anywhere.
std::string shown(std::string_view address) {
  std::string out(address.substr(0, kMostShown));
  for (char& c : out)
    if (static_cast<unsigned char>(c) < ' ' || static_cast<unsigned char>(c) >= 0x7f) c = '?';
  return out;
}

std::optional<std::string> name_at(std::string_view address, std::string_view host) {
  if (!address.ends_with(host) || !is_mail_address(address)) return std::nullopt;
  return std::string(address.substr(0, address.size() - host.size()));
}

}  // namespace

bool is_mail_address(std::string_view address) {
  if (address.size() > kMostAddressBytes) return false;
  const size_t at = address.find('@');
  if (!is_local_part(address.substr(0, at))) return false;
  if (at == std::string_view::npos) return true;
  const auto labels = split(address.substr(at + 1), '.');
  return !labels.empty() && std::ranges::all_of(labels, is_label);
}

Result<std::vector<std::string>> parse_mail_addresses(std::string_view list) {
  std::vector<std::string> out;
  for (std::string_view word : split(list, ',')) {
    word = trim(word);
    if (word.empty()) continue;
    if (!is_mail_address(word))
      return failure("\"" + shown(word) +
                     "\" is no mail address: use NAME or NAME@HOST, of letters, digits and . _ + - = %");
    if (out.size() == kMostMailAddresses) return failure("more than ten mail addresses");
    out.emplace_back(word);
  }
  if (out.empty()) return failure("no mail address is given");
  return out;
}

std::optional<std::string> webhook_name(std::string_view address) {
  return name_at(address, "@webhook");
}

std::optional<std::string> command_name(std::string_view address) {
  return name_at(address, "@command");
}

std::vector<std::string> addresses_apart(const std::string& list) {
  const auto addresses = parse_mail_addresses(list);
  if (!addresses || addresses->size() == 1) return {list};
  std::string mail;
  std::vector<std::string> apart;
  for (const std::string& one : *addresses) {
    if (webhook_name(one) || command_name(one)) {
      apart.push_back(one);
    } else {
      mail.append(mail.empty() ? "" : ",").append(one);
    }
  }
  if (!mail.empty()) apart.insert(apart.begin(), mail);
  return apart;
}

Status check_mail_user(std::string_view list) {
  if (list.size() > kMostListBytes) return failure("a list of mail addresses has 1024 characters at most");
  size_t begin = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    const char c = list[i];
    if (i == begin && (c == ',' || c == ' ')) {
      begin = i + 1;
      continue;
    }
    const bool control = static_cast<unsigned char>(c) < ' ' || c == 0x7f;
    const bool leads = i == begin && std::string_view("-=+.~!@#%&").find(c) != std::string_view::npos;
    if (control || leads || std::string_view("/|\\`;").find(c) != std::string_view::npos)
      return failure("\"" + shown(list) + "\" is no mail address: use NAME or NAME@HOST");
    if (c == ',' || c == ' ') begin = i + 1;
  }
  return {};
}

}  // namespace minke::text
