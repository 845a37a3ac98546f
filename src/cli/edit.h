// minke edit: the settings of a waiting job in an editor. One thread; blocking.
#pragma once

#include <string>

namespace minke::cli {

// Applies what was changed, as scontrol update does. Returns the exit status.
int edit_job(const std::string& job);

}  // namespace minke::cli
