// Unique keys that nobody can guess. Any thread.
#pragma once

#include <string>

namespace minke::os {

// Returns 16 bytes: the key of a submission or a step, which identifies one that is sent twice.
std::string random_key();

}  // namespace minke::os
