#include "storage/staging.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "os/fd.h"
#include "os/files.h"
#include "storage/archives.h"
#include "storage/copy_tree.h"
#include "storage/remove_tree.h"
#include "storage/tree_walk.h"

namespace minke::storage {

namespace {

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

// Everything in a tree, in one number that does not depend on the order, and how much it is.
class Summary : public Visitor {
 public:
  std::atomic<uint64_t> sum{0}, bytes{0}, entries{0}, failures{0};
  void visit(unsigned, Directory&, const char* name, const struct statx& status) override {
    add(name, status);
  }
  bool enter(unsigned, Directory& directory, const struct statx& status) override {
    add(directory.name().c_str(), status);
    return true;
  }
  void failed(unsigned, const std::string&, int) override { ++failures; }

 private:
  void add(const char* name, const struct statx& status) {
    sum += hash_of(name + state_of(status));
    bytes += status.stx_blocks * 512;
    ++entries;
  }
};

struct Source {
  std::string path, key;  // absolute; all that its content depends on
  uint64_t bytes = 0;     // that the staged form needs, about
  bool is_archive = false;
  std::string name;  // in the job's directory
};

Result<Source> look_at(const std::string& given) {
  char resolved[PATH_MAX];
  if (::realpath(given.c_str(), resolved) == nullptr) return failure_from_errno(given, errno);
  Source source{.path = resolved, .key = {}, .name = {}};
  struct statx status {};
  if (::statx(AT_FDCWD, resolved, 0, STATX_BASIC_STATS, &status) != 0)
    return failure_from_errno(given, errno);
  std::string base = given;
  while (base.size() > 1 && base.back() == '/') base.pop_back();
  base = base.substr(base.rfind('/') + 1);
  if (base == "." || base == ".." || base.empty()) base = source.path.substr(source.path.rfind('/') + 1);
  source.key = source.path + "\n" + std::to_string(status.stx_dev_major) + ":" +
               std::to_string(status.stx_dev_minor) + "\n" + state_of(status) + "\n";
  if (S_ISDIR(status.stx_mode)) {
    Summary summary;
    if (Status walked = walk_tree(source.path, {}, summary); !walked) return failure(walked.error());
    source.key += std::to_string(summary.sum) + "," + std::to_string(summary.entries) + "\n";
    source.bytes = summary.bytes;
    source.name = base;
    return source;
  }
  if (!S_ISREG(status.stx_mode)) return failure(given + ": neither a file nor a directory", EINVAL);
  if (::access(resolved, R_OK) != 0) return failure_from_errno(given, errno);
  source.is_archive = archive_kind(source.path).has_value();
  source.bytes = status.stx_size * (source.is_archive ? 2 : 1);
  source.name = source.is_archive ? without_suffix(base) : base;
  return source;
}

Status bring(const Source& source, const std::string& to, const std::atomic<bool>* stop, Failures& failures) {
  if (source.is_archive) return unpack(source.path, to, stop, {.inner = source.name, .sync = false});
  CopyProgress progress;
  const Status copied = copy_tree(source.path, to, {.sync = false, .stop = stop}, progress);
  for (const Error& error : progress.failures.kept()) failures.add("", error.message, error.code);
  return copied;
}

Status make_read_only(const std::string& path) {
  struct Visit : Visitor {
    void visit(unsigned, Directory& in, const char* name, const struct statx& status) override {
      if (S_ISREG(status.stx_mode)) (void)::fchmodat(in.fd(), name, status.stx_mode & 07555, 0);
    }
    bool enter(unsigned, Directory& directory, const struct statx& status) override {
      (void)::fchmod(directory.fd(), (status.stx_mode & 07555) | 0500);
      return true;
    }
    void failed(unsigned, const std::string&, int) override {}
  } visit;
  return walk_tree(path, {}, visit);
}

os::UniqueFd locked(const std::string& path) {
  os::UniqueFd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  while (lock && ::flock(lock.get(), LOCK_EX) != 0 && errno == EINTR) {
  }
  return lock;
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

// "INODE PATH" of a job's directory.
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

bool is_entry(const std::string& name) {
  return name.size() == 16 && name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// Makes it the job's: notes who uses it, and links to it. False: the entry is not there.
Result<bool> use(const std::string& cache, const std::string& entry, const Source& source,
                 const std::string& directory, const std::string& to) {
  const os::UniqueFd lock = locked(cache + "/lock");
  const auto known = os::read_file(entry + "/source", 64 << 10);
  if (!known || *known != source.key) return false;
  const std::string user = user_text(directory);
  if (Status noted = os::replace_file(entry + "/users/" + hex(hash_of(user)), user, 0600); !noted)
    return failure(noted.error());
  (void)::utimensat(AT_FDCWD, entry.c_str(), nullptr, 0);  // used just now
  const std::string content = entry + "/content";
  if (::symlink(content.c_str(), to.c_str()) == 0) return true;
  char target[PATH_MAX];
  const ssize_t length = errno == EEXIST ? ::readlink(to.c_str(), target, sizeof target) : -1;
  if (length > 0 && std::string_view(target, static_cast<size_t>(length)) == content) return true;
  return failure(to + ": it is there already", EEXIST);
}

}  // namespace

size_t evict(const std::string& cache, uint64_t bytes) {
  if (free_bytes(cache) >= bytes) return 0;
  std::vector<std::pair<int64_t, std::string>> entries;
  for (const std::string& name : names_in(cache)) {
    struct stat status {};
    if (is_entry(name) && ::lstat((cache + "/" + name).c_str(), &status) == 0)
      entries.emplace_back(status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec, name);
  }
  std::sort(entries.begin(), entries.end());
  size_t gone = 0;
  for (const auto& [used, name] : entries) {
    if (free_bytes(cache) >= bytes) break;
    const std::string trash = cache + "/.gone-" + name;
    {
      const os::UniqueFd lock = locked(cache + "/lock");
      if (in_use(cache + "/" + name) || ::rename((cache + "/" + name).c_str(), trash.c_str()) != 0) continue;
    }
    Failures ignored;
    if (remove_tree(AT_FDCWD, trash, ignored)) ++gone;
  }
  return gone;
}

Result<Staged> stage(const std::string& given, const std::string& directory, const std::string& cache,
                     const std::atomic<bool>* stop, Failures& failures) {
  auto source = look_at(given);
  if (!source) return failure(source.error());
  const std::string to = directory + "/" + source->name;
  const auto fail = [&](const Error& error) {
    return failure(
        error.message.starts_with(to) ? given + " to " + error.message : given + ": " + error.message,
        error.code);
  };
  if (cache.empty()) {
    if (Status brought = bring(*source, to, stop, failures); !brought) return fail(brought.error());
    return Staged{to, false};
  }
  const std::string name = hex(hash_of(source->key));
  const std::string entry = cache + "/" + name;
  auto used = use(cache, entry, *source, directory, to);
  if (!used) return fail(used.error());
  if (*used) return Staged{to, true};
  // Of several jobs that want it, one brings it.
  const os::UniqueFd filling = locked(cache + "/lock-" + name);
  used = use(cache, entry, *source, directory, to);
  if (!used) return fail(used.error());
  if (*used) return Staged{to, true};
  evict(cache, source->bytes + source->bytes / 10);
  const std::string making = cache + "/.making-" + name;
  Failures ignored;
  (void)remove_tree(AT_FDCWD, making, ignored);
  (void)remove_tree(AT_FDCWD, entry, ignored);  // another source of the same hash
  if (Status made = os::make_directories(making + "/users", 0700); !made) return fail(made.error());
  Status done = bring(*source, making + "/content", stop, failures);
  if (done) done = make_read_only(making + "/content");
  if (done) done = os::replace_file(making + "/source", source->key, 0600);
  if (done && ::rename(making.c_str(), entry.c_str()) != 0) done = failure_from_errno(entry, errno);
  if (!done) {
    (void)remove_tree(AT_FDCWD, making, ignored);
    return fail(done.error());
  }
  used = use(cache, entry, *source, directory, to);
  if (!used) return fail(used.error());
  if (!*used) return failure(given + ": its place in the cache is gone again", EIO);
  return Staged{to, false};
}

}  // namespace minke::storage
