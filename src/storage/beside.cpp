#include "storage/beside.h"

#include <fcntl.h>

#include <cerrno>

namespace minke::storage {

Result<Beside> beside(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  const size_t slash = path.rfind('/');
  Beside place;
  place.directory = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  place.name = path.substr(slash == std::string::npos ? 0 : slash + 1);
  if (place.name.empty() || place.name == "." || place.name == "..")
    return failure(path + ": a name is needed", EINVAL);
  place.partial = partial_name(place.name);
  place.parent.reset(::open(place.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!place.parent) return failure_from_errno(place.directory, errno);
  return place;
}

}  // namespace minke::storage
