// The name of contents that do not change. Pure.
#pragma once

#include <string>
#include <string_view>

namespace minke::store {

// Identifies immutable contents (a script, an environment) by their SHA-256, so that 5,000 submissions of one
// script keep one copy.
using ContentHash = std::string;  // 32 bytes

ContentHash hash_content(std::string_view bytes);

}  // namespace minke::store
