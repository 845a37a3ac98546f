#include "helpers/names.h"

#include <grp.h>
#include <limits.h>
#include <stdlib.h>

#include "storage/words.h"
#include "view/output.h"
#include "view/text.h"

namespace minke::helpers {
namespace {

constexpr size_t kGroupBytes = 1 << 20;  // with its members

}  // namespace

const std::string& NameTable::user(uid_t uid) {
  auto [at, fresh] = users_.try_emplace(uid);
  if (fresh) {
    at->second = view::user_name_of(uid);
  }
  return at->second;
}

const std::string& NameTable::group(gid_t gid) {
  auto [at, fresh] = groups_.try_emplace(gid);
  if (fresh) {
    std::vector<char> buffer(kGroupBytes);
    struct group entry {
    }, *found = nullptr;
    const bool is_known =
        ::getgrgid_r(gid, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr;
    at->second = is_known ? entry.gr_name : std::to_string(gid);
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
