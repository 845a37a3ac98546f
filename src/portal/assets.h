// The front end as the build put it into the program: its files, compressed. A build without Node has none.
// Constant data; any thread.
#pragma once

#include <string_view>

namespace minke::portal {

struct Asset {
  std::string_view path;  // "/assets/index-4f2a.js"
  std::string_view type;
  std::string_view gzip;
  std::string_view tag;  // of this content
};

// nullptr: there is no such file.
const Asset* find_asset(std::string_view path);
bool has_front_end();

}  // namespace minke::portal
