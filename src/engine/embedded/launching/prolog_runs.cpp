#include "engine/embedded/launching/prolog_runs.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "engine/embedded/launching/prologs.pb.h"
#include "os/detached.h"
#include "os/helper_program.h"
#include "os/log.h"
#include "text/state.h"

namespace minke::engine {

namespace {

constexpr size_t kMostAtOnce = 64;
constexpr size_t kMostSaid = size_t{1} << 20;  // more than any outcome needs

Result<os::UniqueFd> in_memory(const std::string& bytes) {
  os::UniqueFd file(::memfd_create("prolog", MFD_CLOEXEC));
  if (!file) return failure_from_errno("memfd_create", errno);
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t put = ::write(file.get(), bytes.data() + at, bytes.size() - at);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return failure_from_errno("memfd", errno);
    at += static_cast<size_t>(put);
  }
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

// Makes sure that its output cannot forge lines of the log.
std::string printable(std::string_view line) {
  std::string text(line.substr(0, 1000));
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  return text;
}

void log_outcome(const std::string& what, const PrologOutcome& outcome) {
  std::string_view said = outcome.output();
  while (!said.empty()) {
    const std::string_view line = said.substr(0, said.find('\n'));
    said.remove_prefix(std::min(said.size(), line.size() + 1));
    if (!line.empty()) os::log_info(what + ": " + printable(line));
  }
  if (outcome.status() == 0) return;
  const std::string why = outcome.timed_out() ? "took too long"
                          : outcome.problem().empty()
                              ? "failed with " + text::format_exit_code(outcome.status())
                              : outcome.problem();
  os::log_error(what + (outcome.program().empty() ? "" : ": " + printable(outcome.program())) + " " +
                printable(why));
}

}  // namespace

void PrologRuns::start(Run run) {
  waiting_.push_back(std::move(run));
  start_waiting();
}

void PrologRuns::start_waiting() {
  for (auto next = waiting_.begin(); next != waiting_.end() && running_.size() < kMostAtOnce;) {
    if (!next->alone_on.empty() && busy_.contains(next->alone_on)) {
      ++next;
      continue;
    }
    Run run = std::move(*next);
    next = waiting_.erase(next);
    launch(std::move(run));
  }
}

void PrologRuns::launch(Run run) {
  const uint64_t id = next_++;
  if (!run.alone_on.empty()) busy_.insert(run.alone_on);
  Process& process = running_[id];
  process.run = std::move(run);
  const auto order = in_memory(process.run.order.SerializeAsString());
  auto output = order ? os::start_detached({.argv = os::helper_command(os::Helper::kPrologProgram),
                                            .log_path = "/dev/null",
                                            .without_variables = {"SLURM_*"},
                                            .input = order->get()})
                      : Result<os::UniqueFd>(failure(order.error()));
  if (!output) {
    PrologOutcome outcome;
    outcome.set_status(SIGKILL);
    outcome.set_problem("could not be started: " + output.error().message);
    return end_later(id, std::move(outcome));
  }
  process.output = std::move(*output);
  process.watch = loop_.on_readable(process.output.get(), [this, id] { on_output(id); });
}

void PrologRuns::end_later(uint64_t id, PrologOutcome outcome) {
  loop_.post([this, id, outcome = std::move(outcome)] { end(id, outcome); });
}

void PrologRuns::on_output(uint64_t id) {
  Process& process = running_.at(id);
  char buffer[16384];
  const ssize_t got = ::read(process.output.get(), buffer, sizeof buffer);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got > 0) {
    if (process.said.size() < kMostSaid) process.said.append(buffer, static_cast<size_t>(got));
    return;
  }
  PrologOutcome outcome;
  if (process.said.empty() || !outcome.ParseFromString(process.said)) {
    outcome.Clear();
    outcome.set_status(SIGKILL);
    outcome.set_problem("its process was killed");
  }
  end(id, outcome);
}

void PrologRuns::end(uint64_t id, const PrologOutcome& outcome) {
  auto ended = running_.extract(id);
  Process& process = ended.mapped();
  process.watch.reset();
  if (!process.run.alone_on.empty()) busy_.erase(process.run.alone_on);
  log_outcome(process.run.what, outcome);
  process.run.done(outcome);
  start_waiting();
}

}  // namespace minke::engine
