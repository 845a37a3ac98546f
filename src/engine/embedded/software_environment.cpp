#include "engine/embedded/software_environment.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <climits>
#include <cstdlib>

#include "os/files.h"
#include "os/log.h"
#include "os/minke_home.h"
#include "text/number.h"

namespace minke::engine {

namespace {

constexpr size_t kMaxBytes = size_t{1} << 16;

// The value in the block; what Lmod's own set-up put there counts as nobody's.
bool is_users_own(std::string_view block, std::string_view name) {
  while (!block.empty()) {
    const std::string_view line = block.substr(0, block.find('\0'));
    block.remove_prefix(std::min(block.size(), line.size() + 1));
    if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == '=')
      return line.find("/lmod/init/") == std::string_view::npos;
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

// Whether a command of this name stands in the script.
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

// What /bin/sh is on some systems.
bool is_bash(const std::string& shell) {
  char target[PATH_MAX];
  return ::realpath(shell.c_str(), target) != nullptr && std::string_view(target).ends_with("/bash");
}

}  // namespace

void SoftwareEnvironment::load(const std::string& home) {
  variables_.clear();
  minke_.clear();
  const auto text = os::read_file(home + "/software/init/job_environment", kMaxBytes);
  if (!text) {
    if (text.error().code != ENOENT) os::log_warning("modules: " + text.error().message);
    return;
  }
  for (std::string_view line : text::split(*text, '\n')) {
    const bool if_unset = line.starts_with('?');
    if (if_unset) line.remove_prefix(1);
    if (line.find('=') != std::string_view::npos) variables_.push_back({std::string(line), if_unset});
  }
  minke_ = os::bin_path(home) + "/minke";
}

void SoftwareEnvironment::add_to(std::vector<std::string>& variables, std::string_view block) const {
  for (const Variable& variable : variables_) {
    if (variable.if_unset &&
        is_users_own(block, std::string_view(variable.line).substr(0, variable.line.find('='))))
      continue;
    variables.push_back(variable.line);
  }
}

void SoftwareEnvironment::add_offline(std::vector<std::string>& variables, std::string_view block,
                                      const model::ProxySettings& proxy) {
  // Runs are written to disk (minke runs uploads them later), models and data sets are taken from it.
  struct Default {
    std::string_view line, host;  // which it does without
  };
  static constexpr Default kOffline[] = {{"MINKE_OFFLINE=1", ""},
                                         {"WANDB_MODE=offline", "api.wandb.ai"},
                                         {"COMET_START_ONLINE=0", "www.comet.com"},
                                         {"HF_HUB_OFFLINE=1", "huggingface.co"},
                                         {"HF_DATASETS_OFFLINE=1", "huggingface.co"},
                                         {"TRANSFORMERS_OFFLINE=1", "huggingface.co"}};
  if (is_users_own(block, "MINKE_OFFLINE")) return;  // a step: what its job has done to them stays
  std::string opened;
  for (const auto& [line, host] : kOffline) {
    const std::string_view name = line.substr(0, line.find('='));
    if (is_users_own(block, name)) continue;
    variables.emplace_back(line);
    if (!host.empty() && is_allowed(proxy, host)) opened += (opened.empty() ? "" : ":") + std::string(name);
  }
  if (proxy.allowed().empty()) return;
  // For `module load httpproxy`: where it is, and which of these it makes needless.
  variables.push_back("MINKE_HTTP_PROXY=http://127.0.0.1:" + std::to_string(proxy.port()));
  variables.push_back("MINKE_HTTP_PROXY_OPENS=" + opened);
}

std::string SoftwareEnvironment::spooled(std::string_view script) const {
  if (minke_.empty() || !script.starts_with("#!") || !(mentions(script, "module") || mentions(script, "ml")))
    return std::string(script);
  const std::string_view line = script.substr(0, script.find('\n'));
  const std::string_view command = text::trim(line.substr(2));
  const std::string shell(command.substr(0, command.find(' ')));
  const std::string_view name = std::string_view(shell).substr(shell.rfind('/') + 1);
  const bool other = name == "sh" || name == "dash" || name == "zsh" || name == "csh" || name == "tcsh";
  if (!other || is_bash(shell)) return std::string(script);
  return "#!" + minke_ + " script-shell " + std::string(command) + std::string(script.substr(line.size()));
}

}  // namespace minke::engine
