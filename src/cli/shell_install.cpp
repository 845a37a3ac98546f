#include "cli/shell_install.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "cli/links.h"
#include "os/files.h"
#include "os/minke_home.h"
#include "software/module_files.h"
#include "software/shell_init.h"
#include "software/software_home.h"
#include "text/shell_quote.h"

namespace minke::cli {
namespace {

constexpr std::string_view kBegin = "# >>> minke >>> (minke env --uninstall removes these lines)\n";
constexpr std::string_view kEnd = "# <<< minke <<<\n";
constexpr char kProfileDirectory[] = "/etc/profile.d";
constexpr char kSharedProfile[] = "/etc/profile.d/minke.sh";
constexpr char kSharedBin[] = "/usr/local/bin";
constexpr size_t kMostBytes = size_t{1} << 20;

std::string profile_path(const std::string& home) {
  return home + "/profile.sh";
}

// The lines for every shell but csh.
std::string profile_text(const std::string& home, ShellManner manner) {
  const std::string of = text::shell_quoted(home), bin = text::shell_quoted(os::bin_path(home));
  std::string text =
      "# Minke's commands on PATH: in a job those of the cluster that runs it, in front of all others.\n"
      "if [ -n \"${SLURM_JOB_ID:-}\" ] && [ -x \"${MINKE_HOME:-}/bin/minke\" ]; then\n  " +
      software::commands_in_front() + "\nelse\n";
  if (home != os::kSharedHome) text += "  export MINKE_HOME=" + of + "\n";
  text += "  case \":$PATH:\" in *:" + bin + ":*) ;; *) export PATH=";
  text += manner == ShellManner::kOverSlurm ? bin + ":\"$PATH\"" : "\"$PATH\":" + bin;
  text += " ;; esac\n";
  // In a job they come with its environment.
  const std::string init = text::shell_quoted(software::init_path(home) + "/sh");
  text += "  if [ -r " + init + " ]; then\n    . " + init + "\n";
  if (!os::is_shared(home)) {
    text += "  elif [ -x " + std::string(software::kLmodDirectory) +
            "/libexec/lmod ] && ! command -v module > /dev/null 2>&1; then\n" +
            software::posix_functions(os::bin_path(home) + "/minke");
  }
  return text + "  fi\nfi\n";
}

std::string beside_slurm_text(const std::string& directory) {
  const std::string bin = text::shell_quoted(directory);
  return "# Minke's commands that the cluster's Slurm lacks, behind all others.\ncase \":$PATH:\" in *:" +
         bin + ":*) ;; *) export PATH=\"$PATH\":" + bin + " ;; esac\n";
}

// Returns the text without the block, wherever that is.
std::string without_block(std::string text) {
  const size_t begin = text.find(kBegin);
  if (begin == std::string::npos) return text;
  const size_t end = text.find(kEnd, begin);
  return end == std::string::npos ? text : text.erase(begin, end + kEnd.size() - begin);
}

// Follows a link: dotfiles are often kept elsewhere.
Status write_start_up_file(const std::string& path, const std::string& text) {
  char real[PATH_MAX];
  const std::string target = ::realpath(path.c_str(), real) != nullptr ? real : path;
  struct stat info {};
  const mode_t mode = ::stat(target.c_str(), &info) == 0 ? info.st_mode & 0777 : 0644;
  return os::replace_file(target, text, mode);
}

struct StartUpFile {
  std::string path;
  bool at_top;  // else at the end, behind what sets PATH
};

Result<std::string> users_directory() {
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') return std::string(home);
  const passwd* entry = ::getpwuid(::getuid());
  if (entry == nullptr) return failure("HOME is not set");
  return std::string(entry->pw_dir);
}

bool is_there(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

// Returns the files that the user's shells read: bash's always, zsh's if it is used.
std::vector<StartUpFile> start_up_files(const std::string& user) {
  std::vector<StartUpFile> files = {{user + "/.bashrc", true}};
  std::string login = user + "/.profile";
  for (const char* name :
       {"/.bash_login", "/.bash_profile"}) {  // bash reads one of them: the last that exists
    if (is_there(user + name)) login = user + name;
  }
  files.push_back({login, false});
  const char* shell = std::getenv("SHELL");
  if ((shell != nullptr && std::string_view(shell).ends_with("/zsh")) || is_there(user + "/.zshrc") ||
      is_there(user + "/.zshenv"))
    files.push_back({user + "/.zshenv", false});
  if (is_there(user + "/.zprofile")) files.push_back({user + "/.zprofile", false});
  return files;
}

Result<std::string> text_of(const std::string& path) {
  auto text = os::read_file(path, kMostBytes);
  if (!text && text.error().code == ENOENT) return std::string();
  return text;
}

bool is_our_link(const std::string& path, const std::string& home) {
  char target[PATH_MAX];
  const ssize_t length = ::readlink(path.c_str(), target, sizeof target);
  return length > 0 &&
         std::string_view(target, static_cast<size_t>(length)).starts_with(os::bin_path(home) + "/");
}

Result<std::string> install_for_all(const std::string& home, ShellManner manner) {
  std::string done;
  if (!is_there(kProfileDirectory)) return failure(std::string(kProfileDirectory) + " is not there");
  if (const Status written = os::replace_file(kSharedProfile, profile_text(home, manner), 0644); !written)
    return failure(written.error());
  done += std::string(kSharedProfile) + "\n";
  if (const std::string real = real_slurm_command(home); !real.empty() && manner != ShellManner::kOverSlurm)
    return done + "no links in " + kSharedBin + ": a real Slurm is there (" + real +
           "); --over-slurm makes them\n";
  // Another MINKE_HOME would have to be given to each command.
  if (home != os::kSharedHome) return done;
  size_t made = 0;
  for (const char* name : kLinkNames) {
    const std::string path = std::string(kSharedBin) + "/" + name;
    if (is_our_link(path, home) || is_there(path)) continue;
    const std::string target = os::bin_path(home) + "/" + name;
    if (::symlink(target.c_str(), path.c_str()) != 0) return failure_from_errno(path, errno);
    ++made;
  }
  return done + std::to_string(made) + " links in " + kSharedBin + "\n";
}

}  // namespace

Result<std::string> install_in_shells(const std::string& home, ShellManner manner) {
  const bool shared = os::is_shared(home);
  if (shared && ::geteuid() == 0) return install_for_all(home, manner);
  if (shared)
    return failure("this cluster is root's, who installs its commands for all: sudo minke env --install",
                   EPERM);
  const auto user = users_directory();
  if (!user) return user;
  std::string text = profile_text(home, manner);
  if (manner == ShellManner::kBeside) {
    const auto directory = make_links_beside_slurm(home);
    if (!directory) return directory;
    text = beside_slurm_text(*directory);
  }
  if (const Status written = os::replace_file(profile_path(home), text, 0600); !written)
    return failure(written.error());
  const std::string file = text::shell_quoted(profile_path(home));
  const std::string block =
      std::string(kBegin) + "[ -r " + file + " ] && . " + file + "\n" + std::string(kEnd);
  std::string done;
  for (const StartUpFile& one : start_up_files(*user)) {
    auto before = text_of(one.path);
    if (!before) return before;
    std::string changed = without_block(*before);
    if (!changed.empty() && changed.back() != '\n') changed += '\n';
    changed = one.at_top ? block + changed : changed + block;
    if (changed == *before) continue;
    if (const Status written = write_start_up_file(one.path, changed); !written)
      return failure(written.error());
    done += one.path + "\n";
  }
  return done;
}

Result<std::string> uninstall_from_shells(const std::string& home) {
  std::string done;
  const auto remove = [&](const std::string& path) {
    if (::unlink(path.c_str()) == 0) done += path + "\n";
  };
  if (os::is_shared(home)) {
    if (::geteuid() != 0) return failure("this cluster is root's: sudo minke env --uninstall", EPERM);
    remove(kSharedProfile);
    for (const char* name : kLinkNames) {
      const std::string path = std::string(kSharedBin) + "/" + name;
      if (is_our_link(path, home)) remove(path);
    }
    return done;
  }
  const auto user = users_directory();
  if (!user) return user;
  for (const char* name :
       {"/.bashrc", "/.bash_profile", "/.bash_login", "/.profile", "/.zshenv", "/.zprofile"}) {
    const std::string path = *user + name;
    const auto before = text_of(path);
    if (!before) return before;
    const std::string text = without_block(*before);
    if (text == *before) continue;
    if (const Status written = write_start_up_file(path, text); !written) return failure(written.error());
    done += path + "\n";
  }
  remove(profile_path(home));
  return done;
}

}  // namespace minke::cli
