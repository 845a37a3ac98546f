// An empty file in the place of a database: a new cluster would begin in it, from job 1, and without a word.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace minke::store {

// Fails if the database is an empty file, though there was one: a log or a note of it (roots.h) is there, or
// one of `signs`, files and directories that a cluster leaves behind and that are not empty. A file that does
// not exist is no error. To be called before SQLite opens the database: it would remove the log. Blocking.
Status check_not_emptied(const std::string& path, std::vector<std::string> signs);

}  // namespace minke::store
