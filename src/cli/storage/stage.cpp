// minke stage: brings data sets to the node's own disk, for the job that asks. minke staged-script runs a
// batch script with #MINKE lines: it brings their data, runs the script, and brings results back when the
// script has ended, by itself or by a time limit or cancellation.
#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cli/parse_options.h"
#include "cli/progress.h"
#include "cli/storage/storage.h"
#include "helpers/names.h"
#include "helpers/staging_service.h"
#include "os/files.h"
#include "storage/archives.h"
#include "storage/copy_tree.h"
#include "storage/staging.h"
#include "storage/words.h"
#include "submit/data_directives.h"
#include "submit/script.h"
#include "text/file_pattern.h"
#include "view/output.h"

namespace minke::cli {

namespace {

using std::chrono::steady_clock;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// A batch script's step is none, or, since 24.11, -5.
bool is_batch_script() {
  const std::string step = variable("SLURM_STEP_ID");
  return step.empty() || step == "-5";
}

// Returns the user's cache, beside the directories of jobs; empty if nothing can be kept there.
std::string cache_of(const std::string& directory) {
  if (directory.empty()) return "";
  const std::string cache =
      directory.substr(0, directory.rfind('/')) + "/stage-cache-" + std::to_string(::geteuid());
  struct stat status {};
  if (::mkdir(cache.c_str(), 0700) != 0 && errno != EEXIST) return "";
  const bool own =
      ::lstat(cache.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == ::geteuid();
  return own ? cache : "";
}

std::string last_component(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path.substr(path.rfind('/') + 1);
}

// Returns the name of a source in the directory; that of an archive loses its suffix.
std::string staged_name(const std::string& source) {
  const std::string name = last_component(source);
  struct stat status {};
  const bool file = ::stat(source.c_str(), &status) == 0 && S_ISREG(status.st_mode);
  return file ? storage::without_suffix(name) : name;
}

// Checks that no two sources would get the same name and become one.
bool have_names_of_their_own(const char* command, const std::vector<std::string>& sources) {
  std::map<std::string, std::string> names;
  for (const std::string& source : sources) {
    const auto [at, fresh] = names.try_emplace(staged_name(helpers::following(source)), source);
    if (fresh || helpers::following(at->second) == helpers::following(source)) continue;
    view::print_error(command, storage::shown_path(at->second + " and " + source +
                                                   " would have the same name, " + at->first));
    return false;
  }
  return true;
}

// Brings all of them at the same time. Returns false if at least one failed, which has been printed.
// `shared`: the directory is a job's own, which may have links into the cache that all users share.
bool stage_all(const char* command, const std::vector<std::string>& sources, const std::string& directory,
               const std::string& cache, bool shared, bool quiet, const std::atomic<bool>* stop) {
  if (!have_names_of_their_own(command, sources)) return false;
  std::atomic<bool> all{true};
  std::vector<std::thread> threads;
  for (const std::string& source : sources) {
    threads.emplace_back([&, source] {
      storage::Failures failures;
      const auto begin = steady_clock::now();
      auto served = shared ? helpers::stage_by_server(source, directory) : std::nullopt;
      // squashfuse would end with the step that starts it; the kernel mounts root's.
      const bool mount = shared && (::geteuid() == 0 || is_batch_script());
      const storage::StageOptions options{.cache = cache, .mount = mount, .stop = stop};
      const auto staged = served ? Result<storage::Staged>(std::move(*served))
                                 : storage::stage(source, directory, options, failures);
      const double seconds = std::chrono::duration<double>(steady_clock::now() - begin).count();
      if (!staged) {
        helpers::report_errors(command, failures.kept(), failures.count());
        view::print_error(command, storage::shown_path(staged.error().message));
        all = false;
      } else if (!quiet) {
        view::write_out(fmt::format("{} -> {} ({})\n", storage::shown_path(source),
                                    storage::shown_path(staged->path),
                                    staged->cached ? "it was there" : fmt::format("{:.1f} s", seconds)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return all;
}

// Expands patterns as in names of output files.
std::string expanded(const std::string& path) {
  text::FilePatternValues values;
  const auto number = [](const char* name) {
    return static_cast<uint32_t>(std::strtoul(variable(name).c_str(), nullptr, 10));
  };
  values.job_id = number("SLURM_JOB_ID");
  values.array_job_id = number("SLURM_ARRAY_JOB_ID");
  if (!variable("SLURM_ARRAY_TASK_ID").empty()) values.array_task_id = number("SLURM_ARRAY_TASK_ID");
  values.step = "batch";
  values.host_name = variable("SLURMD_NODENAME");
  const passwd* user = ::getpwuid(::geteuid());
  values.user_name = user != nullptr ? user->pw_name : std::to_string(::geteuid());
  values.job_name = variable("SLURM_JOB_NAME");
  return text::expand_file_pattern(path, values);
}

// Collects what the job left in its own directory under the destination's name.
bool collect_all(const std::vector<std::string>& destinations, const std::string& directory) {
  bool all = true;
  for (const std::string& destination : destinations) {
    const std::string from = directory + "/" + last_component(destination);
    storage::CopyProgress progress;
    const Status copied = storage::copy_tree(from, destination, {.threads = 4, .keep_group = true}, progress);
    if (copied) continue;
    all = false;
    helpers::report_errors("minke collect", progress.failures.kept(), progress.failures.count());
    view::print_error("minke collect", storage::shown_path(copied.error().message));
  }
  return all;
}

class Script {
 public:
  explicit Script(char** arguments) : arguments_(arguments) {}

  // Runs it to its end. Returns the wait status, or nothing if it still runs `grace` seconds after the
  // job was told to end.
  std::optional<int> run(double grace) {
    sigset_t all, before;
    ::sigemptyset(&all);
    for (const int number : kHandled) ::sigaddset(&all, number);
    ::sigprocmask(SIG_BLOCK, &all, &before);
    const pid_t child = ::fork();
    if (child == 0) {
      ::sigprocmask(SIG_SETMASK, &before, nullptr);
      ::execv(arguments_[0], arguments_);
      view::print_error("minke", std::string(arguments_[0]) + ": " + std::strerror(errno));
      ::_exit(errno == ENOENT ? 127 : 126);
    }
    if (child < 0) {
      view::print_error("minke", std::string("the script cannot be run: ") + std::strerror(errno));
      return 1 << 8;
    }
    std::optional<steady_clock::time_point> told;
    for (;;) {
      int status = 0;
      if (::waitpid(child, &status, WNOHANG) == child) return status;
      timespec wait{.tv_sec = 3600, .tv_nsec = 0};
      if (told) {
        const double left = grace - std::chrono::duration<double>(steady_clock::now() - *told).count();
        if (left <= 0) return std::nullopt;
        wait = {.tv_sec = static_cast<time_t>(left), .tv_nsec = 100'000'000};
      }
      const int number = ::sigtimedwait(&all, nullptr, &wait);
      // All processes of a job, this and the script, are told of its end; only the batch shell
      // gets other signals.
      if (number == SIGTERM && !told) told = steady_clock::now();
      if (number > 0 && number != SIGCHLD && number != SIGTERM) ::kill(child, number);
    }
  }

 private:
  static constexpr int kHandled[] = {SIGCHLD, SIGTERM, SIGUSR1,  SIGUSR2, SIGHUP,
                                     SIGINT,  SIGALRM, SIGWINCH, SIGURG};
  char** arguments_;
};

int stage(std::vector<std::string> sources, std::string to, bool quiet) {
  const std::string own = variable("SLURM_TMPDIR");
  if (to.empty() && own.empty()) {
    const std::string what = variable("SLURM_JOB_ID").empty() ? "this is no job, which would have a"
                                                              : "this cluster gives its jobs no";
    view::print_error("minke stage", what + " $SLURM_TMPDIR; name a directory with --to");
    return 1;
  }
  const auto& stop = stop_on_signals();
  const bool shared = to.empty();
  const std::string cache = shared ? cache_of(own) : "";
  if (shared) to = own;
  if (Status made = os::make_directories(to, 0777); !made) {
    view::print_error("minke stage", made.error().message);
    return 1;
  }
  return stage_all("minke stage", sources, helpers::following(to), cache, shared, quiet, &stop) ? 0 : 1;
}

}  // namespace

int stage_main(int argc, char** argv) {
  CLI::App app{
      "Puts data sets on the node's own disk: archives unpacked, the rest copied; kept for later jobs.",
      "minke stage"};
  std::vector<std::string> sources;
  std::string to;
  bool quiet = false;
  app.add_option("source", sources, "archives (tar, zip, squashfs), directories or files")->required();
  app.add_option("--to", to,
                 "the directory; default: $SLURM_TMPDIR, with links to what is kept for later jobs");
  app.add_flag("-q,--quiet", quiet, "say nothing when all went well");
  if (const auto over = parse_options(app, argc, argv)) return *over;
  os::raise_descriptor_limit();
  return stage(std::move(sources), std::move(to), quiet);
}

// Arguments: a file with the #MINKE lines, the script, its arguments.
int staged_script_main(int argc, char** argv) {
  if (argc < 3) return 2;
  const auto script = os::read_file(argv[1], submit::kMaxScriptBytes + (1 << 20));
  if (!script) {
    view::print_error("minke", script.error().message);
    return 1;
  }
  auto data = submit::read_data_directives(*script);
  if (!data) {
    view::print_error("minke", data.error().message);
    return 1;
  }
  const std::string directory = helpers::following(variable("SLURM_TMPDIR"));
  for (std::string& source : data->stage) source = expanded(source);
  for (std::string& destination : data->collect) {
    destination = expanded(destination);
    // The job finds it there from the beginning.
    const std::string made = directory + "/" + last_component(destination);
    if (Status there = os::make_directories(made, 0777); !there) {
      view::print_error("minke collect", there.error().message);
      return 1;
    }
  }
  if (!data->stage.empty() && !stage_all("minke stage", data->stage, directory,
                                         cache_of(variable("SLURM_TMPDIR")), true, true, nullptr))
    return 1;
  // Between SIGTERM and SIGKILL, the script has two thirds of the time to end; the results get the rest.
  const double kill_wait = std::strtod(variable("MINKE_KILL_WAIT").c_str(), nullptr);
  ::unsetenv("MINKE_KILL_WAIT");
  const auto status = Script(argv + 2).run(kill_wait * 2 / 3);
  const bool collected = collect_all(data->collect, directory);
  if (!status) return 143;
  if (WIFSIGNALED(*status)) {  // the job ends as the script did
    ::signal(WTERMSIG(*status), SIG_DFL);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::raise(WTERMSIG(*status));
  }
  const int code = WIFEXITED(*status) ? WEXITSTATUS(*status) : 1;
  return code == 0 && !collected ? 1 : code;
}

}  // namespace minke::cli
