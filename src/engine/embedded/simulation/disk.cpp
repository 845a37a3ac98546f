#include "engine/embedded/simulation/disk.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <utility>

#include "base/result.h"

namespace minke::engine::simulation {

namespace {

constexpr size_t kSector = 512;

std::atomic<Disk*> the_disk{nullptr};

uint64_t below(std::mt19937_64& random, uint64_t limit) {
  return limit == 0 ? 0 : random() % limit;
}

int fail_with(int error_number) {
  errno = error_number;
  return -1;
}

// The real system calls.
int real_open(const char* path, int flags, mode_t mode) {
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
ssize_t real_write(int fd, const void* bytes, size_t size, int64_t offset) {
  return offset < 0 ? ::syscall(SYS_write, fd, bytes, size)
                    : ::syscall(SYS_pwrite64, fd, bytes, size, offset);
}
int real_close(int fd) {
  return static_cast<int>(::syscall(SYS_close, fd));
}
int real_unlink(const std::string& path, bool directory) {
  return static_cast<int>(::syscall(SYS_unlinkat, AT_FDCWD, path.c_str(), directory ? AT_REMOVEDIR : 0));
}

// Uses the C library's own calls, which do not come here.
void empty_directory(const std::string& path) {
  DIR* stream = ::opendir(path.c_str());
  MINKE_CHECK(stream != nullptr);
  while (const dirent* entry = ::readdir(stream)) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    const std::string inside = path + "/" + name;
    const bool directory = entry->d_type == DT_DIR;
    if (directory) empty_directory(inside);
    real_unlink(inside, directory);
  }
  ::closedir(stream);
}

}  // namespace

Disk::Disk(std::string root) : root_(std::move(root) + "/") {
  MINKE_CHECK(the_disk.exchange(this) == nullptr);
}
Disk::~Disk() {
  the_disk = nullptr;
}
Disk* Disk::current() {
  return the_disk;
}

void Disk::set_full(bool full) {
  const std::lock_guard lock(mutex_);
  full_ = full;
}
void Disk::set_failing(uint32_t one_in, uint64_t seed) {
  const std::lock_guard lock(mutex_);
  fails_one_in_ = one_in;
  failures_.seed(seed);
}
void Disk::set_no_descriptors(bool none) {
  const std::lock_guard lock(mutex_);
  no_descriptors_ = none;
}
void Disk::set_dead(bool dead) {
  const std::lock_guard lock(mutex_);
  dead_ = dead;
}
uint64_t Disk::syncs() const {
  const std::lock_guard lock(mutex_);
  return syncs_;
}

bool Disk::is_here(const std::string& path) const {
  return path.starts_with(root_);
}
bool Disk::has(int fd) const {
  const std::lock_guard lock(mutex_);
  return open_.contains(fd);
}
bool Disk::fails() {
  return dead_ || (fails_one_in_ != 0 && failures_() % fails_one_in_ == 0);
}

void Disk::apply(const Change& change, std::string& bytes) {
  if (change.truncates) return bytes.resize(change.offset);
  if (bytes.size() < change.offset + change.bytes.size()) bytes.resize(change.offset + change.bytes.size());
  bytes.replace(change.offset, change.bytes.size(), change.bytes);
}

void Disk::apply(const Naming& naming, Names& names) {
  switch (naming.kind) {
    case Naming::kMade:
      names[naming.name] = naming.file;
      return;
    case Naming::kRemoved:
      names.erase(naming.name);
      return;
    case Naming::kRenamed: {
      names.erase(naming.name);
      names[naming.new_name] = naming.file;
      const std::string inside = naming.name + "/";  // content of a directory
      for (auto at = names.lower_bound(inside); at != names.end() && at->first.starts_with(inside);) {
        auto moved = names.extract(at++);
        moved.key() = naming.new_name + "/" + moved.key().substr(inside.size());
        names.insert(std::move(moved));
      }
      return;
    }
  }
}

void Disk::name(Naming naming) {
  apply(naming, names_);
  unsynced_names_.push_back(std::move(naming));
}

// A file that exists but was not made through here counts as durable.
std::shared_ptr<Disk::File> Disk::known(const std::string& path) {
  const std::string name = path.substr(root_.size());
  if (const auto found = names_.find(name); found != names_.end()) return found->second;
  auto file = std::make_shared<File>();
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) {
    file->mode = info.st_mode & 0777;
    file->is_directory = S_ISDIR(info.st_mode);
  }
  if (!file->is_directory) {
    const int fd = real_open(path.c_str(), O_RDONLY | O_CLOEXEC, 0);
    char buffer[4096];
    for (ssize_t got; fd >= 0 && (got = ::read(fd, buffer, sizeof buffer)) > 0;)
      file->durable.append(buffer, static_cast<size_t>(got));
    if (fd >= 0) real_close(fd);
  }
  names_[name] = durable_names_[name] = file;
  return file;
}

int Disk::open(const std::string& path, int flags, mode_t mode) {
  const std::lock_guard lock(mutex_);
  if (no_descriptors_ || dead_) return fail_with(EMFILE);
  struct stat info {};
  const bool there = ::lstat(path.c_str(), &info) == 0;
  if (!there && full_ && (flags & O_CREAT) != 0) return fail_with(ENOSPC);
  const int fd = real_open(path.c_str(), flags, mode);
  if (fd < 0) return fd;
  std::shared_ptr<File> file;
  if (there) {
    file = known(path);
    if ((flags & O_TRUNC) != 0) file->unsynced.push_back({true, 0, ""});
  } else {
    file = std::make_shared<File>();
    file->mode = mode;
    name({Naming::kMade, path.substr(root_.size()), "", file});
  }
  open_[fd] = std::move(file);
  return fd;
}

void Disk::closed(int fd) {
  const std::lock_guard lock(mutex_);
  open_.erase(fd);
}

ssize_t Disk::write(int fd, const void* bytes, size_t size, int64_t offset) {
  const std::lock_guard lock(mutex_);
  if (fails()) return fail_with(EIO);
  struct stat info {};
  ::fstat(fd, &info);
  int64_t at = offset;
  if (at < 0) at = (::fcntl(fd, F_GETFL) & O_APPEND) != 0 ? info.st_size : ::lseek(fd, 0, SEEK_CUR);
  if (full_ && at + static_cast<int64_t>(size) > info.st_size) return fail_with(ENOSPC);
  const ssize_t written = real_write(fd, bytes, size, offset);
  if (written > 0)
    open_.at(fd)->unsynced.push_back(
        {false, static_cast<size_t>(at),
         std::string(static_cast<const char*>(bytes), static_cast<size_t>(written))});
  return written;
}

int Disk::truncate(int fd, int64_t size) {
  const std::lock_guard lock(mutex_);
  if (fails()) return fail_with(EIO);
  const int outcome = static_cast<int>(::syscall(SYS_ftruncate, fd, size));
  if (outcome == 0) open_.at(fd)->unsynced.push_back({true, static_cast<size_t>(size), ""});
  return outcome;
}

int Disk::sync(int fd) {
  const std::lock_guard lock(mutex_);
  if (fails()) return fail_with(EIO);
  ++syncs_;
  File& file = *open_.at(fd);
  for (const Change& change : file.unsynced) apply(change, file.durable);
  file.unsynced.clear();
  for (const Naming& naming : std::exchange(unsynced_names_, {})) apply(naming, durable_names_);
  return 0;
}

int Disk::rename(const std::string& from, const std::string& to) {
  const std::lock_guard lock(mutex_);
  if (fails()) return fail_with(EIO);
  std::shared_ptr<File> file = known(from);
  const int outcome =
      static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), 0));
  if (outcome == 0)
    name({Naming::kRenamed, from.substr(root_.size()), to.substr(root_.size()), std::move(file)});
  return outcome;
}

int Disk::remove(const std::string& path, bool directory) {
  const std::lock_guard lock(mutex_);
  if (dead_) return fail_with(EIO);
  const int outcome = real_unlink(path, directory);
  if (outcome == 0) name({Naming::kRemoved, path.substr(root_.size()), "", nullptr});
  return outcome;
}

int Disk::make_directory(const std::string& path, mode_t mode) {
  const std::lock_guard lock(mutex_);
  struct stat info {};
  if (dead_) return fail_with(EIO);
  if (full_ && ::lstat(path.c_str(), &info) != 0) return fail_with(ENOSPC);
  const int outcome = static_cast<int>(::syscall(SYS_mkdirat, AT_FDCWD, path.c_str(), mode));
  if (outcome != 0) return outcome;
  auto file = std::make_shared<File>();
  file->is_directory = true;
  file->mode = mode;
  name({Naming::kMade, path.substr(root_.size()), "", std::move(file)});
  return 0;
}

// Keeps none of the unsynced changes, all of them, or some of their sectors.
void Disk::survive(File& file, std::mt19937_64& random) const {
  const uint64_t how = below(random, 4);
  for (const Change& change : file.unsynced) {
    if (how <= 1) break;
    if (how == 2 || change.truncates) {
      apply(change, file.durable);
      continue;
    }
    for (size_t begin = 0; begin < change.bytes.size();) {
      const size_t length =
          std::min(kSector - (change.offset + begin) % kSector, change.bytes.size() - begin);
      if (below(random, 2) == 0)
        apply({false, change.offset + begin, change.bytes.substr(begin, length)}, file.durable);
      begin += length;
    }
  }
  file.unsynced.clear();
}

void Disk::cut_power(std::mt19937_64& random) {
  const std::lock_guard lock(mutex_);
  const size_t kept = below(random, unsynced_names_.size() + 1);
  for (size_t i = 0; i < kept; ++i) apply(unsynced_names_[i], durable_names_);
  unsynced_names_.clear();
  names_ = durable_names_;
  for (const auto& [name, file] : names_) survive(*file, random);
  open_.clear();
  lay_out(names_);
}

void Disk::lay_out(const Names& names) const {
  empty_directory(root_);
  for (const auto& [name, file] : names) {
    const std::string path = root_ + name;
    if (file->is_directory) {
      ::syscall(SYS_mkdirat, AT_FDCWD, path.c_str(), file->mode);
      continue;
    }
    const int fd = real_open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, file->mode);
    MINKE_CHECK(fd >= 0);
    ::syscall(SYS_fchmod, fd, file->mode);
    if (!file->durable.empty()) real_write(fd, file->durable.data(), file->durable.size(), 0);
    real_close(fd);
  }
}

}  // namespace minke::engine::simulation

// ---- in front of the C library's -------------------------------------------------------------------
using minke::engine::simulation::Disk;

namespace {

// The whole path if it is on the simulated disk; empty: elsewhere.
std::string path_here(int directory, const char* path) {
  const Disk* disk = Disk::current();
  if (disk == nullptr || path == nullptr) return {};
  if (path[0] == '/' || directory == AT_FDCWD) return disk->is_here(path) ? path : std::string();
  char base[PATH_MAX];
  const std::string link = "/proc/self/fd/" + std::to_string(directory);
  const ssize_t length = ::readlink(link.c_str(), base, sizeof base);
  if (length <= 0) return {};
  const std::string whole = std::string(base, static_cast<size_t>(length)) + "/" + path;
  return disk->is_here(whole) ? whole : std::string();
}

bool is_here(int fd) {
  const Disk* disk = Disk::current();
  return disk != nullptr && disk->has(fd);
}

int open_at(int directory, const char* path, int flags, mode_t mode) {
  const std::string here = path_here(directory, path);
  if (!here.empty()) return Disk::current()->open(here, flags, mode);
  return static_cast<int>(::syscall(SYS_openat, directory, path, flags, mode));
}

mode_t mode_of(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? static_cast<mode_t>(va_arg(arguments, int)) : 0;
}

}  // namespace

#define MINKE_OPEN(directory)                    \
  va_list arguments;                             \
  va_start(arguments, flags);                    \
  const mode_t mode = mode_of(flags, arguments); \
  va_end(arguments);                             \
  return open_at(directory, path, flags, mode)

extern "C" {

int open(const char* path, int flags, ...) {
  MINKE_OPEN(AT_FDCWD);
}
int open64(const char* path, int flags, ...) {
  MINKE_OPEN(AT_FDCWD);
}
int openat(int directory, const char* path, int flags, ...) {
  MINKE_OPEN(directory);
}
int openat64(int directory, const char* path, int flags, ...) {
  MINKE_OPEN(directory);
}

int close(int fd) {
  if (Disk* disk = Disk::current()) disk->closed(fd);
  return static_cast<int>(::syscall(SYS_close, fd));
}

ssize_t write(int fd, const void* bytes, size_t size) {
  return is_here(fd) ? Disk::current()->write(fd, bytes, size, -1) : ::syscall(SYS_write, fd, bytes, size);
}
ssize_t pwrite(int fd, const void* bytes, size_t size, off_t offset) {
  return is_here(fd) ? Disk::current()->write(fd, bytes, size, offset)
                     : ::syscall(SYS_pwrite64, fd, bytes, size, offset);
}
ssize_t pwrite64(int fd, const void* bytes, size_t size, off64_t offset) {
  return pwrite(fd, bytes, size, offset);
}

int ftruncate(int fd, off_t size) noexcept {
  return is_here(fd) ? Disk::current()->truncate(fd, size)
                     : static_cast<int>(::syscall(SYS_ftruncate, fd, size));
}
int ftruncate64(int fd, off64_t size) noexcept {
  return ftruncate(fd, size);
}

int fsync(int fd) {
  return is_here(fd) ? Disk::current()->sync(fd) : static_cast<int>(::syscall(SYS_fsync, fd));
}
int fdatasync(int fd) {
  return is_here(fd) ? Disk::current()->sync(fd) : static_cast<int>(::syscall(SYS_fdatasync, fd));
}

int rename(const char* from, const char* to) noexcept {
  const std::string here = path_here(AT_FDCWD, from), there = path_here(AT_FDCWD, to);
  if (!here.empty() && !there.empty()) return Disk::current()->rename(here, there);
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

int unlinkat(int directory, const char* path, int flags) noexcept {
  const std::string here = path_here(directory, path);
  if (!here.empty()) return Disk::current()->remove(here, (flags & AT_REMOVEDIR) != 0);
  return static_cast<int>(::syscall(SYS_unlinkat, directory, path, flags));
}
int unlink(const char* path) noexcept {
  return unlinkat(AT_FDCWD, path, 0);
}
int rmdir(const char* path) noexcept {
  return unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

int mkdir(const char* path, mode_t mode) noexcept {
  const std::string here = path_here(AT_FDCWD, path);
  if (!here.empty()) return Disk::current()->make_directory(here, mode);
  return static_cast<int>(::syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}

}  // extern "C"
