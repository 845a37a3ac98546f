// One's tiers of storage more closely: what each person has there, what will be purged, and snapshots with a
// way back. Files are looked at and restored with this process's rights, which are those of who asks; a
// listing follows no links, so that it stays within the tier.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>

#include "helpers/counted_tiers.h"
#include "helpers/names.h"
#include "helpers/purge_notice.h"
#include "os/beneath.h"
#include "os/fd.h"
#include "os/program_output.h"
#include "portal/desk.h"
#include "portal/job_json.h"
#include "portal/page_answers.h"
#include "storage/snapshots.h"
#include "storage/words.h"
#include "text/number.h"
#include "text/printable.h"

namespace minke::portal {
namespace {

constexpr size_t kMostEntries = 2000;
constexpr size_t kMostSaid = 16 * 1024;
constexpr std::chrono::seconds kRestoring{550};

std::vector<helpers::PersonTier> own_tiers(const helpers::TierConfiguration& cluster) {
  return helpers::tiers_of(cluster.tiers, helpers::whoever_runs_this(), cluster.storage.project_groups);
}

// The tier's directory that a path is in; none: it is no path within one.
Result<std::string> tier_of(const std::string& path) {
  if (!path.starts_with('/')) return failure("the path must begin with /", EINVAL);
  for (const std::string_view part : text::split(path, '/'))
    if (part == "." || part == "..") return failure("the path must not have . or ..", EINVAL);
  const auto cluster = helpers::cluster_with_tiers();
  if (!cluster) return failure(cluster.error().message, ENOTSUP);
  std::string longest;
  for (const helpers::PersonTier& one : own_tiers(*cluster))
    if ((path == one.path || path.starts_with(one.path + "/")) && one.path.size() > longest.size())
      longest = one.path;
  if (longest.empty()) return failure("the path is in none of your tiers of storage", ENOENT);
  return longest;
}

Json entry_json(int directory, const std::string& name, const std::string& present) {
  struct stat status {
  }, now{};
  if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return {};
  return {{"name", name},
          {"is_directory", S_ISDIR(status.st_mode)},
          {"bytes", static_cast<uint64_t>(status.st_size)},
          {"changed", status.st_mtime},
          {"is_there", ::lstat((present + "/" + name).c_str(), &now) == 0}};
}

// Names that are not UTF-8, or that would not show as they are, cannot be asked for by a page.
bool is_shown(const std::string& name) {
  return name != "." && name != ".." && name != storage::kSnapshotDirectory && text::printable(name) == name;
}

std::vector<std::string> names_in(int directory) {
  constexpr size_t kMostLooked = 200'000;
  std::vector<std::string> names;
  DIR* const stream = ::fdopendir(::fcntl(directory, F_DUPFD_CLOEXEC, 0));
  if (stream == nullptr) return names;
  while (const dirent* entry = ::readdir(stream)) {
    if (names.size() == kMostLooked) break;
    if (is_shown(entry->d_name)) names.emplace_back(entry->d_name);
  }
  ::closedir(stream);
  return names;
}

Json versions_json(const std::string& path) {
  Json list = Json::array();
  for (const storage::Version& one : storage::versions_of(path))
    list.push_back({{"version", storage::snapshot_name(one.snapshot)},
                    {"time", one.snapshot},
                    {"bytes", one.size},
                    {"changed", one.changed},
                    {"is_directory", one.directory}});
  return list;
}

// What a program of ours said on its standard error, without its name.
Result<std::string> run_own(const std::vector<std::string>& command, std::string_view name) {
  auto running = os::ProgramOutput::start(command, {.timeout = kRestoring, .most_bytes = kMostSaid});
  if (!running) return failure(running.error());
  std::string said;
  char buffer[4096];
  for (;;) {
    const auto got = running->read(buffer, sizeof buffer);
    if (!got) return failure(got.error());
    if (*got == 0) break;
    said.append(buffer, *got);
  }
  const auto ended = running->finish();
  if (!ended) return failure(ended.error());
  if (ended->exit_code == 0) return said;
  std::string_view words = text::trim(ended->complaint);
  for (const std::string& prefix : {std::string(name) + ": ", std::string("error: ")})
    if (words.starts_with(prefix)) words.remove_prefix(prefix.size());
  return failure(std::string(words.substr(0, words.find('\n'))), EINVAL);
}

}  // namespace

// A walk through the tier, with what each person has in it: the figures of diskusage_report --per_user.
Result<Reply> show_owners(Call& call) {
  Json value = {{"tiers", Json::array()}};
  if (!call.has("tier")) return json_reply(value);
  const auto cluster = helpers::cluster_with_tiers();
  if (!cluster) return failure(cluster.error().message, ENOTSUP);
  static std::mutex one_at_a_time;
  const std::unique_lock lock(one_at_a_time, std::try_to_lock);
  if (!lock) return failure("files are being counted already; try again when that is done", EBUSY);
  const helpers::Person person = helpers::whoever_runs_this();
  helpers::NameTable names;
  for (const helpers::CountedTier& one :
       helpers::count_tiers(*cluster, person, {call.text("tier")}, helpers::Counting::kOwners)) {
    std::map<uid_t, storage::Amount> users;
    for (const auto& [owner, amount] : one.usage.owners) users[owner.first] += amount;
    Json owners = Json::array();
    for (const auto& [uid, amount] : users)
      if (uid != 0 || call.desk.uid() == 0)  // root's there are the system's
        owners.push_back({{"user", names.user(uid)}, {"bytes", amount.space}, {"files", amount.entries}});
    value["tiers"].push_back({{"name", one.tier.name},
                              {"group", one.tier.of_group ? one.group : std::string()},
                              {"path", text::printable(one.path)},
                              {"problem", one.problem},
                              {"unreadable", one.usage.error_count},
                              {"owners", std::move(owners)}});
  }
  return json_reply(value);
}

Result<Reply> show_purges(Call& call) {
  Json value = {{"now", std::time(nullptr)}, {"is_purged", false}, {"purges", Json::array()}};
  const auto cluster = helpers::cluster_with_tiers();
  if (!cluster) return json_reply(value);  // it has no tiers
  value["is_purged"] = cluster->storage.purge;
  const auto limit = static_cast<size_t>(call.number("limit", 100));
  for (const helpers::PersonTier& one : own_tiers(*cluster)) {
    if (one.tier.purge_days == 0 || one.tier.of_node) continue;
    std::vector<helpers::PurgedFile> files;
    const auto notice = helpers::purge_notice_of(*cluster, one.tier, one.path, [&](helpers::PurgedFile file) {
      if (files.size() < limit) files.push_back(std::move(file));
    });
    Json list = Json::array();
    for (const helpers::PurgedFile& file : files)
      list.push_back(
          {{"path", text::printable(file.path)}, {"bytes", file.bytes}, {"last_use", file.last_use}});
    value["purges"].push_back({{"tier", one.tier.name},
                               {"path", text::printable(one.path)},
                               {"days", one.tier.purge_days},
                               {"list", notice ? text::printable(notice->list) : std::string()},
                               {"noticed", notice ? notice->noticed : 0},
                               {"before", notice ? notice->before : 0},
                               {"removal", notice ? notice->removal : 0},
                               {"files", notice ? notice->files : 0},
                               {"bytes", notice ? notice->bytes : 0},
                               {"listed", std::move(list)}});
  }
  return json_reply(value);
}

Result<Reply> show_snapshots(Call& call) {
  Json value = {{"are_made", false}, {"tiers", Json::array()}};
  const auto cluster = helpers::cluster_with_tiers();
  if (!cluster) return json_reply(value);  // it has no tiers
  value["are_made"] = cluster->storage.snapshots;
  for (const helpers::PersonTier& one : own_tiers(*cluster)) {
    if (one.tier.snapshots.empty()) continue;
    Json times = Json::array();
    for (const int64_t time : storage::list_snapshots(helpers::following(one.path)))
      times.push_back({{"version", storage::snapshot_name(time)}, {"time", time}});
    value["tiers"].push_back({{"name", one.tier.name},
                              {"group", one.tier.of_group ? one.group : std::string()},
                              {"path", text::printable(one.path)},
                              {"snapshots", std::move(times)}});
  }
  return json_reply(value);
}

// A directory as it is, or as it was in a snapshot of its tier.
Result<Reply> list_files(Call& call) {
  const std::string path = call.text("path");
  Json value = {{"path", text::printable(path)},
                {"snapshot", call.number("snapshot")},
                {"more", false},
                {"files", Json::array()}};
  if (path.empty()) return json_reply(value);
  const auto tier = tier_of(path);
  if (!tier) return failure(tier.error());
  std::string below = path.substr(std::min(path.size(), tier->size() + 1));
  if (call.number("snapshot") != 0) {
    const std::string made =
        std::string(storage::kSnapshotDirectory) + "/" + storage::snapshot_name(call.number("snapshot"));
    below = below.empty() ? made : made + "/" + below;
  }
  const os::UniqueFd top(::open(helpers::following(*tier).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!top) return failure(std::strerror(errno), errno == EACCES ? EACCES : ENOENT);
  const auto directory = os::open_beneath(top.get(), below.empty() ? "." : below, O_RDONLY | O_DIRECTORY);
  if (!directory)
    return failure(std::strerror(directory.error().code), directory.error().code == EACCES ? EACCES : ENOENT);
  std::vector<std::string> names = names_in(directory->get());
  std::sort(names.begin(), names.end());
  value["more"] = names.size() > kMostEntries;
  names.resize(std::min(names.size(), kMostEntries));
  for (const std::string& name : names)
    if (Json entry = entry_json(directory->get(), name, path); !entry.is_null())
      value["files"].push_back(std::move(entry));
  return json_reply(value);
}

Result<Reply> list_versions(Call& call) {
  const std::string path = call.text("path");
  Json value = {{"path", text::printable(path)}, {"versions", Json::array()}};
  if (path.empty()) return json_reply(value);
  if (const auto tier = tier_of(path); !tier) return failure(tier.error());
  value["versions"] = versions_json(path);
  return json_reply(value);
}

// By this program's own restore: it refuses to put anything in the place of what is there.
Result<Reply> restore_file(Call& call) {
  const std::string path = call.text("path"), to = call.text("to");
  for (const std::string& one : {path, to})
    if (!one.empty())
      if (const auto tier = tier_of(one); !tier) return failure(tier.error());
  std::vector<std::string> command = {"/proc/self/exe"};
  command.insert(command.end(), {"restore", "--version", call.text("version")});
  if (!to.empty()) command.insert(command.end(), {"--to", to});
  command.insert(command.end(), {"--", path});
  const auto said = run_own(command, "minke restore");
  if (!said) return failure(said.error());
  return json_reply(
      {{"restored", text::printable(to.empty() ? path : to)}, {"said", text::printable_lines(*said)}});
}

}  // namespace minke::portal
