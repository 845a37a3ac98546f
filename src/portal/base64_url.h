// Base64 as tokens have it (RFC 4648, 5): letters of addresses, and no padding. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace minke::portal {

std::string base64_url(std::string_view bytes);
// Empty if it is none.
std::string from_base64_url(std::string_view text);

}  // namespace minke::portal
