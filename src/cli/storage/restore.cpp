// minke restore: shows the versions of a file or directory in the snapshots above it, and puts one back in
// its place, or beside it.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/parse_options.h"
#include "cli/progress.h"
#include "cli/storage/storage.h"
#include "helpers/names.h"
#include "os/fd.h"
#include "os/files.h"
#include "storage/beside.h"
#include "storage/copy_tree.h"
#include "storage/remove_tree.h"
#include "storage/snapshots.h"
#include "storage/words.h"
#include "text/timestamp.h"
#include "view/output.h"

namespace minke::cli {

namespace {

constexpr char kName[] = "minke restore";

struct Options {
  std::string path, version, to;
  bool latest = false, replace = false, links = false, json = false;
};

int fail(const std::string& message) {
  view::print_error(kName, message);
  return 1;
}

// Makes it absolute, and resolves links in its directory; the entry to restore need not exist.
std::string whole_path(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  std::error_code error;
  const std::filesystem::path given(path);
  const auto parent = std::filesystem::weakly_canonical(
      given.has_parent_path() ? given.parent_path() : std::filesystem::path("."), error);
  return error ? path : (parent / given.filename()).string();
}

int list(const std::vector<storage::Version>& versions, bool json) {
  if (json) {
    nlohmann::ordered_json out = nlohmann::ordered_json::array();
    for (const storage::Version& version : versions)
      out.push_back({{"version", storage::snapshot_name(version.snapshot)},
                     {"path", storage::shown_path(version.path)},
                     {"size", version.size},
                     {"changed", version.changed}});
    view::write_out(out.dump(2) + "\n");
    return 0;
  }
  std::string text = fmt::format("{:<25} {:>10}  {}\n", "VERSION", "SIZE", "CHANGED");
  for (const storage::Version& version : versions)
    text += fmt::format("{:<25} {:>10}  {}\n", storage::snapshot_name(version.snapshot),
                        version.directory ? "directory" : storage::bytes_text(version.size),
                        text::format_time(version.changed));
  text += "to bring one back: minke restore FILE --version VERSION (or --latest)\n";
  view::write_out(text);
  return 0;
}

// Makes DIR/.snapshots with a link to the directory in each snapshot, as a file system shows it that knows
// snapshots. Links that were made before, and lead nowhere now, go.
int link_snapshots(const std::vector<storage::Version>& versions, const std::string& path) {
  const std::string directory = path + "/" + storage::kSnapshotDirectory;
  if (::mkdir(directory.c_str(), 0755) != 0 && errno != EEXIST)
    return fail(storage::shown_path(directory) + ": " + std::strerror(errno));
  const os::UniqueFd open(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!open) return fail(storage::shown_path(directory) + ": " + std::strerror(errno));
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (storage::snapshot_time(name) && entry.is_symlink(error))
      (void)::unlinkat(open.get(), name.c_str(), 0);
  }
  size_t made = 0;
  for (const storage::Version& version : versions) {
    if (!version.directory) continue;
    if (::symlinkat(version.path.c_str(), open.get(), storage::snapshot_name(version.snapshot).c_str()) != 0)
      return fail(storage::shown_path(directory) + ": " + std::strerror(errno));
    ++made;
  }
  view::write_out(
      fmt::format("{}: {}\n", storage::shown_path(directory), storage::counted(made, "snapshot")));
  return 0;
}

// Replaces what is there, in one step if the file system can do that, and removes it.
Status exchange(const storage::Beside& place) {
  const int parent = place.parent.get();
  const char *made = place.partial.c_str(), *name = place.name.c_str();
  if (::renameat2(parent, made, parent, name, RENAME_EXCHANGE) != 0) {
    if (errno != EINVAL && errno != ENOSYS) return failure_from_errno(place.directory + "/" + name, errno);
    const std::string aside = place.name + ".before-" + std::to_string(::getpid());
    if (::renameat(parent, name, parent, aside.c_str()) != 0)
      return failure_from_errno(place.directory + "/" + name, errno);
    if (::renameat(parent, made, parent, name) != 0 || ::renameat(parent, aside.c_str(), parent, made) != 0)
      return failure(place.directory + "/" + name + ": what was there is " + aside +
                     " now: " + std::strerror(errno));
  }
  if (::fsync(parent) != 0) return failure_from_errno(place.directory, errno);
  storage::Failures failures;
  if (Status removed = storage::remove_tree(parent, place.partial, failures); !removed)
    return failure("it is back; what was there before is still in " + place.directory + "/" + place.partial +
                   ": " + removed.error().message);
  return {};
}

int bring_back(const Options& options, const storage::Version& version, const std::string& path) {
  std::string to = options.to.empty() ? path : options.to;
  while (to.size() > 1 && to.back() == '/') to.pop_back();
  struct stat status {};
  const bool there = ::lstat(to.c_str(), &status) == 0;
  if (there && !options.replace)
    return fail(storage::shown_path(to) +
                " is there: --replace puts the version in its place, --to PATH beside it");
  if (const size_t slash = to.rfind('/'); slash != std::string::npos && slash > 0)
    if (const Status made = os::make_directories(to.substr(0, slash), 0777); !made)
      return fail(made.error().message);
  const auto place = storage::beside(to);
  if (!place) return fail(storage::shown_path(place.error().message));
  const std::string aside = place->directory + "/" + place->partial;
  storage::Failures ignored;
  // The remains of a killed restore may be of another version.
  if (there) (void)storage::remove_tree(place->parent.get(), place->partial, ignored);
  storage::CopyProgress progress;
  const ProgressText text(storage::bytes_text);
  ProgressLine line(
      [&] { return storage::number_text(progress.files) + " files, " + text.of(progress.bytes, 0); });
  const Status copied = storage::copy_tree(
      version.path, there ? aside : to,
      {.keep_owner = ::geteuid() == 0, .keep_group = true, .stop = &stop_on_signals()}, progress);
  line.finish();
  if (!copied) {
    helpers::report_errors(kName, progress.failures.kept(), progress.failures.count());
    return fail(storage::shown_path(copied.error().message));
  }
  if (there) {
    if (const Status exchanged = exchange(*place); !exchanged)
      return fail(storage::shown_path(exchanged.error().message));
  }
  view::write_out(fmt::format("{}: as it was in {}\n", storage::shown_path(to),
                              storage::snapshot_name(version.snapshot)));
  return 0;
}

}  // namespace

int restore_main(int argc, char** argv) {
  CLI::App app{"What a file was in the snapshots above it, and a version of it back.", kName};
  Options options;
  app.add_option("path", options.path, "a file or a directory; it need not be there any more")->required();
  auto* version = app.add_option("--version", options.version, "the version to bring back, as it is listed");
  app.add_flag("--latest", options.latest, "bring back the latest")->excludes(version);
  auto* to = app.add_option("--to", options.to, "put it there");
  app.add_flag("--replace", options.replace, "put it in the place of what is there")->excludes(to);
  app.add_flag("--links", options.links,
               "make .snapshots in this directory, with a link to what it was in each snapshot")
      ->excludes(version)
      ->excludes(to);
  app.add_flag("--json", options.json, "as JSON");
  if (const auto over = parse_options(app, argc, argv)) return *over;
  os::raise_descriptor_limit();
  const std::string path = whole_path(options.path);
  const std::vector<storage::Version> versions = storage::versions_of(path);
  if (versions.empty()) return fail(storage::shown_path(path) + ": no snapshot has it");
  if (options.links) return link_snapshots(versions, path);
  if (options.latest) return bring_back(options, versions.front(), path);
  if (options.version.empty()) return list(versions, options.json);
  const auto time = storage::snapshot_time(options.version);
  // A snapshot that is not listed has the same version as the one before it.
  for (const storage::Version& one : versions)
    if (time && one.snapshot <= *time) return bring_back(options, one, path);
  return fail(options.version + " is no version of it; without --version they are listed");
}

}  // namespace minke::cli
