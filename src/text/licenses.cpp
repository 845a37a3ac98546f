#include "text/licenses.h"

#include <algorithm>

#include "text/number.h"

namespace minke::text {

Result<std::vector<std::pair<std::string, uint32_t>>> parse_licenses(std::string_view text) {
  constexpr uint64_t kMaxCount = 1u << 30;
  std::vector<std::pair<std::string, uint32_t>> licenses;
  if (text == "(null)") return licenses;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find_first_of(",;"));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    if (item.empty()) continue;
    const size_t colon = item.find_first_of(":=");
    const std::string_view name = item.substr(0, colon);
    const auto count = colon == std::string_view::npos
                           ? std::optional<uint64_t>(1)
                           : parse_unsigned(skip_blanks_and_plus(item.substr(colon + 1)), kMaxCount);
    if (name.empty() || name.find_first_of("*| \t") != std::string_view::npos || !count) {
      return failure("Invalid license specification");
    }
    if (*count > 0) licenses.emplace_back(name, static_cast<uint32_t>(*count));
  }
  return licenses;
}

Result<LicenseRequest> parse_license_request(std::string_view text) {
  LicenseRequest request;
  std::string plain(text);
  request.any = plain.find('|') != std::string::npos;
  if (request.any && plain.find_first_of(",;") != std::string::npos)
    return failure("Invalid license specification");
  std::replace(plain.begin(), plain.end(), '|', ',');
  auto licenses = parse_licenses(plain);
  if (!licenses) return failure(licenses.error());
  request.licenses = std::move(*licenses);
  return request;
}

std::vector<std::pair<std::string, uint32_t>> held_licenses(std::string_view requested,
                                                            std::string_view allocated) {
  auto request = parse_license_request(allocated.empty() ? requested : allocated);
  if (!request) return {};
  if (request->any && request->licenses.size() > 1) request->licenses.resize(1);
  return std::move(request->licenses);
}

}  // namespace minke::text
