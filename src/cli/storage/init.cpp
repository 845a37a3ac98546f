// minke storage init: makes a person's directories in the cluster's tiers, and the links to them in the home.
//
// Root makes what lies in directories of root's. What lies in directories that others may write to (a
// member's directory in a project, the home's links, /tmp) is made by a child with the person's rights.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "cli/storage/storage.h"
#include "helpers/my_tiers.h"
#include "os/files.h"
#include "os/user_child.h"
#include "storage/disk_quota.h"
#include "storage/tiers.h"
#include "storage/words.h"
#include "view/output.h"

namespace minke::cli {

namespace {

constexpr char kName[] = "minke storage";

// `whole`: one that the file system may snapshot and limit by itself, if it can.
Status make_directory(const std::string& path, mode_t mode, uid_t uid, gid_t gid, bool whole) {
  struct stat status {};
  const bool there = ::lstat(path.c_str(), &status) == 0;
  const bool made = !there && whole && storage::make_subvolume(path);
  if (!made && ::mkdir(path.c_str(), 0700) != 0) {
    if (errno == EEXIST) return {};  // it exists already and is left as it is
    return failure_from_errno(path, errno);
  }
  if ((::geteuid() == 0 || gid != ::getegid()) && ::lchown(path.c_str(), uid, gid) != 0)
    return failure_from_errno(path, errno);
  if (::chmod(path.c_str(), mode) != 0) return failure_from_errno(path, errno);
  return {};
}

// Runs the work with the person's rights.
Status as_person(const helpers::Person& person, const std::function<Status()>& work) {
  if (::geteuid() != 0 || person.uid == 0) return work();
  const auto done = os::run_in_child(os::rights_of(person.uid, person.gid),
                                     {.time = std::chrono::seconds(30)}, [&](int answer) {
                                       const Status made = work();
                                       if (made) return 0;
                                       const std::string& words = made.error().message;
                                       return ::write(answer, words.data(), words.size()) >= 0 ? 1 : 2;
                                     });
  if (!done) return failure(done.error());
  if (done->exit_code == 0) return {};
  return failure(done->said.empty() ? "it could not be made" : done->said);
}

Status make_place(const helpers::PersonTier& place, const helpers::Person& person) {
  const storage::Tier& tier = place.tier;
  if (tier.of_node)
    return as_person(person, [&]() -> Status {
      if (Status made = make_directory(place.path, 0700, person.uid, person.gid, false); !made) return made;
      struct stat status {};
      if (::lstat(place.path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == person.uid)
        return {};
      return failure(place.path + ": it is there already, and not " + person.user + "'s");
    });
  if (Status made = os::make_directories(place.path.substr(0, place.path.rfind('/')), 0755); !made)
    return made;
  if (!tier.of_group) return make_directory(place.path, 0700, person.uid, place.gid, true);
  // The group's directory, whose group new entries inherit; each member has an own directory within.
  if (Status made = make_directory(place.path, 02770, ::geteuid(), place.gid, true); !made) return made;
  return as_person(person, [&] {
    return make_directory(place.path + "/" + person.user, 02750, person.uid, place.gid, false);
  });
}

// Makes the home's link to a place. What has its name already stays.
Status make_link(const helpers::PersonTier& place, const helpers::Person& person) {
  const auto name = storage::expanded_path(place.tier.link, person.user, place.group);
  if (!name || name->empty() || person.home.empty()) return {};
  const std::string link = person.home + "/" + *name;
  const std::string above = link.substr(0, link.rfind('/'));
  if (above != person.home && ::mkdir(above.c_str(), 0755) != 0 && errno != EEXIST)
    return errno == ENOENT ? Status{} : Status(failure_from_errno(above, errno));  // there may be no home yet
  if (::symlink(place.path.c_str(), link.c_str()) == 0 || errno == EEXIST || errno == ENOENT) return {};
  return failure_from_errno(link, errno);
}

// Returns in words what enforces the limits of a directory; sets them if it is the file system.
std::string held_by(const helpers::PersonTier& place, const helpers::Person& person) {
  const storage::Tier& tier = place.tier;
  if (::geteuid() != 0 || (tier.space == 0 && tier.files == 0)) return "";
  // Each directory of each tier has a number.
  const uint32_t project = (static_cast<uint32_t>(place.index + 1) << 28) |
                           ((tier.of_group ? place.gid : person.uid) & 0x0fffffff);
  const auto held = storage::set_disk_limits(place.path, project,
                                             {tier.space, tier.hard_space, tier.files, tier.hard_files});
  if (!held) {
    view::print_error(kName, storage::shown_path(held.error().message));
    return "  (limits by counting)";
  }
  switch (*held) {
    case storage::HeldBy::kQgroup:
      return "  (limits by the file system, files by counting)";
    case storage::HeldBy::kProject:
      return "  (limits by the file system)";
    case storage::HeldBy::kNobody:
      break;
  }
  return "  (limits by counting)";
}

}  // namespace

int storage_init(const std::string& user) {
  const auto cluster = helpers::cluster_with_tiers();
  const auto person = helpers::person_named(user);
  if (!cluster || !person) {
    view::print_error(kName, (!cluster ? cluster.error() : person.error()).message);
    return 1;
  }
  int code = 0;
  const auto check = [&](const Status& made) {
    if (!made) view::print_error(kName, storage::shown_path(made.error().message));
    if (!made) code = 1;
    return made.has_value();
  };
  std::vector<helpers::PersonTier> places =
      helpers::tiers_of(cluster->tiers, *person, cluster->storage.project_groups);
  std::erase_if(places, [](const helpers::PersonTier& place) { return place.tier.path.empty(); });
  for (const helpers::PersonTier& place : places) {
    if (!check(make_place(place, *person))) continue;
    view::write_out(fmt::format("{:<9} {}{}\n", place.tier.name, storage::shown_path(place.path),
                                held_by(place, *person)));
  }
  check(as_person(*person, [&]() -> Status {
    for (const helpers::PersonTier& place : places)
      if (Status made = make_link(place, *person); !made) return made;
    return {};
  }));
  return code;
}

}  // namespace minke::cli
