#include "cli/software.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "api/actions.pb.h"
#include "cli/complain.h"
#include "cli/links.h"
#include "cli/progress.h"
#include "engine/embedded/client.h"
#include "os/files.h"
#include "os/minke_home.h"
#include "software/aliases.h"
#include "software/module_files.h"
#include "software/scan.h"
#include "software/shell_init.h"
#include "software/software_home.h"
#include "software/wheelhouse.h"
#include "storage/words.h"

namespace minke::cli {

namespace {

constexpr size_t kMaxAliasBytes = size_t{1} << 20;

// Returns the home if this user may change its software.
Result<std::string> own_home() {
  auto home = os::minke_home();
  if (!home) return home;
  if (os::is_shared(*home) && ::geteuid() != 0)
    return failure("the software of a shared cluster is root's to change", EACCES);
  return home;
}

std::string minke_of(const std::string& home) {
  return os::bin_path(home) + "/minke";
}

Status write_init(const std::string& home) {
  const std::string directory = software::init_path(home);
  if (const Status made = os::make_directories(directory, 0755); !made) return made;
  if (::chmod(directory.c_str(), 0755) != 0) return failure_from_errno(directory, errno);
  for (const auto& [name, text] :
       {std::pair<std::string, std::string>{
            "sh", software::posix_init(minke_of(home), home) + software::login_shell_init(home)},
        {"csh", software::csh_init(minke_of(home), home)},
        {"job_environment", software::job_environment(minke_of(home), home)}}) {
    if (const Status written = os::replace_file(directory + "/" + name, text, 0644); !written) return written;
  }
  return {};
}

// Makes a running daemon read again which software jobs begin with.
void tell_daemon() {
  auto cluster = engine::embedded::Client::connect(false);
  if (!cluster) return;
  const auto ability = (*cluster)->administration();
  if (const auto answer = ability ? (*ability)->reconfigure() : failure(ability.error()); !answer)
    std::fprintf(stderr, "minke: jobs have it once the daemon is started again: %s\n",
                 answer.error().message.c_str());
}

std::vector<software::Found> scan_with_progress(const std::string& home,
                                                const std::vector<std::string>& more) {
  const auto directories = software::program_directories(home, more);
  std::atomic<uint64_t> done{0};
  const ProgressText text(storage::number_text, " directories");
  const ProgressLine line([&] { return "looking for programs: " + text.of(done, directories.size()); });
  return software::scan({.directories = directories, .for_everybody = os::is_shared(home), .done = &done});
}

}  // namespace

int software_scan(const ScanCommand& command) {
  const auto home = own_home();
  if (!home) return complain(home.error().message);
  if (::access((std::string(software::kLmodDirectory) + "/libexec/lmod").c_str(), X_OK) != 0)
    return complain("Lmod is not installed; as root: apt-get install lmod");
  if (home->find_first_of(" \t\n'\"\\`$!:") != std::string::npos)
    return complain("module paths cannot have such characters: " + *home);
  if (auto linked = make_links(*home); !linked) return complain(linked.error().message);
  const auto found = scan_with_progress(*home, command.paths);
  if (const Status written = software::write_module_tree(*home, found); !written)
    return complain(written.error().message);
  if (const Status ready = software::prepare_wheelhouse(*home, os::is_shared(*home)); !ready)
    return complain(ready.error().message);
  if (const Status written = write_init(*home); !written) return complain(written.error().message);
  tell_daemon();
  if (command.json) {
    auto list = nlohmann::ordered_json::array();
    for (const software::Found& one : found)
      list.push_back(
          {{"module", one.name + "/" + one.version}, {"program", one.program}, {"prefix", one.prefix}});
    std::puts(list.dump().c_str());
    return 0;
  }
  size_t width = 0;
  for (const software::Found& one : found) width = std::max(width, one.name.size() + 1 + one.version.size());
  std::printf("%-*s  %s\n", static_cast<int>(width),
              (std::string("StdEnv/") + software::kStandardEnvironment).c_str(), "(standard environment)");
  for (const software::Found& one : found)
    std::printf("%-*s  %s\n", static_cast<int>(width), (one.name + "/" + one.version).c_str(),
                one.program.c_str());
  if (::isatty(STDOUT_FILENO)) std::printf("To use them in this shell: eval \"$(minke env)\"\n");
  return 0;
}

int software_alias(const AliasCommand& command) {
  const auto home = os::minke_home();
  if (!home) return complain(home.error().message);
  const std::string path = software::aliases_path(*home);
  software::Aliases aliases;
  if (const auto text = os::read_file(path, kMaxAliasBytes)) {
    auto read = software::parse_aliases(*text);
    if (!read) return complain(path + ": " + read.error().message);
    aliases = std::move(*read);
  } else if (text.error().code != ENOENT) {
    return complain(text.error().message);
  }
  if (command.name.empty()) {
    std::fputs(software::format_aliases(aliases).c_str(), stdout);
    return 0;
  }
  if (const auto own = own_home(); !own) return complain(own.error().message);
  if (command.remove) {
    if (aliases.erase(command.name) == 0) return complain("there is no alias " + command.name);
  } else {
    for (const std::string& target : command.targets) {
      if (!software::is_module_name(target)) return complain("no module's name: " + target);
    }
    if (!software::is_module_name(command.name)) return complain("no module's name: " + command.name);
    aliases[command.name] = {command.targets, ""};
  }
  const std::string directory = software::software_path(*home);
  if (const Status made = os::make_directories(directory, 0755); !made) return complain(made.error().message);
  if (::chmod(directory.c_str(), 0755) != 0)
    return complain(failure_from_errno(directory, errno).value().message);
  const Status written = os::replace_file(path, software::format_aliases(aliases), 0644);
  return written ? 0 : complain(written.error().message);
}

std::string module_functions(const std::string& home, bool csh) {
  if (::access(software::modules_path(home).c_str(), R_OK) != 0) {
    if (::access((std::string(software::kLmodDirectory) + "/libexec/lmod").c_str(), X_OK) != 0) return "";
    return csh ? software::csh_functions(minke_of(home)) : software::posix_functions(minke_of(home));
  }
  return csh ? software::csh_init(minke_of(home), home) : software::posix_init(minke_of(home), home);
}

}  // namespace minke::cli
