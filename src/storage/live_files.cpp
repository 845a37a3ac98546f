// The files of a LiveIndex: for each path one that its owner can read, and a lock that its keeper holds.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>

#include "os/fd.h"
#include "os/files.h"
#include "storage/live_index.h"

namespace minke::storage {

namespace {

std::string file_of(const std::string& directory, const std::string& path) {
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a; the file says which path it is of
  for (const char c : path) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  char name[20];
  std::snprintf(name, sizeof name, "/%016" PRIx64, hash);
  return directory + name;
}

}  // namespace

Result<LivePublisher> LivePublisher::open(const std::string& directory) {
  if (const Status made = os::make_directories(directory, 0711); !made) return failure(made.error());
  const int starting = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // Others cannot open the directory, only pass through it, so nobody else's lock is in the way.
  if (starting < 0) return failure_from_errno(directory, errno);
  if (::flock(starting, LOCK_EX | LOCK_NB) != 0) {
    ::close(starting);
    return failure(directory + ": another one is at it", EWOULDBLOCK);
  }
  const std::string path = directory + "/lock";
  (void)::unlink(path.c_str());
  // It is a new file each time, for the same reason.
  const int lock = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
  LivePublisher publisher;
  publisher.locks_ =
      std::make_shared<std::pair<os::UniqueFd, os::UniqueFd>>(os::UniqueFd(starting), os::UniqueFd(lock));
  if (lock < 0) return failure_from_errno(path, errno);
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) return failure_from_errno(path, errno);
  (void)::fchmod(lock, 0644);
  publisher.directory_ = directory;
  return publisher;
}

void LivePublisher::publish(const std::string& path, const std::optional<Amount>& amount) {
  const auto [at, first] = last_.try_emplace(path);
  if (!first && at->second.space == amount.value_or(Amount{}).space &&
      at->second.bytes == amount.value_or(Amount{}).bytes &&
      at->second.entries == amount.value_or(Amount{}).entries)
    return;
  at->second = amount.value_or(Amount{});
  const std::string file = file_of(directory_, path);
  struct stat owner {};
  if (!amount || ::stat(path.c_str(), &owner) != 0) {
    (void)::unlink(file.c_str());
    return;
  }
  char numbers[80];
  std::snprintf(numbers, sizeof numbers, "%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", amount->space,
                amount->bytes, amount->entries);
  const std::string fresh = file + ".new";
  (void)::unlink(fresh.c_str());
  const os::UniqueFd out(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0440));
  const std::string text = numbers + path;
  if (!out || ::fchown(out.get(), owner.st_uid, owner.st_gid) != 0 ||
      ::fchmod(out.get(), (owner.st_mode & 0040) != 0 ? 0440 : 0400) != 0 ||
      ::write(out.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      ::rename(fresh.c_str(), file.c_str()) != 0)
    (void)::unlink(fresh.c_str());
}

std::optional<Amount> live_amount(const std::string& directory, const std::string& path) {
  const os::UniqueFd lock(::open((directory + "/lock").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!lock || ::flock(lock.get(), LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK) return std::nullopt;
  const auto text = os::read_file(file_of(directory, path), 1 << 20);
  Amount amount;
  int begin = 0;
  if (!text ||
      std::sscanf(text->c_str(), "%" SCNu64 " %" SCNu64 " %" SCNu64 "\n%n", &amount.space, &amount.bytes,
                  &amount.entries, &begin) != 3 ||
      begin == 0)
    return std::nullopt;
  const size_t line = text->find('\n');
  if (text->substr(line + 1) != path) return std::nullopt;
  return amount;
}

}  // namespace minke::storage
