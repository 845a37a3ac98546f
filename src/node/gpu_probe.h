// GpuProbe: asks the GPU driver in a separate process. The driver's library may crash, may hang on a GPU that
// fell off its bus, and keeps tens of MiB. The process is this program with other arguments. The first ask()
// starts it; it sleeps between questions and ends with its GpuProbe.
//
// Any thread, one at a time. ask() blocks for `patience` at most.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

#include "base/result.h"
#include "node/nvml.h"
#include "os/fd.h"

namespace minke::node {
class GpuQuestion;
class GpuReport;
}  // namespace minke::node

namespace minke::node {

class GpuProbe {
 public:
  explicit GpuProbe(GpuOptions options) : options_(std::move(options)) {}
  ~GpuProbe() { stop(); }
  GpuProbe(const GpuProbe&) = delete;
  GpuProbe& operator=(const GpuProbe&) = delete;

  // The first report of each process also describes the devices. A process that fails is killed, and the next
  // call starts another one. Errors: no process; no answer in time.
  Result<GpuReport> ask(std::chrono::milliseconds patience, const GpuQuestion& question);
  Result<GpuReport> ask(std::chrono::milliseconds patience);  // when no job uses a GPU
  void stop();

 private:
  Status start();

  GpuOptions options_;
  pid_t child_ = 0;
  os::UniqueFd socket_;
};

// Whether ask() is worthwhile: false if there is no sign of a driver. Cheap.
bool may_have_gpus(const GpuOptions& options);

// The main function of that process. Serves standard input, a socket, until it closes. Returns an exit code.
int run_gpu_probe(const GpuOptions& options);

}  // namespace minke::node
