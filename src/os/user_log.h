// Log lines that users can cause as often as they like: of each kind and user there are so many a minute. The
// next line that is written says how many were not. So nobody rolls the log over that others read. Any
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace minke::os {

// `kind`: a word for what it is about, one of a few.
void log_user_warning(std::string_view kind, uint32_t uid, const std::string& text);

}  // namespace minke::os
