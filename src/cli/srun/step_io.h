// The standard streams of a step's tasks, as srun sets them up.
//
// On one machine nothing is forwarded: tasks get srun's own descriptors. Only what needs a hand in between
// has one:
// --label (lines with the task's number in front), standard input for several tasks (each gets all of it),
// and --pty. The copying runs on threads of its own; finish() waits until all output has been written.
#pragma once

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "os/fd.h"
#include "rpc/messages.pb.h"
#include "submit/job_request.h"

namespace minke::cli {

class StepIo {
 public:
  StepIo() = default;
  ~StepIo();
  StepIo(const StepIo&) = delete;
  StepIo& operator=(const StepIo&) = delete;

  // Fills in the streams of `spec` for `tasks` tasks.
  Status set_up(const submit::JobRequest& request, uint32_t tasks, rpc::StepSpec& spec);
  // To be sent along, in order.
  std::vector<int> descriptors() const;
  // The tasks have them (or their copies travel): ours are closed, so that ends of files are seen.
  void sent();
  // The step has ended.
  void finish();

 private:
  uint32_t add(os::UniqueFd fd);
  Status label_output(uint32_t tasks, int to, rpc::StepStream& stream);
  Status broadcast_input(uint32_t tasks, rpc::StepStream& stream);
  Status open_terminal(rpc::StepSpec& spec);

  std::vector<os::UniqueFd> to_send_;
  std::vector<std::thread> writers_;  // end when the tasks have closed their ends
  os::UniqueFd stop_reading_;         // readable: the thread that copies standard input is to end
  std::thread reader_;
  bool raw_terminal_ = false;
};

}  // namespace minke::cli
