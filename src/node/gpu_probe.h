// Asks the GPUs' driver from a process of its own: the driver's library may crash, or hang on a GPU that fell
// off its bus, and keeps tens of MiB. The process is this program with other arguments; it is started by the
// first question, ends with its GpuProbe, and sleeps between questions.
//
// Any thread, one at a time. Blocks, as long as `patience` at most.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

#include "base/result.h"
#include "node/nvml.h"
#include "os/fd.h"

namespace minke::node {
class GpuReport;
}  // namespace minke::node

namespace minke::node {

class GpuProbe {
 public:
  explicit GpuProbe(GpuOptions options) : options_(std::move(options)) {}
  ~GpuProbe() { stop(); }
  GpuProbe(const GpuProbe&) = delete;
  GpuProbe& operator=(const GpuProbe&) = delete;

  // The first report of each process tells what devices there are as well. A process that fails is ended, and
  // the next question starts another one. Errors: no process; no answer in time.
  Result<GpuReport> ask(std::chrono::milliseconds patience);
  void stop();

 private:
  Status start();

  GpuOptions options_;
  pid_t child_ = 0;
  os::UniqueFd socket_;
};

// Whether it is worth to ask: false where there is no sign of a driver. Cheap.
bool may_have_gpus(const GpuOptions& options);

// That process: answers on standard input, which is a socket, until it is closed. Returns an exit code.
int run_gpu_probe(const GpuOptions& options);

}  // namespace minke::node
