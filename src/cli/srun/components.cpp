#include "cli/srun/components.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>

#include "api/steps.pb.h"
#include "environment/job_environment.h"
#include "os/fd.h"
#include "os/pipe.h"
#include "submit/option_table.h"
#include "text/hostlist.h"
#include "text/number.h"

namespace minke::cli {

namespace {

bool names_group(const submit::Setting& setting) {
  return setting.option->name == "het-group" || setting.option->name == "pack-group";
}

// "0,2-3", "[0-1]".
Result<std::vector<uint32_t>> parse_groups(std::string_view text) {
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  std::vector<uint32_t> groups;
  for (const std::string_view range : text::split(text, ',')) {
    const size_t dash = std::min(range.find('-'), range.size());
    const auto first = text::parse_unsigned(range.substr(0, dash), 127);
    const auto last = dash < range.size() ? text::parse_unsigned(range.substr(dash + 1), 127) : first;
    if (!first || !last || *first > *last) return failure("Invalid --het-group value: " + std::string(text));
    for (uint64_t group = *first; group <= *last; ++group) groups.push_back(static_cast<uint32_t>(group));
  }
  return groups;
}

// Whether a setting of the first component holds for all of them, because there is one srun.
bool is_of_srun(const submit::Setting& setting) {
  constexpr std::string_view kNames[] = {
      "disable-status", "error", "input",       "kill-on-bad-exit", "label",      "mpi",     "open-mode",
      "output",         "quiet", "task-epilog", "task-prolog",      "unbuffered", "verbose", "wait"};
  return std::find(std::begin(kNames), std::end(kNames), setting.option->name) != std::end(kNames);
}

// Tasks of the nodes of one component's step, as far as they are known before it is laid out.
std::vector<uint32_t> tasks_of_nodes(uint32_t tasks, uint32_t nodes) {
  std::vector<uint32_t> counts(nodes, tasks / nodes);
  for (uint32_t i = 0; i < tasks % nodes; ++i) ++counts[i];
  return counts;
}

}  // namespace

bool names_several_components(const submit::CommandLine& line) {
  const auto& first = line.components.front();
  return line.components.size() > 1 ||
         std::any_of(first.begin(), first.end(), [](const submit::Setting& setting) {
           return names_group(setting) && !text::parse_unsigned(setting.value.value_or(""), UINT32_MAX);
         });
}

bool names_groups(const submit::CommandLine& line) {
  return std::any_of(line.components.begin(), line.components.end(), [](const auto& settings) {
    return std::any_of(settings.begin(), settings.end(), names_group);
  });
}

submit::Outcome<std::vector<submit::CommandLine>> split_components(const submit::Invocation& invocation,
                                                                   const submit::CommandLine& line,
                                                                   uint32_t size) {
  const auto refuse = [&](const std::string& message) {
    return tl::unexpected(submit::refuse(invocation, message, 1));
  };
  std::map<uint32_t, submit::CommandLine> by_group;  // tasks are numbered in the groups' order
  for (size_t i = 0; i < line.components.size(); ++i) {
    submit::CommandLine one;
    one.positional =
        i < line.programs.size() && !line.programs[i].empty() ? line.programs[i] : line.positional;
    std::vector<uint32_t> groups = {static_cast<uint32_t>(i)};
    for (const submit::Setting& setting : line.components[i]) {
      if (!names_group(setting)) continue;
      auto parsed = parse_groups(setting.value.value_or(""));
      if (!parsed) return refuse(parsed.error().message);
      groups = std::move(*parsed);
    }
    for (const uint32_t group : groups) {
      if (group >= size) {
        return refuse("Attempt to run a job step with het group value of " + std::to_string(group) +
                      ", but the job allocation has maximum value of " + std::to_string(size - 1));
      }
      if (by_group.count(group) != 0)
        return refuse("fatal: Duplicate het groups in single srun not supported");
      std::vector<submit::Setting> settings;
      for (const submit::Setting& setting : line.components.front()) {
        if (i > 0 && is_of_srun(setting)) settings.push_back(setting);
      }
      for (const submit::Setting& setting : line.components[i]) {
        if (!names_group(setting)) settings.push_back(setting);
      }
      const auto options = submit::all_options();
      const auto option = std::find_if(options.begin(), options.end(),
                                       [](const submit::Option& known) { return known.name == "het-group"; });
      settings.push_back({&*option, std::to_string(group), submit::Source::kCommandLine});
      one.components = {std::move(settings)};
      by_group.emplace(group, one);
    }
  }
  std::vector<submit::CommandLine> lines;
  for (auto& [group, one] : by_group) lines.push_back(std::move(one));
  return lines;
}

namespace {

bool of_one_job(const std::vector<HetStepPart>& parts) {
  return std::all_of(parts.begin(), parts.end(), [&](const HetStepPart& part) {
    return part.job.job_id() == parts.front().job.job_id();
  });
}

}  // namespace

std::vector<std::string> join_parts(std::vector<HetStepPart>& parts) {
  api::HetStep whole;
  std::vector<std::string> names, job_names;
  std::vector<uint32_t> tasks, cpus;
  for (HetStepPart& part : parts) {
    const auto of_job = static_cast<uint32_t>(std::max(1, part.job.nodes_size()));
    const uint32_t nodes = std::min({part.spec.has_min_nodes() ? part.spec.min_nodes() : of_job, of_job,
                                     std::max(1U, part.spec.ntasks())});
    api::HetStep& own = *part.spec.mutable_het();
    own.set_job_id(part.job.het_job_id() != 0 ? part.job.het_job_id() : part.job.job_id());
    own.set_first_task(whole.tasks());
    own.set_first_node(whole.nodes());
    whole.set_tasks(whole.tasks() + part.spec.ntasks());
    whole.set_nodes(whole.nodes() + nodes);
    for (const uint32_t count : tasks_of_nodes(part.spec.ntasks(), nodes)) tasks.push_back(count);
    for (const auto& node : part.job.nodes()) {
      job_names.push_back(node.node());
      cpus.push_back(node.cpus());
    }
    const auto named = text::expand_hostlist(part.spec.node_list());
    if (of_one_job(parts) && named) {
      names.insert(names.end(), named->begin(), named->end());
      continue;
    }
    for (uint32_t i = 0; i < nodes && static_cast<int>(i) < part.job.nodes_size(); ++i)
      names.push_back(part.job.nodes(static_cast<int>(i)).node());
  }
  const auto set = [](std::string& environment, const std::vector<std::string>& variables) {
    environment = environment::merge_environment(environment, variables, "");
  };
  const std::string of_jobs = text::compress_hostlist_sorted(job_names);
  for (HetStepPart& part : parts) {
    api::HetStep& own = *part.spec.mutable_het();
    own.set_tasks(whole.tasks());
    own.set_nodes(whole.nodes());
    own.set_node_list(text::compress_hostlist_sorted(names));
    own.set_tasks_per_node(environment::counts_per_node(tasks));
    if (of_one_job(parts)) continue;
    set(*part.spec.mutable_environment(), {"SLURM_JOB_NODELIST=" + of_jobs, "SLURM_NODELIST=" + of_jobs,
                                           "SLURM_JOB_NUM_NODES=" + std::to_string(cpus.size()),
                                           "SLURM_JOB_CPUS_PER_NODE=" + environment::counts_per_node(cpus)});
  }
  std::vector<std::string> node_of_task;
  for (size_t i = 0; i < tasks.size() && !names.empty(); ++i)
    node_of_task.insert(node_of_task.end(), tasks[i], names[std::min(i, names.size() - 1)]);
  return node_of_task;
}

namespace {

// The parts' processes, one srun each, and the server for the ranks of all of them.
class PartProcesses {
 public:
  PartProcesses(std::vector<HetStepPart>& parts, const std::optional<MpiWorld>& world,
                const std::function<int(size_t part, int told)>& run_part)
      : parts_(parts), world_(world), run_part_(run_part) {}

  // Blocks the signals that are passed on, and starts the server. Prints an error before it returns false.
  bool prepare() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int number : {SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2})
      sigaddset(&signals, number);
    sigprocmask(SIG_BLOCK, &signals, &before_);
    arrived_.reset(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!arrived_) return false;
    if (!world_) return true;
    auto started = mpi::Server::start(world_->kind);  // its thread takes none of these signals
    if (!started) return complain(started.error());
    server_ = std::move(*started);
    for (HetStepPart& part : parts_) part.mpi_address = server_->address();
    return true;
  }

  // The first part's process makes the step, which the others join. Returns false if not all have begun.
  bool start_all() {
    auto pipe = os::make_pipe();
    if (!pipe) return false;
    auto& [reader, writer] = *pipe;
    if (!start(0, writer.get())) return false;
    writer.reset();
    uint32_t step_id = 0;
    ssize_t got;
    do {
      got = ::read(reader.get(), &step_id, sizeof(step_id));
    } while (got < 0 && errno == EINTR);
    // No number came: the first one has not begun, and has printed why.
    if (got != sizeof(step_id)) return true;
    for (size_t part = 1; part < parts_.size(); ++part) {
      if (!of_one_job(parts_)) parts_[part].spec.mutable_het()->set_step_id(step_id);
      if (!start(part, -1)) return false;
    }
    return begin_mpi(step_id);
  }

  void pass_on(int number) const {
    for (const pid_t child : running_) ::kill(child, number);
  }

  // Waits until all have ended. Returns the highest exit status, or that of MPI_Abort().
  int wait(int highest) {
    std::optional<int> aborted;
    while (!running_.empty()) {
      pollfd waiting[] = {{arrived_.get(), POLLIN, 0},
                          {server_ && !aborted ? server_->abort_descriptor() : -1, POLLIN, 0}};
      if (::poll(waiting, 2, -1) < 0) continue;
      if (waiting[1].revents != 0) aborted = on_abort();
      signalfd_siginfo signal;
      if (::read(arrived_.get(), &signal, sizeof signal) != sizeof signal) continue;
      if (signal.ssi_signo == SIGCHLD) {
        highest = std::max(highest, reap());
      } else if (signal.ssi_code != SI_KERNEL) {  // a terminal's go to all of the foreground anyway
        pass_on(static_cast<int>(signal.ssi_signo));
      }
    }
    return aborted.value_or(highest);
  }

 private:
  static bool complain(const Error& error) {
    std::fprintf(stderr, "srun: error: MPI: %s\n", error.message.c_str());
    return false;
  }

  bool start(size_t part, int told) {
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
      sigprocmask(SIG_SETMASK, &before_, nullptr);
      std::exit(run_part_(part, told));
    }
    if (child > 0) running_.push_back(child);
    return child > 0;
  }

  // Only now: once the library has threads here, no more processes may be made.
  bool begin_mpi(uint32_t step_id) {
    if (!server_) return true;
    const Status begun = server_->begin(
        {std::to_string(parts_.front().job.job_id()) + "." + std::to_string(step_id), world_->node_of_rank});
    return begun ? true : complain(begun.error());
  }

  int on_abort() {
    const mpi::PmiAbort abort = server_->take_abort();
    if (!abort.message.empty()) std::fprintf(stderr, "%s\n", abort.message.c_str());
    pass_on(SIGTERM);
    return abort.exit_code == 0 ? 1 : abort.exit_code;
  }

  // Returns the highest exit status of those that have ended.
  int reap() {
    const bool kill_others = server_ || parts_.front().request.kill_on_bad_exit.value_or(false);
    int highest = 0;
    int status;
    pid_t child;
    while ((child = ::waitpid(-1, &status, WNOHANG)) > 0) {
      std::erase(running_, child);
      const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
      highest = std::max(highest, code);
      if (code != 0 && kill_others) pass_on(SIGTERM);
    }
    return highest;
  }

  std::vector<HetStepPart>& parts_;
  const std::optional<MpiWorld>& world_;
  const std::function<int(size_t part, int told)>& run_part_;
  sigset_t before_;
  os::UniqueFd arrived_;
  std::unique_ptr<mpi::Server> server_;
  std::vector<pid_t> running_;
};

}  // namespace

int run_parts(std::vector<HetStepPart>& parts, const std::optional<MpiWorld>& world,
              const std::function<int(size_t part, int told)>& run_part) {
  PartProcesses processes(parts, world, run_part);
  if (!processes.prepare()) return 1;
  const bool complete = processes.start_all();
  if (!complete) processes.pass_on(SIGTERM);
  return processes.wait(complete ? 0 : 1);
}

}  // namespace minke::cli
