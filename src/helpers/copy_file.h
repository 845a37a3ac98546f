// Files as users' commands need them found and copied, with the caller's own rights. Any thread.
#pragma once

#include <string>

#include "base/result.h"

namespace minke::helpers {

struct CopyOptions {
  bool replace = false;   // what is there already; otherwise that is an error
  bool preserve = false;  // mode and times
};
// Copies one regular file. Errors: errno as the code.
Status copy_file(const std::string& from, const std::string& to, const CopyOptions& options);
// The same of a directory and all that is below it; symbolic links stay links, other kinds of files are left
// out. A directory that is there already is added to.
Status copy_tree(const std::string& from, const std::string& to, const CopyOptions& options);

// A program as a shell would find it: a path as it is (relative ones from `directory`), a name on PATH. Where
// it is not found, the name itself.
std::string find_program(const std::string& name, const std::string& directory);

}  // namespace minke::helpers
