#include "storage/beside.h"

#include <fcntl.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>

namespace minke::storage {

std::string partial_name(const std::string& name) {
  constexpr size_t kWhole = 230, kFront = 210;  // bytes of a name; it may have 255, with what is added
  if (name.size() <= kWhole) return "." + name + ".minke-partial";
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  char rest[20];
  std::snprintf(rest, sizeof rest, "~%016" PRIx64, hash);
  return "." + name.substr(0, kFront) + rest + ".minke-partial";
}

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

bool same_inode(const struct statx& a, const struct statx& b) {
  return a.stx_ino == b.stx_ino && a.stx_dev_major == b.stx_dev_major && a.stx_dev_minor == b.stx_dev_minor;
}

bool lies_in(int directory, const struct statx& above) {
  const auto look = [](int at, struct statx& status) {
    return at >= 0 && ::statx(at, "", AT_EMPTY_PATH, STATX_INO, &status) == 0;
  };
  struct statx status {
  }, next{};
  os::UniqueFd at(::openat(directory, ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!look(at.get(), status)) return false;
  while (!same_inode(status, above)) {
    at.reset(::openat(at.get(), "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!look(at.get(), next) || same_inode(next, status)) return false;  // the root is its own parent
    status = next;
  }
  return true;
}

}  // namespace minke::storage
