#include "portal/app_sessions.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "os/files.h"
#include "os/read_at.h"
#include "portal/app_connection.h"
#include "portal/sessions.h"
#include "text/printable.h"

namespace minke::portal {
namespace {

constexpr size_t kMostSessions = 200, kMostFile = 64 * 1024;
constexpr int64_t kMostSaid = 4096;
constexpr mode_t kOwnDirectory = 0700, kOwnFile = 0600;
constexpr const char* kFiles[] = {"gate.json", "script.sh", "session.json", "output.log"};

Result<std::string> directory_of(const std::string& key) {
  auto all = app_sessions_directory();
  if (!all) return all;
  if (!is_app_key(key)) return failure("there is no such session", ENOENT);
  return *all + "/" + key;
}

Result<Json> read_session(const std::string& key) {
  const auto directory = directory_of(key);
  if (!directory) return failure(directory.error());
  const auto text = os::read_file(*directory + "/session.json", kMostFile);
  if (!text) return failure("there is no such session", ENOENT);
  Json value = Json::parse(*text, nullptr, false);
  if (!value.is_object()) return failure("there is no such session", ENOENT);
  return value;
}

std::string text_of(const Json& value, const char* name) {
  return value.contains(name) && value[name].is_string() ? text::printable(value[name].get<std::string>())
                                                         : std::string();
}

int64_t number_of(const Json& value, const char* name) {
  return value.contains(name) && value[name].is_number_integer() ? value[name].get<int64_t>() : 0;
}

}  // namespace

Result<std::string> make_app_session(const config::AppSettings& app, int64_t now) {
  const std::string key = random_word();
  const auto directory = directory_of(key);
  if (!directory) return failure(directory.error());
  if (const Status made = os::make_directories(*directory, kOwnDirectory); !made)
    return failure(made.error());
  const Json value = {{"app", app.name},     {"title", app.title}, {"start", app.start},
                      {"job_id", 0},         {"began", now},       {"strips_address", app.strips_address},
                      {"header", app.header}};
  for (const auto& [name, text] :
       {std::pair("session.json", value.dump() + "\n"), std::pair("script.sh", app.script)})
    if (const Status kept = os::replace_file(*directory + "/" + name, text, kOwnFile); !kept) {
      forget_app_session(key);
      return failure(kept.error());
    }
  return key;
}

Status set_app_job(const std::string& key, uint32_t job_id) {
  auto value = read_session(key);
  if (!value) return failure(value.error());
  (*value)["job_id"] = job_id;
  return os::replace_file(*directory_of(key) + "/session.json", value->dump() + "\n", kOwnFile);
}

std::vector<AppSession> app_sessions() {
  std::vector<AppSession> sessions;
  const auto directory = app_sessions_directory();
  if (!directory) return sessions;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(directory->c_str()), ::closedir);
  if (open == nullptr) return sessions;
  while (const dirent* entry = ::readdir(open.get())) {
    if (!is_app_key(entry->d_name)) continue;
    if (auto session = read_app_session(entry->d_name)) sessions.push_back(std::move(*session));
  }
  std::sort(sessions.begin(), sessions.end(), [](const auto& a, const auto& b) { return a.began > b.began; });
  if (sessions.size() > kMostSessions) sessions.resize(kMostSessions);
  return sessions;
}

Result<AppSession> read_app_session(const std::string& key) {
  const auto value = read_session(key);
  if (!value) return failure(value.error());
  AppSession session{key, text_of(*value, "app"), text_of(*value, "title"), text_of(*value, "start")};
  session.job_id = static_cast<uint32_t>(std::clamp<int64_t>(number_of(*value, "job_id"), 0, UINT32_MAX));
  session.began = number_of(*value, "began");
  return session;
}

bool is_app_ready(const std::string& key) {
  const auto directory = directory_of(key);
  return directory && read_app_gate(*directory).has_value();
}

std::string app_output(const std::string& key) {
  const auto directory = directory_of(key);
  if (!directory) return {};
  const os::UniqueFd file(
      ::open((*directory + "/output.log").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  const int64_t size = std::min<int64_t>(status.st_size, kMostSaid);
  std::string text(static_cast<size_t>(size), '\0');
  if (!os::read_at(file.get(), text.data(), text.size(), static_cast<uint64_t>(status.st_size - size)))
    return {};
  return text::printable_lines(text);
}

Status forget_app_session(const std::string& key) {
  const auto directory = directory_of(key);
  if (!directory) return failure(directory.error());
  for (const char* name : kFiles) ::unlink((*directory + "/" + name).c_str());
  if (::rmdir(directory->c_str()) != 0 && errno != ENOENT) return failure_from_errno(*directory, errno);
  return {};
}

}  // namespace minke::portal
