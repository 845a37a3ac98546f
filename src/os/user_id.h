// Users by name or number. Asks the name service; blocking.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace minke::os {

// Reads a user's number, or name. Fails ("Invalid user: NAME") if there is no such user.
Result<uint32_t> user_id_of(const std::string& user);

}  // namespace minke::os
