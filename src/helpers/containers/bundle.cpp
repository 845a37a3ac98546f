#include "helpers/containers/bundle.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "helpers/containers/gpu_files.h"
#include "os/files.h"
#include "text/number.h"

namespace minke::helpers {

namespace {

constexpr size_t kMostConfigBytes = size_t{16} << 20;
constexpr char kDriver[] = "/tmp/.nvidia";  // not in the bundle, which stays as it is
constexpr char kControlGroups[] = "/sys/fs/cgroup";

std::string variable_of(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The runtime that the configuration names, or the first that is installed.
Result<std::string> find_runtime() {
  std::vector<std::string> names = {"crun", "runc"};
  if (const std::string named = variable_of("MINKE_CONTAINER_RUNTIME"); !named.empty()) names = {named};
  const std::string path = variable_of("PATH") + ":/usr/local/bin:/usr/bin:/usr/local/sbin:/usr/sbin";
  for (const std::string& name : names) {
    if (name.starts_with('/')) {
      if (::access(name.c_str(), X_OK) != 0) return failure_from_errno(name, errno);
      return name;
    }
    for (const std::string_view directory : text::split(path, ':')) {
      const std::string file = std::string(directory) + "/" + name;
      if (directory.starts_with('/') && ::access(file.c_str(), X_OK) == 0) return file;
    }
  }
  return failure("--container needs crun or runc on this machine: apt install crun", ENOENT);
}

// Where the runtime keeps its state: memory, at a path that no other container of the job uses.
Result<std::string> make_place() {
  const std::string tmp_dir = variable_of("SLURM_TMPDIR");
  const std::string place = tmp_dir + "/.container";
  if (tmp_dir.empty()) return failure("there is no SLURM_TMPDIR to put the container's files in", ENOENT);
  if (::mkdir(place.c_str(), 0700) != 0 && errno != EEXIST) return failure_from_errno(place, errno);
  if (const Status made = mount_memory(place, "mode=0700,size=64m"); !made) return failure(made.error());
  for (const char* name : {"/bundle", "/state"})
    if (::mkdir((place + name).c_str(), 0700) != 0) return failure_from_errno(place + name, errno);
  return place;
}

// The container stays in the job's control groups. crun is told so; runc makes none where it may not write.
void leave_control_groups(bool crun) {
  if (crun) {
    (void)mount_memory(kControlGroups, "mode=0555,size=4k");
  } else {
    (void)make_read_only(kControlGroups, true);
  }
}

BundleTerms terms_of(const std::string& bundle, std::vector<std::string> arguments, bool script) {
  BundleTerms terms;
  terms.bundle = bundle;
  terms.arguments = std::move(arguments);
  terms.script = script;
  terms.terminal = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
  for (char** one = environ; *one != nullptr; ++one) terms.environment.emplace_back(*one);
  std::erase_if(terms.environment,
                [](const std::string& one) { return one.starts_with("MINKE_CONTAINER_"); });
  terms.mounts = gpu_mounts(kDriver, terms.environment);
  if (!terms.mounts.empty()) terms.driver = kDriver;
  terms.tmp_dir = variable_of("SLURM_TMPDIR");
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) terms.most_files = files.rlim_max;
  return terms;
}

std::vector<std::string> runtime_command(const std::string& runtime, const std::string& place, bool crun) {
  std::vector<std::string> words = {runtime, "--root=" + place + "/state"};
  if (crun) words.emplace_back("--cgroup-manager=disabled");
  words.insert(words.end(), {"run", "--bundle=" + place + "/bundle"});
  // What an MPI library is told to use is inherited.
  if (const auto fd = text::parse_unsigned(variable_of("PMI_FD"), 1000); fd && *fd > 2)
    words.push_back("--preserve-fds=" + std::to_string(*fd - 2));
  const auto or_zero = [](std::string value) { return value.empty() ? "0" : value; };
  words.push_back("slurm-" + or_zero(variable_of("SLURM_JOB_ID")) + "-" +
                  or_zero(variable_of("SLURM_STEP_ID")) + "-" + or_zero(variable_of("SLURM_PROCID")));
  return words;
}

}  // namespace

Status run_bundle(const std::string& bundle, std::vector<std::string> arguments, bool script) {
  const auto text = os::read_file(bundle + "/config.json", kMostConfigBytes);
  if (!text)
    return failure(
        text.error().message + "; --container names an OCI bundle, as \"umoci unpack --rootless\" makes it",
        text.error().code);
  const auto runtime = find_runtime();
  if (!runtime) return failure(runtime.error());
  const bool crun = runtime->substr(runtime->rfind('/') + 1).find("crun") != std::string::npos;
  const auto config = adapt_config(*text, terms_of(bundle, std::move(arguments), script));
  if (!config) return failure(config.error());
  if (Status entered = enter_own_namespaces(true); !entered) return entered;
  const auto place = make_place();
  if (!place) return failure(place.error());
  if (Status written = os::replace_file(*place + "/bundle/config.json", *config, 0600); !written)
    return written;
  leave_control_groups(crun);
  const auto words = runtime_command(*runtime, *place, crun);
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  ::execv(argv[0], argv.data());
  return failure_from_errno(*runtime, errno);
}

}  // namespace minke::helpers
