// minke restore: what a file or directory was in the snapshots above it, and one of its versions back in its
// place, or beside it.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/fetch.h"
#include "cli/parse_options.h"
#include "cli/storage/names.h"
#include "cli/storage/progress.h"
#include "cli/storage/storage.h"
#include "os/files.h"
#include "storage/copy_tree.h"
#include "storage/snapshots.h"
#include "storage/words.h"
#include "text/timestamp.h"

namespace minke::cli {

namespace {

constexpr char kName[] = "minke restore";

struct Options {
  std::string path, version, to;
  bool latest = false, replace = false, json = false;
};

int fail(const std::string& message) {
  print_error(kName, message);
  return 1;
}

// Absolute, its directory as links lead to it; what is to be restored need not be there.
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
    write_out(out.dump(2) + "\n");
    return 0;
  }
  std::string text = fmt::format("{:<25} {:>10}  {}\n", "VERSION", "SIZE", "CHANGED");
  for (const storage::Version& version : versions)
    text += fmt::format("{:<25} {:>10}  {}\n", storage::snapshot_name(version.snapshot),
                        version.directory ? "directory" : storage::bytes_text(version.size),
                        text::format_time(version.changed));
  text += "to bring one back: minke restore FILE --version VERSION (or --latest)\n";
  write_out(text);
  return 0;
}

// What is there now steps aside for the moment in which the version takes its place.
Status exchange(const std::string& made, const std::string& path) {
  const std::string aside = made + ".before";
  if (::rename(path.c_str(), aside.c_str()) != 0) return failure_from_errno(path, errno);
  if (::rename(made.c_str(), path.c_str()) != 0) {
    const int error = errno;
    (void)::rename(aside.c_str(), path.c_str());
    return failure_from_errno(path, error);
  }
  std::error_code left;
  std::filesystem::remove_all(aside, left);
  return {};
}

int bring_back(const Options& options, const storage::Version& version, const std::string& path) {
  const std::string to = options.to.empty() ? path : options.to;
  struct stat status {};
  const bool there = ::lstat(to.c_str(), &status) == 0;
  if (there && !options.replace)
    return fail(storage::shown_path(to) +
                " is there: --replace puts the version in its place, --to PATH beside it");
  if (const Status made =
          os::make_directories(to.substr(0, to.rfind('/') == std::string::npos ? 0 : to.rfind('/')), 0777);
      !made && to.find('/') != std::string::npos)
    return fail(made.error().message);
  const std::string aside = to + ".minke-restored";
  storage::CopyProgress progress;
  const Status copied = storage::copy_tree(
      version.path, there ? aside : to,
      {.keep_owner = ::geteuid() == 0, .keep_group = true, .stop = &stop_on_signals()}, progress);
  if (!copied) {
    report_errors(kName, progress.failures.kept(), progress.failures.count());
    return fail(storage::shown_path(copied.error().message));
  }
  if (there) {
    if (const Status exchanged = exchange(aside, to); !exchanged)
      return fail(storage::shown_path(exchanged.error().message));
  }
  write_out(fmt::format("{}: as it was in {}\n", storage::shown_path(to),
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
  app.add_flag("--json", options.json, "as JSON");
  if (const auto over = parse_options(app, argc, argv)) return *over;
  os::raise_descriptor_limit();
  const std::string path = whole_path(options.path);
  const std::vector<storage::Version> versions = storage::versions_of(path);
  if (versions.empty()) return fail(storage::shown_path(path) + ": no snapshot has it");
  if (options.latest) return bring_back(options, versions.front(), path);
  if (options.version.empty()) return list(versions, options.json);
  const auto time = storage::snapshot_time(options.version);
  // A snapshot that is not listed has what the one before it has.
  for (const storage::Version& one : versions)
    if (time && one.snapshot <= *time) return bring_back(options, one, path);
  return fail(options.version + " is no version of it; without --version they are listed");
}

}  // namespace minke::cli
