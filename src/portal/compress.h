// gzip for answers. Any thread.
#pragma once

#include <string>
#include <string_view>

namespace minke::portal {

// Empty if it would not be smaller.
std::string compressed(std::string_view text);
// Of what this program has compressed itself; empty if it cannot be.
std::string uncompressed(std::string_view gzip);

}  // namespace minke::portal
