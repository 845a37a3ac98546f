// Base64 (RFC 4648), with padding and without line ends. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace minke::text {

std::string base64(std::string_view bytes);

}  // namespace minke::text
