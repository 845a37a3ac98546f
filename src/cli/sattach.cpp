// sattach: the output and input of a running step, as its srun has them.
//
// sattach waits at a socket of its own; the daemon tells the step's srun, which connects to it. sattach
// itself adds labels and filters.
#include <poll.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/actions.pb.h"
#include "api/attach.pb.h"
#include "api/step_usage.pb.h"
#include "api/steps.pb.h"
#include "cli/commands.h"
#include "cli/described_commands.h"
#include "cli/read_command.h"
#include "cli/srun/step_pump.h"
#include "engine/embedded/client.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "model/step_record.pb.h"
#include "rpc/socket.h"
#include "text/job_id.h"
#include "text/number.h"
#include "view/output.h"

namespace minke::cli {
namespace {

using options::Given;
using enum options::ArgumentKind;
using Ended = std::optional<int>;

constexpr std::string_view kUsage = "Usage: sattach [options] <jobid.stepid>\n";
// srun connects at once, unless it is stopped.
constexpr int kConnectMilliseconds = 10'000;

struct Arguments {
  std::optional<uint32_t> input_filter, output_filter, error_filter;
  bool label = false, layout = false, pty = false, debugger_test = false;
  unsigned verbose = 0;
  text::JobReference job;
  uint32_t step_id = 0;
};

int fail(const std::string& message) {
  view::print_error("sattach", message);
  const char* status = std::getenv("SLURM_EXIT_ERROR");
  const auto value = text::parse_unsigned(status == nullptr ? "" : status, 255);
  return value && *value != 0 ? static_cast<int>(*value) : 1;
}

Ended read_step(std::string_view word, Arguments& arguments) {
  const size_t dot = word.find('.');
  if (dot == std::string_view::npos) {
    const int status =
        fail("Failed to parse stepid from command line options (write 12.0: the job and its step)");
    view::write_out(kUsage);
    return status;
  }
  const auto step = text::parse_unsigned(word.substr(dot + 1), UINT32_MAX);
  if (!step && word.substr(dot + 1) != "batch" && word.substr(dot + 1) != "extern") {
    std::fprintf(stderr, "sattach: fatal: Bad step specified: %s\n", std::string(word).c_str());
    return 1;
  }
  const auto job = text::parse_job_id(word.substr(0, dot));
  if (!step || !job) return fail("Could not get job step info: Invalid job id specified");
  arguments.job = *job;
  arguments.step_id = static_cast<uint32_t>(*step);
  return std::nullopt;
}

template <auto kMember>
Ended filter(Arguments& arguments, const Given& given) {
  const auto value = text::parse_unsigned(given.text(), UINT32_MAX);
  if (!value)
    return fail("Invalid numeric value \"" + given.text() + "\" for " + std::string(given.option.name) + ".");
  arguments.*kMember = static_cast<uint32_t>(*value);
  return std::nullopt;
}

// Columns: see options::Option.
constexpr options::Row<Arguments> kRows[] = {
    {{"debugger-test", '\0', kNone, "", "show the tasks' processes, and attach to nothing"},
     options::flag<&Arguments::debugger_test>},
    {{"error-filter", '\0', kRequired, "taskid", "show the standard error of this task alone"},
     filter<&Arguments::error_filter>},
    {{"help", 'h', kNone, "", "show this help message"}, show_help<Arguments>},
    {{"input-filter", '\0', kRequired, "taskid", "what is typed goes to this task alone"},
     filter<&Arguments::input_filter>},
    {{"label", 'l', kNone, "", "the number of its task in front of each line"},
     options::flag<&Arguments::label>},
    {{"layout", '\0', kNone, "", "show which tasks run where, and attach to nothing"},
     options::flag<&Arguments::layout>},
    {{"output-filter", '\0', kRequired, "taskid", "show the standard output of this task alone"},
     filter<&Arguments::output_filter>},
    {{"pty", '\0', kNone, "", "the step has a terminal: pass each key on"}, options::flag<&Arguments::pty>},
    {{"quiet", 'Q', kNone, "", "no messages but errors"}, options::ignored<Arguments>},
    {{"usage", 'u', kNone, "", "show a brief usage message"}, show_usage<Arguments>},
    {{"verbose", 'v', kNone, "", "more messages"}, options::count<&Arguments::verbose>},
    {{"version", 'V', kNone, "", "version and exit"}, show_version<Arguments>},
};

const options::Table<Arguments>& table() {
  static const auto* const kTable =
      new options::Table<Arguments>({.name = "sattach",
                                     .purpose = "the output and input of a running step",
                                     .operands = "<jobid.stepid>",
                                     .operand_values = "$squeue --me -h -s -o %i",
                                     .usage = kUsage},
                                    kRows);
  return *kTable;
}

Ended read_arguments(int argc, char** argv, Arguments& arguments) {
  const CommandRead read = read_command(table(), argc, argv, arguments, options::Order::kFirst);
  if (read.status) return read.status;
  if (arguments.pty && (arguments.input_filter || arguments.output_filter || arguments.error_filter))
    return fail("--input/output/error-filter are incompatible with --pty");
  if (read.operands.size() != 1) {
    const int status = fail(read.operands.empty() ? "too few parameters" : "too many parameters");
    view::write_out(kUsage);
    return status;
  }
  return read_step(read.operands[0], arguments);
}

void tell_options(const Arguments& arguments, const model::StepRecord& step) {
  const passwd* user = ::getpwuid(::getuid());
  std::fprintf(
      stderr,
      "sattach: defined options for program `sattach'\nsattach: --------------- ---------------------\n"
      "sattach: job ID         : %u\nsattach: step ID        : %u\nsattach: user           : `%s'\n"
      "sattach: uid            : %u\nsattach: gid            : %u\nsattach: verbose        : %u\n",
      step.job_id(), step.step_id(), user == nullptr ? "" : user->pw_name, ::getuid(), ::getgid(),
      arguments.verbose);
}

void show_layout(const api::StepUsage& step) {
  std::vector<std::string> nodes;
  std::map<std::string, std::string> tasks;
  std::map<std::string, uint32_t> counts;
  for (const api::TaskUsage& task : step.tasks()) {
    if (++counts[task.node()] == 1) nodes.push_back(task.node());
    tasks[task.node()] += std::to_string(task.rank()) + " ";
  }
  std::printf("Job step layout:\n\t%d tasks, %zu nodes (%s)\n\n", step.tasks_size(), nodes.size(),
              step.step().node_list().c_str());
  for (size_t i = 0; i < nodes.size(); ++i) {
    std::printf("\tNode %zu (%s), %u task(s): %s\n", i, nodes[i].c_str(), counts[nodes[i]],
                tasks[nodes[i]].c_str());
  }
}

// --debugger-test: the processes of the tasks, a line each.
int show_processes(engine::Engine& cluster, const api::StepUsage& step) {
  const auto measurements = cluster.measurements();
  if (!measurements) return fail(measurements.error().message);
  api::QueryPidsRequest query;
  query.mutable_filter()->add_jobs()->set_job_id(step.step().job_id());
  query.set_step_id(step.step().step_id());
  const auto answer = (*measurements)->pids(query);
  if (!answer) return fail(answer.error().message);
  for (const api::TaskUsage& task : step.tasks()) {
    for (const api::PidsReply::Process& process : answer->processes()) {
      if (!process.has_global_id() || process.global_id() != task.rank()) continue;
      std::fprintf(stderr, "sattach: task:%u, host:%s, pid:%u, executable:%s\n", task.rank(),
                   task.node().c_str(), process.pid(), step.step().name().c_str());
    }
  }
  return 0;
}

// A directory that only its maker may enter, while a connection is expected there.
class MeetingPlace {
 public:
  MeetingPlace() {
    const char* base = std::getenv("TMPDIR");
    directory_ = std::string(base == nullptr || *base != '/' ? "/tmp" : base) + "/sattach-XXXXXX";
    if (::mkdtemp(directory_.data()) == nullptr) directory_.clear();
  }
  ~MeetingPlace() {
    ::unlink(path().c_str());
    ::rmdir(directory_.c_str());
  }
  MeetingPlace(const MeetingPlace&) = delete;
  MeetingPlace& operator=(const MeetingPlace&) = delete;
  bool there() const { return !directory_.empty(); }
  std::string path() const { return directory_ + "/socket"; }

 private:
  std::string directory_;
};

// Returns the connection that the step's srun makes, once the daemon has told it to.
Result<os::UniqueFd> meet(engine::embedded::Client& client, const model::StepRecord& step) {
  const MeetingPlace place;
  if (!place.there()) return failure_from_errno("a directory for the socket", errno);
  auto listening = rpc::listen_at(place.path(), 0600);
  if (!listening) return failure(listening.error());
  api::AttachStepRequest request;
  request.set_job_id(step.job_id());
  request.set_step_id(step.step_id());
  request.set_socket(place.path());
  if (const auto told = client.attach(request); !told) return failure(told.error());
  pollfd waiting{listening->get(), POLLIN, 0};
  while (::poll(&waiting, 1, kConnectMilliseconds) < 0 && errno == EINTR) {
  }
  os::UniqueFd socket(::accept4(listening->get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket) return failure("the step's srun does not answer");
  return socket;
}

class Conversation {
 public:
  Conversation(const Arguments& arguments, uint32_t tasks, os::UniqueFd socket)
      : arguments_(arguments), tasks_(tasks), channel_(std::move(socket)) {}

  // Runs until the end of the step; returns the highest exit code of its tasks.
  int run() {
    bool input = true;
    for (;;) {
      if (!channel_.has_buffered_frame()) {
        pollfd waiting[] = {{channel_.fd(), POLLIN, 0}, {input ? STDIN_FILENO : -1, POLLIN, 0}};
        if (::poll(waiting, 2, -1) < 0 && errno != EINTR) return 1;
        if (waiting[1].revents != 0) input = pass_input();
        if (waiting[0].revents == 0) continue;
      }
      api::AttachMessage message;
      if (!channel_.receive(message)) break;  // srun has sent everything
      if (message.has_output()) show(message.output());
      if (message.has_exit()) note(message.exit());
    }
    for (auto& [from, writer] : writers_) writer.finish();
    return exit_code_;
  }

 private:
  void show(const api::AttachMessage::Output& output) {
    const auto& filter = output.is_error() ? arguments_.error_filter : arguments_.output_filter;
    if (filter && *filter != output.rank()) return;
    const std::string label = arguments_.label ? task_label(output.rank(), tasks_) : "";
    auto [writer, is_new] =
        writers_.try_emplace({output.rank(), output.is_error()},
                             output.is_error() ? STDERR_FILENO : STDOUT_FILENO, label, tasks_ > 1);
    writer->second.write(output.data());
  }

  void note(const api::StepTaskExit& exit) {
    const int status = exit.status();
    if (status == 0) return;
    const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    view::print_error("sattach",
                      "task " + std::to_string(exit.rank()) +
                          (WIFSIGNALED(status) ? " terminated by signal " + std::to_string(WTERMSIG(status))
                                               : " exited with exit code " + std::to_string(code)));
    exit_code_ = std::max(exit_code_, code);
  }

  bool pass_input() {
    char buffer[16 << 10];
    const ssize_t got = ::read(STDIN_FILENO, buffer, sizeof(buffer));
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return true;
    if (got <= 0) return false;
    api::AttachMessage message;
    if (arguments_.input_filter) message.mutable_input()->set_rank(*arguments_.input_filter);
    message.mutable_input()->set_data(buffer, static_cast<size_t>(got));
    return static_cast<bool>(channel_.send(message));
  }

  const Arguments& arguments_;
  uint32_t tasks_;
  rpc::Channel channel_;
  std::map<std::pair<uint32_t, bool>, LineWriter> writers_;
  int exit_code_ = 0;
};

termios g_terminal_before;  // atexit(3) restores it, however sattach ends

void restore_terminal() {
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &g_terminal_before);
}

void make_terminal_raw() {
  if (::tcgetattr(STDIN_FILENO, &g_terminal_before) != 0) return;
  termios raw = g_terminal_before;
  ::cfmakeraw(&raw);
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
  std::atexit(restore_terminal);
  std::at_quick_exit(restore_terminal);
}

}  // namespace

const options::Command& sattach_command() {
  return table().command;
}

int sattach_main(int argc, char** argv) {
  Arguments arguments;
  if (const auto status = read_arguments(argc, argv, arguments)) return *status;
  std::signal(SIGPIPE, SIG_IGN);
  const auto cluster = engine::open();
  if (!cluster) return fail(cluster.error().message);
  const auto steps = (*cluster)->steps_with_descriptors();
  if (!steps) return fail(steps.error().message);
  api::QueryStepUsageRequest request;
  *request.mutable_filter()->add_jobs() = engine::selector_of(arguments.job);
  auto asked = (*steps)->step_usage(request);
  if (!asked) return fail("Could not get job step info: " + asked.error().message);
  std::optional<api::StepUsage> step;
  for (api::StepUsage& one : *asked->mutable_steps()) {
    if (one.step().kind() == model::STEP_NORMAL && one.step().step_id() == arguments.step_id)
      step = std::move(one);
  }
  if (!step) return fail("Could not get job step info: Invalid job id specified");
  if (arguments.layout) {
    show_layout(*step);
    return 0;
  }
  if (arguments.debugger_test) return show_processes(**cluster, *step);
  if (arguments.verbose > 0) tell_options(arguments, step->step());
  auto socket = meet(**steps, step->step());
  if (!socket) return fail("Could not attach to the step: " + socket.error().message);
  if (arguments.pty) make_terminal_raw();
  return Conversation(arguments, static_cast<uint32_t>(step->tasks_size()), std::move(*socket)).run();
}

}  // namespace minke::cli
