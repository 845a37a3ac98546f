// What commands of minke's own say of a time that cannot be read: what it was, and what to write. Any thread.
#pragma once

#include <string>

#include "base/result.h"
#include "text/printable.h"

namespace minke::cli {

inline Error no_time(const std::string& given) {
  return Error{0, "\"" + text::printable(given) + "\" is no time: write 2026-04-01, 12:30 or now-7days"};
}

}  // namespace minke::cli
