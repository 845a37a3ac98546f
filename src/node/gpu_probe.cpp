#include "node/gpu_probe.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "node/amd_gpus.h"
#include "node/gpus.pb.h"
#include "os/confine_self.h"
#include "os/helper_program.h"

extern char** environ;

namespace minke::node {
namespace {

constexpr size_t kMostBytes = size_t{1} << 20;  // of a report
constexpr size_t kMostAsked = size_t{1} << 16;  // of a question
constexpr char kAsks = '?';                     // in front of it, because it may have no other bytes

// The process ends with the daemon even if it hangs and does not notice the closed socket.
void end_with_parent() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
}

// The driver has opened its devices; everybody may make the later queries. A library other than the driver's
// own (in tests) may read files that only this process's user may read.
bool confine(const GpuOptions& options) {
  if (options.library != GpuOptions().library) return true;
  if (!os::confine_self(os::helper_account())) return false;
  end_with_parent();
  return true;
}

}  // namespace

Status GpuProbe::start() {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    return failure_from_errno("socketpair", errno);
  os::UniqueFd ours(pair[0]);
  const os::UniqueFd theirs(pair[1]);
  const std::vector<std::string> command = os::helper_command(
      os::Helper::kGpuProbe, {"--library", options_.library, "--devices", options_.devices, "--capabilities",
                              options_.capabilities, "--system", options_.system});
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, theirs.get(), STDIN_FILENO);
  const int error = ::posix_spawn(&child_, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    child_ = 0;
    return failure_from_errno("cannot start the process that asks the GPUs", error);
  }
  socket_ = std::move(ours);
  return {};
}

void GpuProbe::stop() {
  socket_.reset();
  if (child_ == 0) return;
  ::kill(child_, SIGKILL);  // it has no state that could be lost
  while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
  child_ = 0;
}

Result<GpuReport> GpuProbe::ask(std::chrono::milliseconds patience) {
  return ask(patience, GpuQuestion::default_instance());
}

Result<GpuReport> GpuProbe::ask(std::chrono::milliseconds patience, const GpuQuestion& question) {
  if (child_ == 0) {
    if (auto started = start(); !started) return failure(started.error());
  }
  const auto give_up = [this](const std::string& why, int code) {
    stop();
    return failure(why, code);
  };
  const std::string words = kAsks + question.SerializeAsString();
  if (::send(socket_.get(), words.data(), words.size(), MSG_NOSIGNAL) < 0)
    return give_up("the process that asks the GPUs has ended", EIO);
  pollfd ready{socket_.get(), POLLIN, 0};
  int count;
  do count = ::poll(&ready, 1, static_cast<int>(patience.count()));
  while (count < 0 && errno == EINTR);
  if (count == 0) return give_up("the GPU driver does not answer", ETIMEDOUT);
  std::string bytes(kMostBytes, '\0');
  const ssize_t received = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
  GpuReport report;
  if (received <= 0 || !report.ParseFromArray(bytes.data(), static_cast<int>(received)))
    return give_up("the GPU driver's library ended the process that asked it", EIO);
  return report;
}

bool may_have_gpus(const GpuOptions& options) {
  if (options.library != GpuOptions().library) return true;
  const auto there = [](const char* path) { return ::access(path, F_OK) == 0; };
  return there("/proc/driver/nvidia") || there("/dev/nvidiactl") || there("/dev/dxg") ||
         has_amd_gpus(options.system);
}

int run_gpu_probe(const GpuOptions& options) {
  end_with_parent();
  ::close_range(3, ~0U, 0);
  auto nvml = Nvml::open(options);
  AmdGpus amd(options.system, options.devices);
  bool discovered = false;
  std::string words(kMostAsked, '\0');
  ssize_t asked;
  while ((asked = ::recv(STDIN_FILENO, words.data(), words.size(), 0)) > 0) {
    GpuReport report;
    GpuQuestion question;
    if (!question.ParseFromArray(words.data() + 1, static_cast<int>(asked) - 1)) question.Clear();
    if (!nvml) {
      report.set_no_library(nvml.error().code == ENOENT);
      report.set_problem(nvml.error().message);
    } else {
      report = discovered ? (*nvml)->read(question) : (*nvml)->discover();
    }
    const GpuReport of_amd =
        discovered ? amd.read() : amd.discover(static_cast<uint32_t>(report.readings_size()));
    if (!discovered && !confine(options)) return 1;
    discovered = true;
    if (of_amd.readings_size() > 0 && report.no_library()) report.Clear();
    report.MergeFrom(of_amd);
    const std::string bytes = report.SerializeAsString();
    if (::send(STDIN_FILENO, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) return 1;
  }
  return 0;
}

}  // namespace minke::node
