#include "helpers/my_tiers.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>

#include "helpers/names.h"
#include "helpers/programs.h"
#include "os/files.h"
#include "os/minke_home.h"
#include "storage/words.h"
#include "text/shell_quote.h"

namespace minke::helpers {

namespace {

constexpr size_t kMaxFileBytes = 4 << 20;

}  // namespace

Person whoever_runs_this() {
  Person person{.user = {}, .group = {}, .home = {}, .uid = ::getuid(), .gid = ::getgid()};
  const char* home = std::getenv("HOME");
  const passwd* entry = ::getpwuid(person.uid);
  person.user = entry != nullptr ? entry->pw_name : std::to_string(person.uid);
  person.home = home != nullptr ? home : entry != nullptr ? entry->pw_dir : "";
  NameTable names;
  person.group = names.group(person.gid);
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
  return person;
}

Result<TierConfiguration> tier_configuration() {
  const auto home = os::minke_home();
  if (!home) return failure(home.error());
  TierConfiguration configuration{.storage = {}, .home = *home, .tiers = {}};
  const std::string path = os::configuration_path(*home);
  if (path.empty()) return configuration;
  const auto text = os::read_file(path, kMaxFileBytes);
  if (!text) return failure(path + ": " + text.error().message);
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
  const auto tiers = configured_tiers();
  if (!tiers) return "";
  const Person person = whoever_runs_this();
  std::string lines;
  for (const std::string& variable : storage::tier_variables(*tiers, person.user, person.group, "")) {
    const std::string name = variable.substr(0, variable.find('='));
    const std::string value = text::shell_quoted(variable.substr(name.size() + 1));
    lines += csh ? "if ( ! $?" + name + " ) setenv " + name + " " + value + "\n"
                 : "[ -n \"${" + name + "+x}\" ] || export " + name + "=" + value + "\n";
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
