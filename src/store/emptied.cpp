#include "store/emptied.h"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "store/roots.h"

namespace minke::store {
namespace {

bool is_there_and_not_empty(const std::string& path) {
  std::error_code error;
  const bool empty = std::filesystem::is_empty(path, error);
  return !error && !empty;
}

}  // namespace

Status check_not_emptied(const std::string& path, std::vector<std::string> signs) {
  std::error_code error;
  if (std::filesystem::file_size(path, error) > 0 || error) return {};
  signs.push_back(roots_path(path));
  signs.push_back(path + "-wal");
  for (const std::string& sign : signs) {
    if (!is_there_and_not_empty(sign)) continue;
    return failure(
        path + " is empty, but there was a cluster here, of which " + sign +
            " is left. Put a copy of the database in its place, if there is one (minke backup); or "
            "remove it, and a new cluster begins with job 1",
        ENODATA);
  }
  return {};
}

}  // namespace minke::store
