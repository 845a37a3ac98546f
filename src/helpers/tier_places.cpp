#include "helpers/tier_places.h"

#include <dirent.h>
#include <grp.h>
#include <pwd.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "helpers/my_tiers.h"
#include "helpers/names.h"

namespace minke::helpers {

namespace {

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  DIR* open = ::opendir(directory.c_str());
  if (open == nullptr) return names;
  while (const dirent* entry = ::readdir(open))
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  ::closedir(open);
  std::sort(names.begin(), names.end());
  return names;
}

bool is_directory(const std::string& path, struct stat& status) {
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// Whether a name of a machine, with or without its domain, is this one's.
bool is_this_machine(const std::string& name) {
  char host[256] = "";
  if (::gethostname(host, sizeof host - 1) != 0) return false;
  const std::string own = host;
  const auto same = [&](const std::string& other) { return ::strcasecmp(name.c_str(), other.c_str()) == 0; };
  return same(own) || same(own.substr(0, own.find('.')));
}

// Expands the pattern from `begin` on; %u and %g stand for the entries of a directory.
void expand(const std::string& pattern, size_t begin, const std::string& so_far, TierPlace place,
            const KeptHere& here, std::vector<TierPlace>& found) {
  const size_t mark = pattern.find('%', begin);
  struct stat status {};
  if (mark == std::string::npos || mark + 1 >= pattern.size()) {
    place.path = so_far + pattern.substr(begin);
    if (!here.keeps(place.path) || !is_directory(place.path, status)) return;
    if (place.user.empty() ? status.st_gid == place.gid : status.st_uid == place.uid) found.push_back(place);
    return;
  }
  const std::string above = so_far + pattern.substr(begin, mark - begin);
  if (!here.keeps(above)) return;
  for (const std::string& name : names_in(above)) {
    TierPlace one = place;
    if (pattern[mark + 1] == 'u') {
      const passwd* entry = ::getpwnam(name.c_str());
      if (entry == nullptr) continue;
      one.user = name;
      one.uid = entry->pw_uid;
      one.gid = entry->pw_gid;
    } else {
      const group* entry = ::getgrnam(name.c_str());
      if (entry == nullptr) continue;
      one.gid = entry->gr_gid;
    }
    expand(pattern, mark + 2, above + name, one, here, found);
  }
}

}  // namespace

KeptHere::KeptHere(const std::string& keeper)
    : mounts_(storage::Mounts::of_this_process()), network_too_(keeper.empty() || is_this_machine(keeper)) {}

bool KeptHere::keeps(const std::string& path) const {
  return network_too_ || !is_on_network(path);
}

bool KeptHere::is_on_network(const std::string& path) const {
  return storage::is_network_type(mounts_.type_at(path)) ||
         storage::is_network_type(mounts_.type_at(following(path)));
}

std::vector<TierPlace> tier_places(const storage::Tier& tier, const std::vector<storage::Tier>& all,
                                   bool shared, const KeptHere& here) {
  std::vector<TierPlace> places;
  struct stat status {};
  if (tier.of_job) return places;
  if (!shared) {
    const Person person = whoever_runs_this();
    for (const PersonTier& one : tiers_of({tier}, person, {}))
      if (here.keeps(one.path) && is_directory(one.path, status))
        places.push_back({one.path, tier.of_group ? "" : person.user, person.uid, one.gid});
    return places;
  }
  if (!tier.path.empty()) {
    expand(tier.path, 0, "", {}, here, places);
    return places;
  }
  // The homes of users who have files in another tier.
  std::map<std::string, TierPlace> homes;
  for (const storage::Tier& other : all) {
    if (other.path.empty()) continue;
    for (const TierPlace& place : tier_places(other, all, true, here)) {
      const passwd* entry = place.user.empty() ? nullptr : ::getpwnam(place.user.c_str());
      if (entry == nullptr || entry->pw_uid == 0) continue;
      if (here.keeps(entry->pw_dir) && is_directory(entry->pw_dir, status) && status.st_uid == entry->pw_uid)
        homes[place.user] = {entry->pw_dir, place.user, entry->pw_uid, entry->pw_gid};
    }
  }
  for (const auto& [user, place] : homes) places.push_back(place);
  return places;
}

}  // namespace minke::helpers
