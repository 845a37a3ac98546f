// One step from srun's side: asks the daemon for it, follows its tasks, passes on signals, and prints the
// messages of Slurm's srun. If the daemon is restarted meanwhile, it asks again: the step's key makes sure
// that it runs once. One thread; blocks the signals that it handles.
#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/srun/step_io.h"
#include "engine/embedded/client.h"
#include "helpers/task_table.h"
#include "model/job_state.pb.h"
#include "model/step_record.pb.h"
#include "mpi/server.h"
#include "os/fd.h"
#include "rpc/envelope.h"
#include "submit/job_request.h"

namespace minke::api {
class ConfigReply;
class StepEvent;
class StepSpec;
class StepStarted;
class StepTaskExit;
}  // namespace minke::api

namespace minke::model {
class JobRecord;
}  // namespace minke::model

namespace minke::cli {

class StepRun {
 public:
  // `mpi` may be null. `tasks` is the number of the step's tasks.
  StepRun(engine::embedded::Client& client, const submit::JobRequest& request,
          const submit::Invocation& invocation, const model::JobRecord& job, uint32_t tasks,
          std::unique_ptr<mpi::Server> mpi);

  // Runs the step to its end; returns the exit status of srun.
  int run(api::StepSpec spec, std::vector<os::UniqueFd> descriptors, StepIo& io);
  // Whether the kernel killed any of its tasks for lack of memory.
  bool out_of_memory() const { return record_.state() == model::JOB_OOM; }
  // Writes the step's number there once it has one.
  void tell_step_id(int fd) { told_ = fd; }

 private:
  using Clock = std::chrono::steady_clock;
  using Moment = std::optional<Clock::time_point>;

  int complain(const std::string& text);
  void say(const std::string& text) const;  // unless --quiet
  bool ask(bool again);
  Status handle_next();  // waits for the first of a message, a signal, a time
  void handle(const api::StepEvent& event);
  void on_configuration(const api::ConfigReply& configuration);  // how long Slurm's srun would wait
  void on_started(const api::StepStarted& started);
  void tell_launch(const api::StepStarted& started) const;     // --verbose
  void tell_node_log(const api::StepStarted& started) const;   // --slurmd-debug
  void tell_processes(const api::StepStarted& started) const;  // --debugger-test
  void on_task_exit(const api::StepTaskExit& task);
  void on_signal();
  void on_abort();
  void on_time();
  int milliseconds_to_wait() const;
  void tell_tasks();
  void send_signal(int number);  // 0: ends the step, as scancel does
  void terminate();              // prints that, and ends the step
  void abort_step();             // prints that it is killed, which the caller does
  void ask_kill_wait();
  std::string step_name() const;
  void tell_end_of_wait() const;
  int exit_status() const;

  engine::embedded::Client& client_;
  const submit::JobRequest& request_;
  const submit::Invocation& invocation_;
  const model::JobRecord& job_;
  uint32_t job_id_;
  helpers::TaskTable tasks_;
  StepIo* io_ = nullptr;
  int told_ = -1;
  rpc::RequestEnvelope message_;           // the request for the step
  std::vector<os::UniqueFd> descriptors_;  // sent with it, until it has started
  std::unique_ptr<mpi::Server> mpi_;
  sigset_t signals_;
  os::UniqueFd signal_fd_;
  bool lost_ = false, waited_ = false, started_ = false, ended_ = false;
  bool terminating_ = false, aborting_ = false, told_abort_ = false;
  std::vector<uint32_t> pids_;  // by rank
  uint32_t step_id_ = 0;
  std::optional<int> abort_code_;
  Moment last_interrupt_, tell_at_, wait_until_, kill_at_;
  model::StepRecord record_;
  std::string launch_error_;
};

}  // namespace minke::cli
