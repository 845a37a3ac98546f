#include "storage/project_groups.h"

#include <fnmatch.h>
#include <grp.h>

#include <algorithm>

namespace minke::storage {

namespace {

constexpr gid_t kFirstOfUsers = 1000;
constexpr gid_t kNobody = 65534, kNone = 65535;

std::string name_of_group(gid_t gid) {
  std::vector<char> buffer(1 << 20);  // a group may have many members
  group entry{};
  group* found = nullptr;
  if (::getgrgid_r(gid, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) return "";
  return entry.gr_name;
}

bool is_named(const std::string& name, const std::vector<std::string>& patterns) {
  return patterns.empty() || std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
           return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
         });
}

}  // namespace

std::vector<ProjectGroup> project_groups(const std::string& user, gid_t primary,
                                         const std::vector<gid_t>& groups,
                                         const std::vector<std::string>& patterns) {
  return project_groups(user, primary, groups, patterns, name_of_group);
}

std::vector<ProjectGroup> project_groups(const std::string& user, gid_t primary,
                                         const std::vector<gid_t>& groups,
                                         const std::vector<std::string>& patterns,
                                         const std::function<std::string(gid_t gid)>& name_of) {
  std::vector<ProjectGroup> others;
  for (const gid_t gid : groups) {
    if (gid == primary || gid < kFirstOfUsers || gid == kNobody || gid == kNone) continue;
    const std::string name = name_of(gid);
    if (!name.empty() && name != user && is_named(name, patterns)) others.push_back({name, gid, false});
  }
  std::sort(others.begin(), others.end(),
            [](const ProjectGroup& a, const ProjectGroup& b) { return a.name < b.name; });
  others.erase(std::unique(others.begin(), others.end(),
                           [](const ProjectGroup& a, const ProjectGroup& b) { return a.gid == b.gid; }),
               others.end());
  std::string name = name_of(primary);
  if (name.empty()) name = std::to_string(primary);
  const bool is_users = name == user || !is_named(name, patterns);
  others.insert(is_users ? others.end() : others.begin(), {name, primary, is_users});
  return others;
}

}  // namespace minke::storage
