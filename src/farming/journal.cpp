#include "farming/journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "os/files.h"

namespace minke::farming {
namespace {

std::string ledger_path(const std::string& directory) {
  return directory + "/ledger";
}

}  // namespace

Status Journal::create(const std::string& directory, uint64_t cases) {
  farm::Entry entry;
  entry.kind = farm::EntryKind::kCases;
  entry.count = cases;
  return os::replace_file(ledger_path(directory), farm::format_entry(entry), 0666);
}

Result<Journal> Journal::open(const std::string& directory) {
  os::UniqueFd file(::open(ledger_path(directory).c_str(), O_RDWR | O_CLOEXEC));
  if (!file) return failure_from_errno(ledger_path(directory), errno);
  auto lock = SharedLock::open(directory + "/lock");
  if (!lock) return failure(lock.error());
  return Journal(directory, std::move(*lock), std::move(file));
}

Status Journal::begin_turn() {
  if (const Status held = lock_.hold(kTurn); !held) return held;
  Status read = look();
  // What is behind the last whole line is of somebody who died while writing.
  struct stat info {};
  if (read && ::fstat(file_.get(), &info) == 0 && static_cast<uint64_t>(info.st_size) > read_ &&
      ::ftruncate(file_.get(), static_cast<off_t>(read_)) != 0)
    read = failure_from_errno(ledger_path(directory_), errno);
  if (!read) lock_.release(kTurn);
  return read;
}

void Journal::end_turn() {
  lock_.release(kTurn);
}

Status Journal::look() {
  std::string unread;
  for (uint64_t at = read_;;) {
    char buffer[64 << 10];
    const ssize_t got = ::pread(file_.get(), buffer, sizeof buffer, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failure_from_errno(ledger_path(directory_), errno);
    if (got == 0) return {};
    at += static_cast<uint64_t>(got);
    unread.append(buffer, static_cast<size_t>(got));
    size_t begin = 0;
    for (size_t end; (end = unread.find('\n', begin)) != std::string::npos; begin = end + 1) {
      const auto entry = farm::parse_entry(std::string_view(unread).substr(begin, end - begin));
      if (!entry)
        return failure(ledger_path(directory_) + " is damaged at byte " + std::to_string(read_) +
                       ": restore the file from a backup");
      if (const Status applied = ledger_.apply(*entry); !applied) return applied;
      read_ += end + 1 - begin;
    }
    unread.erase(0, begin);
  }
}

// What was not written must not have happened for this ledger either.
Status Journal::read_again() {
  ledger_ = farm::Ledger();
  read_ = 0;
  return look();
}

Status Journal::add(const std::vector<farm::Entry>& entries) {
  std::string lines;
  for (const farm::Entry& entry : entries) {
    Status applied = entry.text.find('\n') == std::string::npos
                         ? ledger_.apply(entry)
                         : Status(failure("a line feed in an entry of the ledger"));
    if (!applied) {
      const Status again = read_again();
      return again ? applied : again;
    }
    lines += farm::format_entry(entry);
  }
  size_t written = 0;
  int error_number = 0;
  while (written < lines.size() && error_number == 0) {
    const ssize_t done = ::pwrite(file_.get(), lines.data() + written, lines.size() - written,
                                  static_cast<off_t>(read_ + written));
    if (done < 0 && errno != EINTR) error_number = errno;
    if (done > 0) written += static_cast<size_t>(done);
  }
  if (error_number == 0 && ::fdatasync(file_.get()) != 0) error_number = errno;
  if (error_number == 0) {
    read_ += lines.size();
    return {};
  }
  [[maybe_unused]] const int cut = ::ftruncate(file_.get(), static_cast<off_t>(read_));
  if (const Status again = read_again(); !again) return again;
  return failure_from_errno(ledger_path(directory_), error_number);
}

}  // namespace minke::farming
