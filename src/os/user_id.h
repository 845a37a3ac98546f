// Users by what people call them. Asks the name service; blocking.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace minke::os {

// A user's number, or its name. Fails ("Invalid user: NAME") where there is no such user.
Result<uint32_t> user_id_of(const std::string& user);

}  // namespace minke::os
