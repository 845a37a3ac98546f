#include "helpers/names.h"

#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>

#include "storage/words.h"
#include "view/output.h"

namespace minke::helpers {

const std::string& NameTable::user(uid_t uid) {
  auto [at, fresh] = users_.try_emplace(uid);
  if (fresh) {
    const passwd* entry = ::getpwuid(uid);
    at->second = entry != nullptr ? entry->pw_name : std::to_string(uid);
  }
  return at->second;
}

const std::string& NameTable::group(gid_t gid) {
  auto [at, fresh] = groups_.try_emplace(gid);
  if (fresh) {
    const struct group* entry = ::getgrgid(gid);
    at->second = entry != nullptr ? entry->gr_name : std::to_string(gid);
  }
  return at->second;
}

std::string following(const std::string& path) {
  char resolved[PATH_MAX];
  return ::realpath(path.c_str(), resolved) != nullptr ? resolved : path;
}

int report_errors(std::string_view command, const std::vector<Error>& errors, uint64_t count) {
  for (const Error& error : errors) view::print_error(command, storage::shown_path(error.message));
  if (count > errors.size())
    view::print_error(command, "… and " + storage::number_text(count - errors.size()) + " more");
  if (count > 0) view::print_error(command, storage::counted(count, "path") + " failed");
  return count > 0 ? 1 : 0;
}

}  // namespace minke::helpers
