// Heads of messages: an answer's, with what every answer says to browsers; and which headers a request may
// have twice. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "portal/message.h"

namespace minke::portal {

// `more`: further lines, each with its end.
std::string head_of(const Reply& reply, size_t body_size, bool keep_alive, const std::string& more);

// Of all others one is meant to be believed, and two readers might choose two.
bool may_header_stand_twice(std::string_view name);

}  // namespace minke::portal
