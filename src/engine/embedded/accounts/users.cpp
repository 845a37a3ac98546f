#include "engine/embedded/accounts/users.h"

#include <grp.h>
#include <pwd.h>

#include <algorithm>
#include <cerrno>
#include <sstream>
#include <vector>

#include "os/process.h"

namespace minke::engine {

namespace {

template <typename Use>
std::string from_passwd(uint32_t uid, const std::string& otherwise, Use use) {
  std::vector<char> buffer(16384);
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr)
    return otherwise;
  const char* value = use(entry);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

}  // namespace

std::string user_name_of(uint32_t uid) {
  return from_passwd(uid, std::to_string(uid), [](const passwd& entry) { return entry.pw_name; });
}

std::string home_directory_of(uint32_t uid) {
  return from_passwd(uid, "/", [](const passwd& entry) { return entry.pw_dir; });
}

std::string login_shell_of(uint32_t uid) {
  return from_passwd(uid, "/bin/sh", [](const passwd& entry) { return entry.pw_shell; });
}

std::string group_name_of(uint32_t gid) {
  std::vector<char> buffer(65536);
  group entry{};
  group* found = nullptr;
  if (getgrgid_r(gid, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) {
    return std::to_string(gid);
  }
  return entry.gr_name;
}

bool is_in_group(uint32_t uid, const google::protobuf::RepeatedPtrField<std::string>& groups) {
  const passwd* user = ::getpwuid(uid);
  if (user == nullptr) return false;
  std::vector<gid_t> ids(64);
  int size = static_cast<int>(ids.size());
  const std::string name = user->pw_name;
  const gid_t own = user->pw_gid;
  if (::getgrouplist(name.c_str(), own, ids.data(), &size) < 0) {
    ids.resize(static_cast<size_t>(size));
    if (::getgrouplist(name.c_str(), own, ids.data(), &size) < 0) return false;
  }
  ids.resize(static_cast<size_t>(size));
  return std::any_of(groups.begin(), groups.end(), [&](const std::string& wanted) {
    const group* found = ::getgrnam(wanted.c_str());
    return found != nullptr && std::find(ids.begin(), ids.end(), found->gr_gid) != ids.end();
  });
}

Owner owner_of_process(int32_t pid) {
  const auto process = os::process_of(pid);
  return process ? Owner{pid, process->start_ticks} : Owner{};
}

bool owner_is_alive(const Owner& owner) {
  if (owner.pid == 0) return false;
  const Owner now = owner_of_process(owner.pid);
  return now.pid == owner.pid && now.start_ticks == owner.start_ticks;
}

bool owner_has_ended(const Owner& owner) {
  if (owner.pid == 0) return true;
  errno = 0;
  const auto process = os::process_of(owner.pid);
  if (process) return process->start_ticks != owner.start_ticks;
  return errno != EMFILE && errno != ENFILE && errno != ENOMEM;
}

std::string format_owner(const Owner& owner) {
  return std::to_string(owner.pid) + " " + std::to_string(owner.start_ticks);
}

Owner parse_owner(const std::string& text) {
  Owner owner;
  std::istringstream fields(text);
  fields >> owner.pid >> owner.start_ticks;
  return owner;
}

}  // namespace minke::engine
