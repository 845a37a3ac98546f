#include "portal/action_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>

#include "os/fd.h"
#include "os/files.h"
#include "text/number.h"
#include "text/printable.h"

namespace minke::portal {
namespace {

constexpr off_t kMostBytes = 256 * 1024;  // of one file; there are two
constexpr off_t kMostSharedBytes = 4 << 20;
constexpr size_t kMostWords = 500;

std::string directory() {
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && state[0] == '/')
    return std::string(state) + "/minke";
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/')
    return std::string(home) + "/.local/state/minke";
  return {};
}

std::string log_file() {
  const std::string place = directory();
  return place.empty() ? place : place + "/portal.log";
}

// "1795219200 200 ada POST /api/v1/jobs/12/cancel": a name has no blanks.
bool read_line(std::string_view line, LoggedAction& action) {
  const size_t time = line.find(' '), status = line.find(' ', time + 1), user = line.find(' ', status + 1);
  if (time == std::string_view::npos || status == std::string_view::npos || user == std::string_view::npos)
    return false;
  const auto when = text::parse_unsigned(line.substr(0, time), uint64_t{1} << 40);
  const auto outcome = text::parse_unsigned(line.substr(time + 1, status - time - 1), 999);
  if (!when || !outcome) return false;
  action = {static_cast<int64_t>(*when), std::string(line.substr(status + 1, user - status - 1)),
            std::string(line.substr(user + 1)), static_cast<unsigned>(*outcome)};
  return true;
}

std::string line_of(const LoggedAction& action) {
  return std::to_string(action.time) + " " + std::to_string(action.status) + " " +
         text::printable(action.user) + " " + text::printable(action.what.substr(0, kMostWords)) + "\n";
}

std::mutex one_at_a_time;

// Adds the newest lines first, until there are so many.
void add_lines(const std::string& content, size_t most, std::vector<LoggedAction>& all) {
  const auto lines = text::split(content, '\n');
  for (auto line = lines.rbegin(); line != lines.rend() && all.size() < most; ++line)
    if (LoggedAction action; read_line(*line, action)) all.push_back(std::move(action));
}

// Keeps the lines of the later half.
void forget_first_half(int log, off_t size) {
  std::string kept(static_cast<size_t>(size / 2), '\0');
  const ssize_t got = ::pread(log, kept.data(), kept.size(), size - size / 2);
  if (got <= 0 || ::ftruncate(log, 0) != 0) return;
  kept.resize(static_cast<size_t>(got));
  kept.erase(0, kept.find('\n') + 1);
  (void)!::write(log, kept.data(), kept.size());
}

}  // namespace

void log_action(const LoggedAction& action) {
  const std::string file = log_file();
  if (file.empty() || !os::make_directories(directory(), 0700)) return;
  const std::string line = line_of(action);
  const std::lock_guard lock(one_at_a_time);
  struct stat present {};
  if (::stat(file.c_str(), &present) == 0 && present.st_size > kMostBytes)
    ::rename(file.c_str(), (file + ".1").c_str());
  const os::UniqueFd log(::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (log) (void)!::write(log.get(), line.data(), line.size());
}

std::vector<LoggedAction> actions_logged(size_t most) {
  std::vector<LoggedAction> all;
  const std::string file = log_file();
  if (file.empty()) return all;
  for (const std::string& one : {file, file + ".1"}) {
    const auto content = os::read_file(one, 2 * kMostBytes);
    if (content) add_lines(*content, most, all);
  }
  return all;
}

os::UniqueFd open_shared_log(const std::string& file, gid_t readers) {
  os::UniqueFd log(::open(file.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!log) return log;
  const bool is_root_alone = readers == static_cast<gid_t>(-1);
  if (::fchown(log.get(), 0, is_root_alone ? 0 : readers) != 0 ||
      ::fchmod(log.get(), is_root_alone ? 0600 : 0640) != 0)
    log.reset();
  return log;
}

void log_shared_action(int log, const LoggedAction& action) {
  if (log < 0) return;
  const std::string line = line_of(action);
  const std::lock_guard lock(one_at_a_time);
  struct stat present {};
  if (::fstat(log, &present) == 0 && present.st_size > kMostSharedBytes)
    forget_first_half(log, present.st_size);
  (void)!::write(log, line.data(), line.size());
}

std::vector<LoggedAction> shared_actions_logged(const std::string& file, size_t most) {
  std::vector<LoggedAction> all;
  if (const auto content = os::read_file(file, 2 * kMostSharedBytes)) add_lines(*content, most, all);
  return all;
}

}  // namespace minke::portal
