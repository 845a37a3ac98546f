// minke cp, minke sync: copy trees with several threads; success means complete and on the disk. A path on
// another machine is passed to rsync. `minke sync` alone uploads the W&B runs that jobs left here.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/parse_options.h"
#include "cli/progress.h"
#include "cli/runs.h"
#include "cli/storage/storage.h"
#include "helpers/names.h"
#include "os/files.h"
#include "storage/copy_tree.h"
#include "storage/words.h"
#include "view/output.h"

namespace minke::cli {

namespace {

struct Options {
  std::vector<std::string> paths;  // sources, and the destination last
  bool sync = false;               // minke sync: makes one directory a copy of the other
  bool remove_others = false, verify = false, quiet = false;
  unsigned threads = 0;
  const char* name() const { return sync ? "minke sync" : "minke cp"; }
};

int fail(const Options& options, const std::string& message) {
  view::print_error(options.name(), storage::shown_path(message));
  return 1;
}

// "host:path", "user@host:path": a colon before any slash.
bool is_remote(const std::string& path) {
  const size_t colon = path.find(':');
  return colon != std::string::npos && colon > 0 && path.find('/') > colon;
}

// Owner, group and modes are the destination's: kept groups and lost setgid bits are what fills the quota
// of the wrong group.
int by_rsync(const Options& options) {
  std::vector<std::string> words = {"rsync", "-rltHS", "--executability", "--partial"};
  if (::isatty(STDERR_FILENO) != 0) words.push_back("--info=progress2");
  if (options.remove_others) words.push_back("--delete");
  if (options.verify) words.push_back("--checksum");
  words.push_back("--");
  for (const std::string& path : options.paths)
    words.push_back(options.sync && path.back() != '/' ? path + "/" : path);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp("rsync", arguments.data());
  return fail(options, errno == ENOENT ? "another machine is reached by rsync, which is not installed"
                                       : std::string("rsync: ") + std::strerror(errno));
}

bool is_directory(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::string last_component(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  const std::string last = path.substr(path.rfind('/') + 1);
  return last == "." || last == ".." || last.empty() ? last_component(helpers::following(path)) : last;
}

// Returns two sources of the same name, of which one would replace the other.
std::optional<std::pair<std::string, std::string>> of_the_same_name(const std::vector<std::string>& sources) {
  std::map<std::string, std::string> names;
  for (const std::string& source : sources)
    if (const auto [at, fresh] = names.try_emplace(last_component(source), source); !fresh)
      return std::pair{at->second, source};
  return std::nullopt;
}

// Returns why the sources may not go there; empty if they may.
std::string wrong_destination(const std::vector<std::string>& sources, const std::string& destination,
                              bool into) {
  if (sources.size() > 1 && !into) return destination + ": it must be a directory for several sources";
  struct stat first {};
  if (destination.back() == '/' && !is_directory(destination) &&
      (::lstat(sources.front().c_str(), &first) != 0 || !S_ISDIR(first.st_mode)))
    return destination + ": there is no such directory";
  if (const auto both = of_the_same_name(sources); into && both)
    return both->first + " and " + both->second + " would have the same place in " + destination;
  return "";
}

// Copies sources one after the other, and collects the results.
class Copy {
 public:
  Copy(const Options& options, const std::string& destination, bool into)
      : options_(options), destination_(destination), into_(into), line_([this] {
          // How much there is in all is not known before it has been read.
          return fmt::format("{} files, {}", storage::number_text(progress_.files + progress_.same),
                             text_.of(progress_.bytes, 0));
        }) {}

  // Returns false if the user stopped it.
  bool add(std::string source) {
    // A named link means its target if it is the whole source of a sync,
    // or ends in a slash.
    if (options_.sync || source.back() == '/') source = helpers::following(source);
    const std::string to = target_of(source);
    const uint64_t failed = progress_.failures.count();
    const Status copied = storage::copy_tree(source, to,
                                             {.threads = options_.threads,
                                              .keep_owner = ::geteuid() == 0,
                                              .keep_group = true,
                                              .remove_others = options_.remove_others,
                                              .stop = &stop_},
                                             progress_);
    if (!copied && copied.error().code == ECANCELED) {
      line_.finish();
      fail(options_, "stopped; the same command goes on from here");
      return false;
    }
    if (!copied) {
      complete_ = false;
      line_.finish();
      if (progress_.failures.count() == failed) fail(options_, copied.error().message);
    } else if (options_.verify) {
      if (Status compared = storage::compare_trees(source, to, options_.threads, progress_.failures);
          !compared)
        progress_.failures.add(source, compared.error().message);
    }
    return true;
  }

  // Prints what was copied, or what could not be. Returns the exit code.
  int conclude() {
    line_.finish();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    if (const int code =
            helpers::report_errors(options_.name(), progress_.failures.kept(), progress_.failures.count()))
      return code;
    if (!complete_) return 1;
    if (!options_.quiet)
      view::write_out(fmt::format(
          "{} copied, {} in {:.1f} s; {} there already{}{}\n", storage::counted(progress_.files, "file"),
          storage::bytes_text(progress_.bytes), seconds, storage::number_text(progress_.same),
          progress_.removed > 0 ? "; " + storage::number_text(progress_.removed) + " removed" : "",
          options_.verify ? "; compared" : ""));
    return 0;
  }

 private:
  std::string target_of(const std::string& source) const {
    if (into_) return destination_ + "/" + last_component(source);
    return options_.sync && is_directory(destination_) ? helpers::following(destination_) : destination_;
  }

  const Options& options_;
  const std::string destination_;
  const bool into_;  // the destination is a directory that takes the sources
  const std::atomic<bool>& stop_ = stop_on_signals();
  storage::CopyProgress progress_;
  const ProgressText text_{storage::bytes_text};
  ProgressLine line_;  // reads the progress
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  bool complete_ = true;
};

int copy(const Options& options) {
  for (const std::string& path : options.paths)
    if (path.empty()) return fail(options, "a path is empty");
  for (const std::string& path : options.paths)
    if (is_remote(path)) return by_rsync(options);
  const std::vector<std::string> sources(options.paths.begin(), options.paths.end() - 1);
  const std::string& destination = options.paths.back();
  const bool into = !options.sync && is_directory(destination);
  if (const std::string problem = wrong_destination(sources, destination, into); !problem.empty())
    return fail(options, problem);
  Copy copy(options, destination, into);
  for (const std::string& source : sources)
    if (!copy.add(source)) return 130;
  return copy.conclude();
}

int run(int argc, char** argv, bool sync) {
  Options options;
  options.sync = sync;
  CLI::App app{
      sync ? "Makes one directory what another is: only what differs is copied."
           : "Copies files and trees with everything that they have, by several threads. Success means "
             "complete and on the disk.",
      options.name()};
  app.footer(std::string("host:path names another machine, which rsync reaches over ssh.") +
             (sync ? "\nWithout directories it is minke runs --upload." : ""));
  app.add_option("path", options.paths, sync ? "the directory, and its copy" : "what to copy, and where to")
      ->required()
      ->expected(2, sync ? 2 : 1 << 20);
  if (sync)
    app.add_flag("--delete", options.remove_others, "remove from the copy what the directory has not");
  app.add_flag("--verify", options.verify, "read the copy back from the disk and compare");
  app.add_flag("-q,--quiet", options.quiet, "say nothing when all went well");
  app.add_option("--threads", options.threads, "how many at once (default: 32)")->check(CLI::Range(1, 256));
  if (const auto over = parse_options(app, argc, argv)) return *over;
  os::raise_descriptor_limit();
  ::umask(0);  // modes come from the sources
  return copy(options);
}

}  // namespace

int cp_main(int argc, char** argv) {
  return run(argc, argv, false);
}

int sync_main(int argc, char** argv) {
  if (argc == 1) return runs({.directories = {}, .upload = true});
  return run(argc, argv, true);
}

}  // namespace minke::cli
