#include "cli/slurm_programs.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "engine/slurm/find.h"
#include "os/fd.h"
#include "os/files.h"

namespace minke::cli {
namespace {

// Allocations and steps, whose streams and signals Slurm's own programs carry; and what Slurm's daemons tell
// of accounts and priorities.
constexpr std::string_view kOwn[] = {"srun",  "salloc",   "sattach",  "sbcast",  "sgather",
                                     "sprio", "sshare",   "sacctmgr", "sreport", "sstat",
                                     "sdiag", "strigger", "scrontab", "swait"};

// Standard input from its beginning.
Status put_back(const std::string& input) {
  const os::UniqueFd file(::memfd_create("minke-input", MFD_CLOEXEC));
  if (!file) return failure_from_errno("memfd_create", errno);
  for (size_t written = 0; written < input.size();) {
    const ssize_t done = ::write(file.get(), input.data() + written, input.size() - written);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return failure_from_errno("standard input", errno);
    written += static_cast<size_t>(done);
  }
  if (::lseek(file.get(), 0, SEEK_SET) != 0 || ::dup2(file.get(), STDIN_FILENO) < 0)
    return failure_from_errno("standard input", errno);
  return {};
}

}  // namespace

std::optional<int> become_slurm_program_for_this(std::string_view name, char** argv,
                                                 const std::string& input) {
  const auto found = engine::slurm::find_slurm();
  // What is wrong with the choice of a cluster the command itself says.
  if (!found || !found->has_value()) return std::nullopt;
  const engine::slurm::Place& place = (*found)->place;
  const std::string path = place.directory + "/" + std::string(name);
  if (!place.cluster.empty()) ::setenv("SLURM_CLUSTERS", place.cluster.c_str(), 0);
  if (!input.empty()) {
    if (const Status put = put_back(input); !put) {
      std::fprintf(stderr, "minke: error: %s\n", put.error().message.c_str());
      return 1;
    }
  }
  std::fflush(nullptr);
  ::execv(path.c_str(), argv);
  std::fprintf(stderr, "minke: error: the cluster's own %.*s cannot be started: %s: %s\n",
               static_cast<int>(name.size()), name.data(), path.c_str(), std::strerror(errno));
  return 1;
}

std::optional<int> become_slurm_program(std::string_view name, char** argv) {
  if (std::find(std::begin(kOwn), std::end(kOwn), name) == std::end(kOwn)) return std::nullopt;
  return become_slurm_program_for_this(name, argv);
}

}  // namespace minke::cli
