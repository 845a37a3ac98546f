#include "engine/embedded/launching/tmp_root.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "config/configuration.h"
#include "node/tmp_image.h"
#include "os/detached.h"
#include "os/files.h"
#include "os/helper_program.h"
#include "os/helper_starter.h"
#include "os/minke_home.h"

namespace minke::engine {

namespace {

// Independent of the umask: users may traverse the way to their own files, and read nothing else.
Status let_users_pass(const std::string& home, const std::string& tmp_root) {
  if (home == os::kSharedHome) {
    if (const Status made = os::make_directories(os::kSharedSocketDirectory, 0755); !made) return made;
    if (::chmod(os::kSharedSocketDirectory, 0755) != 0)
      return failure_from_errno(os::kSharedSocketDirectory, errno);
  }
  struct stat info {};
  if (::lstat(tmp_root.c_str(), &info) != 0) return failure_from_errno(tmp_root, errno);
  // If others could write there, they could replace a job's directory.
  if (!S_ISDIR(info.st_mode) || info.st_uid != 0 || (info.st_mode & 0022) != 0)
    return failure("tmp_root " + tmp_root + " must be a directory of root's that nobody else may write to");
  if (::chmod(tmp_root.c_str(), 0711) != 0) return failure_from_errno(tmp_root, errno);
  return {};
}

// Mounts an image as a test. Under systemd this process may not mount, so the helper starter does it.
Status make_tmp_image_template(const std::string& directory, uint64_t bytes) {
  if (!os::has_helper_starter()) return node::make_tmp_image_template(directory, bytes);
  constexpr int kMostMilliseconds = 60'000;
  const auto output = os::start_detached(
      {.argv = os::helper_command(os::Helper::kTmpImageTemplate,
                                  {"--directory", directory, "--bytes", std::to_string(bytes)}),
       .log_path = "/dev/null",
       .without_variables = {}});
  if (!output) return failure(output.error());
  std::string said;
  char buffer[4096];
  for (;;) {
    pollfd ready{output->get(), POLLIN, 0};
    if (::poll(&ready, 1, kMostMilliseconds) != 1) return failure("mke2fs does not end");
    const ssize_t got = ::read(output->get(), buffer, sizeof buffer);
    if (got <= 0) break;
    said.append(buffer, static_cast<size_t>(got));
  }
  if (said == "made\n") return {};
  return failure(said.empty() ? "it could not be tried" : said);
}

}  // namespace

Status prepare_tmp_root(const config::Configuration& config) {
  if (const Status made = os::make_directories(config.tmp_root, config.shared ? 0711 : 0700); !made)
    return made;
  if (config.shared) {
    if (const Status open = let_users_pass(config.home, config.tmp_root); !open) return open;
  }
  if (config.tmp_bytes == 0) return {};
  if (!config.shared) return failure("tmp_size needs a shared cluster: only root can limit directories");
  const Status made = make_tmp_image_template(config.tmp_root, config.tmp_bytes);
  return made ? Status() : failure("tmp_size: " + made.error().message);
}

}  // namespace minke::engine
