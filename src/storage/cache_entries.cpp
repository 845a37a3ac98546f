#include "storage/cache_entries.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

#include "os/files.h"
#include "storage/failures.h"
#include "storage/mounted_image.h"
#include "storage/remove_tree.h"

namespace minke::storage {

namespace {

bool is_entry(const std::string& name) {
  return name.size() == 16 && name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// Returns the entries, the least recently used first.
std::vector<std::string> by_last_use(const std::string& cache) {
  std::vector<std::pair<int64_t, std::string>> entries;
  for (const std::string& name : names_in(cache)) {
    struct stat status {};
    if (is_entry(name) && ::lstat((cache + "/" + name).c_str(), &status) == 0)
      entries.emplace_back(status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec, name);
  }
  std::sort(entries.begin(), entries.end());
  std::vector<std::string> names;
  for (auto& [used, name] : entries) names.push_back(std::move(name));
  return names;
}

bool remove_unused(const std::string& cache, const std::string& name) {
  const std::string trash = cache + "/.gone-" + name;
  {
    const os::UniqueFd lock = locked(cache + "/lock");
    if (in_use(cache + "/" + name) || ::rename((cache + "/" + name).c_str(), trash.c_str()) != 0)
      return false;
  }
  remove_entry(trash);
  return true;
}

// Returns what it takes, if this user had it brought.
std::optional<Charge> charge_of(const std::string& entry, uid_t user) {
  const auto text = os::read_file(entry + "/charge", 64);
  const size_t space = text ? text->find(' ') : std::string::npos;
  if (space == std::string::npos || text->substr(0, space) != std::to_string(user)) return std::nullopt;
  Charge charge{std::strtoull(text->c_str() + space, nullptr, 10), 0};
  if (::access((entry + "/image").c_str(), F_OK) == 0) charge.images = 1;
  return charge;
}

}  // namespace

uint64_t hash_of(std::string_view text) {  // FNV-1a; the entry's `source` tells those apart that collide
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

std::string hex(uint64_t number) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
  return text;
}

std::string state_of(const struct statx& status) {
  return std::to_string(status.stx_ino) + "," + std::to_string(status.stx_size) + "," +
         std::to_string(status.stx_mtime.tv_sec) + "." + std::to_string(status.stx_mtime.tv_nsec) + "," +
         std::to_string(status.stx_ctime.tv_sec) + "." + std::to_string(status.stx_ctime.tv_nsec);
}

os::UniqueFd locked(const std::string& path) {
  for (;;) {
    os::UniqueFd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    while (lock && ::flock(lock.get(), LOCK_EX) != 0 && errno == EINTR) {
    }
    struct stat status {};
    // The last holder removed it: others may have another one by now.
    if (!lock || ::fstat(lock.get(), &status) != 0 || status.st_nlink > 0) return lock;
  }
}

Filling::~Filling() {
  if (lock_) (void)::unlink(path_.c_str());
}

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  DIR* stream = ::opendir(directory.c_str());
  if (stream == nullptr) return names;
  while (const dirent* entry = ::readdir(stream))
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  ::closedir(stream);
  return names;
}

// Returns "INODE PATH" of a job's directory.
std::string user_text(const std::string& directory) {
  struct stat status {};
  char resolved[PATH_MAX];
  if (::stat(directory.c_str(), &status) != 0 || ::realpath(directory.c_str(), resolved) == nullptr)
    return "";
  return std::to_string(status.st_ino) + " " + resolved;
}

bool in_use(const std::string& entry) {
  bool used = false;
  for (const std::string& name : names_in(entry + "/users")) {
    const std::string path = entry + "/users/" + name;
    const auto text = os::read_file(path, PATH_MAX + 32);
    const size_t space = text ? text->find(' ') : std::string::npos;
    if (space != std::string::npos && user_text(text->substr(space + 1)) == *text) {
      used = true;
    } else {
      ::unlink(path.c_str());
    }
  }
  return used;
}

uint64_t free_bytes(const std::string& path) {
  struct statvfs status {};
  return ::statvfs(path.c_str(), &status) == 0 ? status.f_bavail * status.f_frsize : 0;
}

uint64_t total_bytes(const std::string& path) {
  struct statvfs status {};
  return ::statvfs(path.c_str(), &status) == 0 ? status.f_blocks * status.f_frsize : 0;
}

uint64_t reserve_of(const std::string& path) {
  return std::min<uint64_t>(total_bytes(path) / 20, uint64_t{10} << 30);
}

namespace {

bool has_mounted_image(const std::string& entry) {
  return ::access((entry + "/image").c_str(), F_OK) == 0 && is_mounted(entry + "/content");
}

}  // namespace

size_t unmount_idle(const std::string& cache) {
  size_t mounted = 0;
  for (const std::string& name : names_in(cache)) {
    const std::string entry = cache + "/" + name;
    if (!is_entry(name) || !has_mounted_image(entry)) continue;
    const os::UniqueFd lock = locked(cache + "/lock");
    // Detached: a process outside of the job may be looking into it at this moment.
    if (in_use(entry) || ::umount2((entry + "/content").c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) != 0)
      ++mounted;
  }
  return mounted;
}

void remove_abandoned(const std::string& cache) {
  constexpr std::string_view kMaking = ".making-";
  std::vector<std::string> found;
  DIR* stream = ::opendir(cache.c_str());
  if (stream == nullptr) return;
  while (const dirent* entry = ::readdir(stream))
    if (std::string_view(entry->d_name).starts_with(kMaking)) found.emplace_back(entry->d_name);
  ::closedir(stream);
  for (const std::string& name : found) {
    const std::string path = cache + "/lock-" + name.substr(kMaking.size());
    const os::UniqueFd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!lock || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) continue;  // another process is making it
    remove_entry(cache + "/" + name);
    ::unlink(path.c_str());
  }
}

void remove_entry(const std::string& entry) {
  if (::geteuid() == 0) (void)::umount2((entry + "/content").c_str(), MNT_DETACH | UMOUNT_NOFOLLOW);
  Failures ignored;
  (void)remove_tree(AT_FDCWD, entry, ignored);
}

size_t evict(const std::string& cache, uint64_t bytes) {
  if (free_bytes(cache) >= bytes) return 0;
  size_t gone = 0;
  for (const std::string& name : by_last_use(cache)) {
    if (free_bytes(cache) >= bytes) break;
    if (remove_unused(cache, name)) ++gone;
  }
  return gone;
}

Charge make_room(const std::string& cache, uid_t user, uint64_t bytes, uint64_t quota, size_t images) {
  struct Own {
    std::string name;
    Charge charge;
  };
  std::vector<Own> own;
  Charge sum;
  for (const std::string& name : by_last_use(cache)) {
    const auto charge = charge_of(cache + "/" + name, user);
    if (!charge) continue;
    sum.bytes += charge->bytes;
    sum.images += charge->images;
    own.push_back({name, *charge});
  }
  for (const Own& one : own) {
    if (sum.bytes + bytes <= quota && sum.images < images) break;
    if (!remove_unused(cache, one.name)) continue;
    sum.bytes -= one.charge.bytes;
    sum.images -= one.charge.images;
  }
  return sum;
}

}  // namespace minke::storage
