#include "software/software_environment.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <climits>
#include <cstdlib>

#include "model/proxy.pb.h"
#include "os/files.h"
#include "os/log.h"
#include "os/minke_home.h"
#include "software/shell_init.h"
#include "software/software_home.h"
#include "text/number.h"

namespace minke::software {

namespace {

constexpr size_t kMaxBytes = size_t{1} << 16;
constexpr size_t kMostOfInterpreter = 250;  // BINPRM_BUF_SIZE is 256

// Whether the block has a value of the user's. One from a job's environment does not count and, if `modules`
// take the place of Lmod's, one from Lmod's own set-up.
bool is_users_own(std::string_view block, std::string_view name, bool modules = true) {
  while (!block.empty()) {
    const std::string_view line = block.substr(0, block.find('\0'));
    block.remove_prefix(std::min(block.size(), line.size() + 1));
    if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == '=')
      return !line.ends_with(kLoginShellFile) &&
             (!modules || line.find("/lmod/init/") == std::string_view::npos);
  }
  return false;
}

bool is_allowed(const model::ProxySettings& proxy, std::string_view host) {
  return std::any_of(proxy.allowed().begin(), proxy.allowed().end(), [&](std::string_view allowed) {
    if (!allowed.starts_with('.')) return text::equals_ignoring_case(allowed, host);
    const std::string_view domain = allowed.substr(1);
    if (host.size() <= domain.size()) return text::equals_ignoring_case(host, domain);
    return text::equals_ignoring_case(host.substr(host.size() - allowed.size()), allowed);
  });
}

// Whether the script contains a command of this name.
bool mentions(std::string_view script, std::string_view word) {
  for (size_t at = 0; (at = script.find(word, at)) != std::string_view::npos; at += word.size()) {
    const char before = at == 0 ? '\n' : script[at - 1];
    const char behind = at + word.size() < script.size() ? script[at + word.size()] : '\n';
    if (std::string_view("\n\t ;&|(`{").find(before) != std::string_view::npos &&
        (behind == ' ' || behind == '\t'))
      return true;
  }
  return false;
}

// Some systems have bash as /bin/sh.
bool is_bash(const std::string& shell) {
  char target[PATH_MAX];
  return ::realpath(shell.c_str(), target) != nullptr && std::string_view(target).ends_with("/bash");
}

std::string_view last_component(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// Splits the interpreter's command ("/bin/bash -l") as the kernel does: a program, and one word. env's -S
// makes several words of it.
std::vector<std::string_view> words_of(std::string_view command) {
  const size_t end = std::min(command.find_first_of(" \t"), command.size());
  std::vector<std::string_view> words = {command.substr(0, end)};
  std::string_view rest = text::trim(command.substr(end));
  if (last_component(words[0]) != "env") {
    if (!rest.empty()) words.push_back(rest);
    return words;
  }
  if (!rest.starts_with("-S")) return words;
  rest.remove_prefix(2);
  words.clear();
  for (const std::string_view word : text::split(rest, ' ')) {
    if (!text::trim(word).empty()) words.push_back(text::trim(word));
  }
  return words;
}

// Whether it reads a profile before the script. False for csh, whose -l excludes a command.
bool is_login_shell(std::string_view command) {
  const std::vector<std::string_view> words = words_of(command);
  if (words.empty()) return false;
  const std::string_view name = last_component(words[0]);
  if (name != "bash" && name != "sh" && name != "dash" && name != "ksh" && name != "mksh" && name != "zsh")
    return false;
  return std::any_of(words.begin() + 1, words.end(), [](std::string_view word) {
    if (word == "--login") return true;
    const bool letters =
        word.size() > 1 && word[0] == '-' && std::all_of(word.begin() + 1, word.end(), [](unsigned char c) {
          return std::isalpha(c) != 0 && c != 'c' && c != 's';
        });
    return letters && word.find('l') != std::string_view::npos;
  });
}

bool lacks_functions(std::string_view command) {
  const std::string shell(command.substr(0, command.find(' ')));
  const std::string_view name = last_component(shell);
  const bool other = name == "sh" || name == "dash" || name == "zsh" || name == "csh" || name == "tcsh";
  return other && !is_bash(shell);
}

}  // namespace

void SoftwareEnvironment::load(const std::string& home) {
  variables_.clear();
  minke_ = os::bin_path(home) + "/minke";
  const auto text = os::read_file(home + "/software/init/job_environment", kMaxBytes);
  has_modules_ = text.has_value();
  if (!text) {
    if (const std::string path = login_shell_path(home); ::access(path.c_str(), R_OK) == 0)
      variables_.push_back({"BASH_ENV=" + path, true});
    if (text.error().code != ENOENT) os::log_warning("modules: " + text.error().message);
    return;
  }
  for (std::string_view line : text::split(*text, '\n')) {
    const bool if_unset = line.starts_with('?');
    if (if_unset) line.remove_prefix(1);
    if (line.find('=') != std::string_view::npos) variables_.push_back({std::string(line), if_unset});
  }
}

Status SoftwareEnvironment::write_login_shell_file(const std::string& home) {
  const std::string path = login_shell_path(home);
  const std::string text = "# bash reads this in jobs (BASH_ENV).\n" + login_shell_init(home);
  if (const auto there = os::read_file(path, kMaxBytes); there && *there == text) return {};
  return os::replace_file(path, text, 0644);
}

void SoftwareEnvironment::add_to(std::vector<std::string>& variables, std::string_view block) const {
  for (const Variable& variable : variables_) {
    if (variable.if_unset &&
        is_users_own(block, std::string_view(variable.line).substr(0, variable.line.find('=')), has_modules_))
      continue;
    variables.push_back(variable.line);
  }
}

void SoftwareEnvironment::add_offline(std::vector<std::string>& variables, std::string_view block,
                                      const model::ProxySettings& proxy) {
  // Runs are written to disk (minke runs uploads them later); models and data sets are read from it.
  struct Default {
    std::string_view line, host;  // the host that it does without
  };
  static constexpr Default kOffline[] = {{"MINKE_OFFLINE=1", ""},
                                         {"WANDB_MODE=offline", "api.wandb.ai"},
                                         {"COMET_START_ONLINE=0", "www.comet.com"},
                                         {"HF_HUB_OFFLINE=1", "huggingface.co"},
                                         {"HF_DATASETS_OFFLINE=1", "huggingface.co"},
                                         {"TRANSFORMERS_OFFLINE=1", "huggingface.co"}};
  if (is_users_own(block, "MINKE_OFFLINE")) return;  // a step: it keeps what its job has changed
  std::string opened;
  for (const auto& [line, host] : kOffline) {
    const std::string_view name = line.substr(0, line.find('='));
    if (is_users_own(block, name)) continue;
    variables.emplace_back(line);
    if (!host.empty() && is_allowed(proxy, host)) opened += (opened.empty() ? "" : ":") + std::string(name);
  }
  if (proxy.allowed().empty()) return;
  // For `module load httpproxy`: the proxy's address, and which of these it makes unnecessary.
  variables.push_back("MINKE_HTTP_PROXY=http://127.0.0.1:" + std::to_string(proxy.port()));
  variables.push_back("MINKE_HTTP_PROXY_OPENS=" + opened);
}

std::string SoftwareEnvironment::spooled(std::string_view script) const {
  if (minke_.empty() || !script.starts_with("#!")) return std::string(script);
  const std::string_view line = script.substr(0, script.find('\n'));
  const std::string_view command = text::trim(line.substr(2));
  const bool uses_modules = has_modules_ && (mentions(script, "module") || mentions(script, "ml"));
  if (!is_login_shell(command) && !(uses_modules && lacks_functions(command))) return std::string(script);
  std::string interpreter = "#!" + minke_ + " script-shell " + std::string(command);
  std::replace(interpreter.begin(), interpreter.end(), '\t', ' ');
  // The kernel does not read more of it.
  if (interpreter.size() > kMostOfInterpreter) return std::string(script);
  return interpreter + std::string(script.substr(line.size()));
}

}  // namespace minke::software
