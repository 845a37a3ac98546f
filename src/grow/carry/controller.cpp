#include "grow/carry/controller.h"

#include <signal.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "os/capture.h"
#include "os/files.h"
#include "text/number.h"

namespace minke::grow {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{120};
constexpr std::chrono::milliseconds kPause{100};
constexpr int kStartSeconds = 120;

template <typename Condition>
bool becomes_true(Condition condition) {
  const auto deadline = steady_clock::now() + kPatience;
  while (!condition()) {
    if (steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(kPause);
  }
  return true;
}

// Also one whose parent has not asked for its end yet.
bool has_ended(pid_t process) {
  if (::kill(process, 0) != 0 && errno == ESRCH) return true;
  const auto stat = os::read_file("/proc/" + std::to_string(process) + "/stat", 4096);
  if (!stat) return true;
  const size_t name_end = stat->rfind(')');
  return name_end != std::string::npos && stat->size() > name_end + 2 && (*stat)[name_end + 2] == 'Z';
}

Status start_by_systemd() {
  const auto said =
      os::run_captured({"/usr/bin/systemctl", "start", "slurmctld"}, {.timeout_seconds = kStartSeconds});
  if (!said) return failure(said.error());
  if (said->exit_code != 0) return failure("systemctl start slurmctld: " + said->output);
  return {};
}

bool answers(const Commands& commands) {
  const auto said = commands.ask({"scontrol", "ping"});
  return said && said->find(" is UP") != std::string::npos;
}

}  // namespace

Result<Controller> Controller::find(const NewSlurm& slurm) {
  Controller controller(slurm);
  const auto text = controller.commands_.ask({"scontrol", "show", "config"});
  if (!text) return failure(text.error());
  for (const std::string_view line : text::split(*text, '\n')) {
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    controller.settings_[std::string(text::trim(line.substr(0, equals)))] =
        std::string(text::trim(line.substr(equals + 1)));
  }
  controller.state_directory_ = controller.setting("StateSaveLocation");
  if (controller.state_directory_.empty()) return failure("slurmctld does not say its StateSaveLocation");
  return controller;
}

std::string Controller::setting(const std::string& name) const {
  const auto found = settings_.find(name);
  return found == settings_.end() ? std::string() : found->second;
}

Status Controller::stop() const {
  if (!answers(commands_)) return {};
  pid_t process = 0;
  if (const auto file = os::read_file(setting("SlurmctldPidFile"), 64))
    process = static_cast<pid_t>(text::parse_unsigned(text::trim(*file), 1U << 30).value_or(0));
  if (const Status told = commands_.change({"scontrol", "shutdown", "slurmctld"}); !told) return told;
  // It saves its state last of all.
  const bool ended = becomes_true([&] { return process > 0 ? has_ended(process) : !answers(commands_); });
  if (!ended) return failure("slurmctld does not end; its log (SlurmctldLogFile) says why", ETIMEDOUT);
  return {};
}

Status Controller::start_it(const NewSlurm& slurm) {
  const Commands commands(slurm);
  if (answers(commands)) return {};
  const Status started = slurm.start_controller ? slurm.start_controller() : start_by_systemd();
  if (!started) return started;
  if (!becomes_true([&] { return answers(commands); }))
    return failure("slurmctld was started and does not answer; its log (SlurmctldLogFile) says why",
                   ETIMEDOUT);
  return {};
}

}  // namespace minke::grow
