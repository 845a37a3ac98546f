// The log of a daemon: one line for each event, to standard error until open_log(), then to a file that is
// rotated. A thin front of spdlog, whose headers are slow to compile. Any thread.
#pragma once

#include <string>

#include "base/result.h"

namespace minke::os {

// Up to three files of 5 MiB: `path`, `path`.1, `path`.2.
Status open_log(const std::string& path);
void log_info(const std::string& text);
void log_warning(const std::string& text);
void log_error(const std::string& text);

}  // namespace minke::os
