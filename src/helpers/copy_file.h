// Finds and copies files for users' commands, with the caller's own rights. Any thread.
#pragma once

#include <string>

#include "base/result.h"

namespace minke::helpers {

struct CopyOptions {
  bool replace = false;   // replaces an existing file; otherwise that is an error
  bool preserve = false;  // mode and times
};
// Copies one regular file. Errors: errno as the code.
Status copy_file(const std::string& from, const std::string& to, const CopyOptions& options);
// The same for a directory and all below it; symbolic links stay links, other kinds of files are left out.
// Adds to an existing directory.
Status copy_tree(const std::string& from, const std::string& to, const CopyOptions& options);

// Finds a program as a shell would: a path as it is (relative ones from `directory`), a name on PATH. Returns
// the name itself if it is not found.
std::string find_program(const std::string& name, const std::string& directory);

}  // namespace minke::helpers
