// The commands behind `module` in a shell. They turn into Lmod, or the shell, and add some 3 ms to it.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cli/software.h"
#include "os/files.h"
#include "os/minke_home.h"
#include "software/module_files.h"
#include "software/resolve.h"
#include "software/shell_init.h"
#include "software/software_home.h"
#include "text/number.h"
#include "text/shell_quote.h"

namespace minke::cli {

namespace {

namespace fs = std::filesystem;
constexpr size_t kMaxAliasBytes = size_t{1} << 20;

void set_default(const char* name, const std::string& value) {
  ::setenv(name, value.c_str(), 0);
}

bool is_directory(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

// Puts the directory in front, unless it is in the list.
std::string with_front(const std::string& path, const std::string& directory) {
  if ((":" + path + ":").find(":" + directory + ":") != std::string::npos) return path;
  return path.empty() ? directory : directory + ":" + path;
}

// Forgets the modules that another Lmod has loaded in this shell: its files are in other places.
void forget_other_modules() {
  std::vector<std::string> names;
  for (char** line = environ; *line != nullptr; ++line) {
    const std::string_view name = std::string_view(*line).substr(0, std::string_view(*line).find('='));
    if (name.starts_with("_ModuleTable") || name.starts_with("__LMOD_REF_COUNT") || name == "LOADEDMODULES" ||
        name == "_LMFILES_")
      names.emplace_back(name);
  }
  for (const std::string& name : names) ::unsetenv(name.c_str());
}

void prepare_environment(const std::string& home, bool initial) {
  const char* given = std::getenv("MODULEPATH");
  std::string path = given == nullptr ? "" : given;
  if ((":" + path + ":").find(":" + software::modules_path(home) + ":") == std::string::npos)
    forget_other_modules();
  if (path.empty() || initial) {
    path = with_front(path, software::modules_path(home));
    path = with_front(path, software::local_modules_path(home));
    const char* user = std::getenv("HOME");
    if (user != nullptr && is_directory(std::string(user) + "/modulefiles"))
      path = with_front(path, std::string(user) + "/modulefiles");
    ::setenv("MODULEPATH", path.c_str(), 1);
  }
  set_default("MODULESHOME", software::kLmodDirectory);
  set_default("LMOD_CMD", std::string(software::kLmodDirectory) + "/libexec/lmod");
  set_default("LMOD_PACKAGE_PATH", software::lmod_settings_path(home));
  set_default("LMOD_RC", software::lmod_settings_path(home) + "/lmodrc.lua");
  set_default("LMOD_AVAIL_STYLE", "grouped:system");
  set_default("LMOD_AVAIL_EXTENSIONS", "no");
  set_default("LMOD_EXTENDED_DEFAULT", "yes");
  set_default("LMOD_SYSTEM_DEFAULT_MODULES", "StdEnv");
  set_default("LMOD_ALLOW_ROOT_USE", "yes");
}

void collect_versions(const fs::path& directory, const std::string& prefix,
                      std::vector<std::string>& versions, int depth) {
  std::error_code ignored;
  for (fs::directory_iterator entry(directory, ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    std::string name = entry->path().filename().string();
    if (name.starts_with('.')) continue;
    std::error_code unknown;
    if (entry->is_directory(unknown)) {
      if (depth < 3) collect_versions(entry->path(), prefix + name + "/", versions, depth + 1);
      continue;
    }
    if (name.ends_with(".lua")) name.resize(name.size() - 4);
    if (name != "default") versions.push_back(prefix + name);
  }
}

// Reads the modules asked for; of all others it only knows that they exist.
software::Available available_modules() {
  software::Available available;
  const char* path = std::getenv("MODULEPATH");
  for (const std::string_view directory : text::split(path == nullptr ? "" : path, ':')) {
    std::error_code ignored;
    if (directory.empty()) continue;
    for (fs::directory_iterator entry(directory, ignored), end; !ignored && entry != end;
         entry.increment(ignored)) {
      std::string name = entry->path().filename().string();
      if (name.starts_with('.')) continue;
      std::error_code unknown;
      if (entry->is_directory(unknown)) {
        collect_versions(entry->path(), "", available[name], 0);
      } else {
        if (name.ends_with(".lua")) name.resize(name.size() - 4);
        available[name].push_back("");
      }
    }
  }
  return available;
}

software::Aliases own_aliases(const std::string& home) {
  const auto text = os::read_file(software::aliases_path(home), kMaxAliasBytes);
  if (!text) return {};
  auto aliases = software::parse_aliases(*text);
  if (aliases) return std::move(*aliases);
  std::fprintf(stderr, "minke: %s: %s\n", software::aliases_path(home).c_str(),
               aliases.error().message.c_str());
  return {};
}

// Replaces the modules to load, or to look for, by those that exist here. Returns false if nothing is left to
// do.
bool resolve_arguments(const std::string& home, std::vector<std::string>& arguments) {
  static constexpr std::string_view kLoading[] = {"load", "add",    "try-load", "try-add",
                                                  "swap", "switch", "sw",       "spider"};
  const auto command = std::find_if(arguments.begin(), arguments.end(),
                                    [](const std::string& word) { return !word.starts_with('-'); });
  if (command == arguments.end() ||
      std::find(std::begin(kLoading), std::end(kLoading), *command) == std::end(kLoading))
    return true;
  auto first = command + 1;
  // A module to unload keeps the name that it was loaded by.
  const bool swap = command->starts_with("sw");
  if (swap && arguments.end() - first > 1) ++first;
  const std::vector<std::string> wanted(first, arguments.end());
  if (wanted.empty()) return true;
  const software::Resolved resolved = software::resolve(wanted, available_modules(), own_aliases(home));
  for (const std::string& note : resolved.notes) std::fprintf(stderr, "minke: %s\n", note.c_str());
  if (resolved.modules.empty()) return false;
  arguments.erase(first, arguments.end());
  arguments.insert(arguments.end(), resolved.modules.begin(), resolved.modules.end());
  return true;
}

// Makes the modules of a cluster that has none yet, for whoever may.
Status scan_once(const std::string& home) {
  if (os::is_shared(home) && ::geteuid() != 0)
    return failure("there are no modules yet: an administrator makes them with minke software scan");
  std::fputs("minke: looking once for this machine's software (minke software scan)\n", stderr);
  const pid_t child = ::fork();
  if (child == 0) {
    const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null >= 0) ::dup2(null, STDOUT_FILENO);
    ::_exit(software_scan({}));
  }
  int status = 0;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (child > 0 && status == 0 && is_directory(software::modules_path(home))) return {};
  return failure("there are no modules yet: minke software scan");
}

int fail(const std::string& message) {
  std::fprintf(stderr, "module: %s\n", message.c_str());
  std::puts("false");
  return 1;
}

}  // namespace

int modulecmd_main(int argc, char** argv) {
  if (argc < 2) return fail("minke modulecmd SHELL ARGUMENTS; it is for the function module");
  const std::string shell = argv[1][0] == '\0' ? "sh" : argv[1];
  std::vector<std::string> arguments(argv + 2, argv + argc);
  const auto home = os::minke_home();
  if (!home) return fail(home.error().message);
  const std::string lmod = std::string(software::kLmodDirectory) + "/libexec/lmod";
  if (::access(lmod.c_str(), X_OK) != 0) return fail("Lmod is not installed; as root: apt-get install lmod");
  const bool initial = arguments.size() == 1 && arguments[0] == "--initial";
  const bool csh = shell == "tcsh" || shell == "csh";
  if (!is_directory(software::modules_path(*home))) {
    if (const Status made = scan_once(*home); !made) return initial ? 0 : fail(made.error().message);
    if (!csh) std::printf(". %s\n", text::shell_quoted(software::init_path(*home) + "/sh").c_str());
  }
  prepare_environment(*home, initial);
  if (initial) {
    std::fputs(csh ? "setenv MINKE_MODULES 1;\n" : "export MINKE_MODULES=1\n", stdout);
    // A login shell's profile may have lost the path of the commands.
    if (!csh) {
      const std::string bin = text::shell_quoted(os::bin_path(*home));
      std::printf("case \":$PATH:\" in *:%s:*) ;; *) export PATH=%s:\"$PATH\" ;; esac\n", bin.c_str(),
                  bin.c_str());
    }
    arguments = {"--initial_load", "--no_redirect", "restore"};
  } else if (!resolve_arguments(*home, arguments)) {
    return 0;
  }
  std::fflush(stdout);
  std::vector<char*> words = {const_cast<char*>(lmod.c_str()), const_cast<char*>(shell.c_str())};
  for (std::string& word : arguments) words.push_back(word.data());
  words.push_back(nullptr);
  ::execv(lmod.c_str(), words.data());
  return fail(lmod + ": " + std::strerror(errno));
}

int script_shell_main(int argc, char** argv) {
  const auto words = text::split(argv[1], ' ');
  const auto home = os::minke_home();
  if (argc < 3 || words.size() < 2 || !home) {
    std::fprintf(stderr, "minke script-shell: it is for job scripts\n");
    return 127;
  }
  const std::string shell(words[1]);
  std::vector<std::string> command = {shell};
  for (size_t i = 2; i < words.size(); ++i) {
    if (!words[i].empty()) command.emplace_back(words[i]);
  }
  const bool csh = shell.ends_with("csh");
  const std::string path = software::init_path(*home) + (csh ? "/csh" : "/sh");
  const std::string init = text::shell_quoted(path);
  command.push_back("-c");
  if (csh) {
    std::string line = "source " + init + "; source";
    for (int i = 2; i < argc; ++i) line += " " + text::shell_quoted(argv[i]);
    command.push_back(line);
  } else {
    // After a profile, this sets again the job's cluster, and puts its commands in front.
    std::string code =
        "export MINKE_HOME=" + text::shell_quoted(*home) + "; " + software::commands_in_front() + " ";
    // bash takes its functions from the environment.
    if (!shell.ends_with("bash") && ::access(path.c_str(), R_OK) == 0) code += ". " + init + "; ";
    command.push_back(code + ". \"$0\"");
    for (int i = 2; i < argc; ++i) command.emplace_back(argv[i]);
  }
  std::vector<char*> pointers;
  for (std::string& word : command) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execv(shell.c_str(), pointers.data());
  std::fprintf(stderr, "%s: %s\n", shell.c_str(), std::strerror(errno));
  return 127;
}

}  // namespace minke::cli
