// Log lines that users can cause at will: limits them to so many a minute for each kind and user.
// The next line that is written says how many were not. So no user can rotate away the log of
// others. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace minke::os {

// `kind` names the subject in one word, out of a few.
void log_user_warning(std::string_view kind, uint32_t uid, const std::string& text);

}  // namespace minke::os
