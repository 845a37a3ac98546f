#include "helpers/my_tiers.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "helpers/names.h"
#include "helpers/programs.h"
#include "os/files.h"
#include "os/minke_home.h"
#include "os/user_child.h"
#include "storage/project_groups.h"
#include "storage/words.h"
#include "text/shell_quote.h"

namespace minke::helpers {

namespace {

constexpr size_t kMaxFileBytes = 4 << 20;
constexpr size_t kMaxPersonBytes = 65536;

}  // namespace

Person whoever_runs_this() {
  Person person{.user = {}, .group = {}, .home = {}, .uid = ::getuid(), .gid = ::getgid()};
  const char* home = std::getenv("HOME");
  std::vector<char> buffer(kMaxPersonBytes);
  passwd stored{}, *entry = nullptr;
  if (::getpwuid_r(person.uid, &stored, buffer.data(), buffer.size(), &entry) != 0) entry = nullptr;
  person.user = entry != nullptr ? entry->pw_name : std::to_string(person.uid);
  person.home = home != nullptr ? home : entry != nullptr ? entry->pw_dir : "";
  NameTable names;
  person.group = names.group(person.gid);
  const int count = ::getgroups(0, nullptr);
  person.groups.resize(static_cast<size_t>(std::max(0, count)));
  if (count > 0 && ::getgroups(count, person.groups.data()) < 0) person.groups.clear();
  return person;
}

Result<Person> person_named(const std::string& user) {
  if (user.empty()) return whoever_runs_this();
  const passwd* entry = ::getpwnam(user.c_str());
  if (entry == nullptr) return failure("Invalid user: " + user);
  Person person{.user = user, .group = {}, .home = entry->pw_dir, .uid = entry->pw_uid, .gid = entry->pw_gid};
  if (person.uid != ::geteuid() && ::geteuid() != 0) return failure("only root does this for others");
  NameTable names;
  person.group = names.group(person.gid);
  person.groups = os::rights_of(person.uid, person.gid).groups;
  return person;
}

std::vector<PersonTier> tiers_of(const std::vector<storage::Tier>& tiers, const Person& person,
                                 const std::vector<std::string>& patterns) {
  const auto projects = storage::project_groups(person.user, person.gid, person.groups, patterns);
  std::vector<PersonTier> all;
  for (size_t i = 0; i < tiers.size(); ++i) {
    const storage::Tier& tier = tiers[i];
    if (!tier.of_group) {
      if (const auto path = storage::tier_path(tier, person.user, person.group, person.home))
        all.push_back({tier, i, *path, person.group, person.gid});
      continue;
    }
    for (const storage::ProjectGroup& project : projects) {
      const auto path = storage::tier_path(tier, person.user, project.name, person.home);
      if (!path) continue;
      if (project.is_users && projects.size() > 1 && ::access(path->c_str(), F_OK) != 0) continue;
      all.push_back({storage::tier_for_group(tier, project.name), i, *path, project.name, project.gid});
    }
  }
  return all;
}

Result<TierConfiguration> tier_configuration() {
  const auto home = os::minke_home();
  if (!home) return failure(home.error());
  TierConfiguration configuration{.storage = {}, .home = *home, .tiers = {}};
  const std::string path = os::configuration_path(*home);
  if (path.empty()) return configuration;
  const auto text = os::read_file(path, kMaxFileBytes);
  if (!text) return failure(text.error());
  auto read = config::parse_storage(*text, path);
  if (!read) return failure(read.error());
  configuration.storage = *read;
  configuration.tiers = read->tiers(*home);
  return configuration;
}

Result<TierConfiguration> cluster_with_tiers() {
  auto configuration = tier_configuration();
  if (configuration && configuration->tiers.empty()) return failure(kNoTiers);
  return configuration;
}

Result<std::vector<storage::Tier>> configured_tiers() {
  auto configuration = cluster_with_tiers();
  if (!configuration) return failure(configuration.error());
  return std::move(configuration->tiers);
}

std::string tier_exports(bool csh) {
  const auto cluster = cluster_with_tiers();
  if (!cluster) return "";
  const std::vector<storage::Tier>* tiers = &cluster->tiers;
  const Person person = whoever_runs_this();
  const auto places = tiers_of(*tiers, person, cluster->storage.project_groups);
  std::string lines;
  std::vector<std::string> variables = storage::tier_variables(*tiers, person.user, person.group, "");
  for (std::string& variable : variables) {  // $PROJECT is the first project
    const auto place = std::find_if(places.begin(), places.end(), [&](const PersonTier& one) {
      return one.tier.of_group && variable.starts_with(one.tier.variable + "=");
    });
    if (place != places.end()) variable = place->tier.variable + "=" + place->path;
  }
  for (const std::string& variable : variables) {
    const std::string name = variable.substr(0, variable.find('='));
    const std::string value = text::shell_quoted(variable.substr(name.size() + 1));
    lines += csh ? "if ( ! $?" + name + " ) setenv " + name + " " + value + "\n"
                 : "[ -n \"${" + name + "+x}\" ] || export " + name + "=" + value + "\n";
  }
  for (const PersonTier& one : places) {  // a reboot may have emptied the node's disk
    if (!one.tier.of_node) continue;
    const std::string path = text::shell_quoted(one.path);
    lines += csh ? "if ( ! -e " + path + " ) mkdir -m 700 " + path + "\n"
                 : "[ -e " + path + " ] || mkdir -m 700 " + path + " || :\n";
  }
  for (const storage::Tier& tier : *tiers) {
    const auto path = storage::tier_path(tier, person.user, person.group, person.home);
    if (tier.purge_days == 0 || !path || ::access(purge_list(*path).c_str(), R_OK) != 0) continue;
    const std::string words = text::shell_quoted(
        "Files in your " + tier.name +
        " that nobody used for long are going to be removed: " + storage::shown_path(purge_list(*path)));
    lines += csh ? "if ( $?prompt ) echo " + words + "\n" : "[ ! -t 2 ] || echo " + words + " >&2\n";
  }
  return lines;
}

}  // namespace minke::helpers
