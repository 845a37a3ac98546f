// The standard streams of a step's tasks, as srun sets them up: pipes or a terminal between tasks and
// step_pump.h, files that the tasks open themselves, or nothing. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/srun/step_pump.h"
#include "os/fd.h"
#include "submit/job_request.h"
#include "text/file_pattern.h"

namespace minke::api {
class StepSpec;
class StepStarted;
class StepStream;
class StepTaskExit;
}  // namespace minke::api

namespace minke::cli {

class StepIo {
 public:
  StepIo() = default;
  ~StepIo();
  StepIo(const StepIo&) = delete;
  StepIo& operator=(const StepIo&) = delete;

  // Which tasks of the whole step a component has; all of them unless it is of a heterogeneous job.
  struct Part {
    uint32_t first_task = 0, tasks = 1, all_tasks = 1, first_node = 0;
  };
  // Fills in the streams of `spec`; appends the descriptors that go with it to `to_send`.
  Status set_up(const submit::JobRequest& request, const Part& part, api::StepSpec& spec,
                std::vector<os::UniqueFd>& to_send);
  void start() { pump_.start(); }
  // srun itself writes files with labelled lines; their names depend on the step. `values` are the job's. An
  // error's message goes behind "srun: error: ".
  Status open_files(text::FilePatternValues values, const api::StepStarted& started);
  void attach(const std::string& socket_path) { pump_.attach(socket_path); }
  void task_ended(const api::StepTaskExit& exit) { pump_.task_ended(exit); }
  // Called when srun's terminal has another size.
  void resize();
  // Called when the step has ended.
  void finish();

 private:
  std::optional<Part> only(const std::string& number) const;
  Status set_up_input(const std::string& input, api::StepSpec& spec, std::vector<os::UniqueFd>& to_send);
  // `path` is the value of --output or --error. `fd` is srun's own stream, if the output goes there.
  Status set_up_output(const submit::JobRequest& request, const std::string& path, int fd,
                       api::StepStream& stream, std::vector<os::UniqueFd>& to_send);
  Status open_terminal(api::StepSpec& spec, std::vector<os::UniqueFd>& to_send);
  template <typename Ours>
  Status pipe_tasks(const Part& part, bool input, api::StepStream& stream, std::vector<os::UniqueFd>& to_send,
                    Ours ours);
  Status pipe_output(const submit::JobRequest& request, const Part& part, int to, bool is_error,
                     api::StepStream& stream, std::vector<os::UniqueFd>& to_send);
  Status pipe_to_file(const submit::JobRequest& request, const Part& part, const std::string& pattern,
                      bool is_error, api::StepStream& stream, std::vector<os::UniqueFd>& to_send);
  Status pipe_input(const Part& part, api::StepStream& stream, std::vector<os::UniqueFd>& to_send);

  struct LabelledFile {
    uint32_t task = 0;
    bool is_error = false;
    std::string pattern;  // absolute
    bool append = false;
  };
  std::vector<LabelledFile> labelled_files_;
  Part part_;
  std::map<std::string, os::UniqueFd> files_;  // by path; outlives the pump's thread, which writes to them
  StepPump pump_;
  os::UniqueFd terminal_;  // for --pty: the tasks have the other side
  bool raw_terminal_ = false;
};

}  // namespace minke::cli
