#include "cli/output_check.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "model/job_spec.pb.h"

namespace minke::cli {

namespace {

Status check(const std::string& option, const std::string& pattern, const model::JobSpec& spec,
             std::vector<std::string>& warnings) {
  std::string path = pattern.empty() ? "slurm-%j.out" : pattern;
  const bool below = path.front() != '/';
  if (below) path = spec.work_dir() + "/" + path;
  const std::string directory = path.substr(0, path.rfind('/') + 1);
  const bool waits = spec.dependencies_size() > 0 || spec.hold() || spec.begin_time() != 0;
  const auto refuse = [&](const std::string& what, int error_number) {
    return failure(option + " " + what + ": " + std::strerror(error_number), error_number);
  };
  if (directory.find('%') != std::string::npos || directory.find('\\') != std::string::npos) return {};
  struct stat status {};
  if (::stat(directory.c_str(), &status) != 0) {
    const int error_number = errno;
    if (waits || (error_number != ENOENT && error_number != ENOTDIR)) return {};
    if (below && error_number == ENOENT && ::stat(spec.work_dir().c_str(), &status) == 0) {
      warnings.push_back(option + " " + directory + ": " + std::strerror(error_number) +
                         "; unless it is made before the job starts, the job will fail");
      return {};
    }
    return refuse(directory, error_number);
  }
  if (!S_ISDIR(status.st_mode)) return refuse(directory, ENOTDIR);
  if (path.find('%') == std::string::npos && path.find('\\') == std::string::npos &&
      ::stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) return refuse(path, EISDIR);
    if (::access(path.c_str(), W_OK) != 0) return refuse(path, errno);
    return {};
  }
  if (::access(directory.c_str(), W_OK | X_OK) != 0) return refuse(directory, errno);
  return {};
}

}  // namespace

Status check_output_paths(const model::JobSpec& spec, std::vector<std::string>& warnings) {
  if (const Status out = check("--output", spec.stdout_path(), spec, warnings); !out) return out;
  if (spec.stderr_path().empty()) return {};
  return check("--error", spec.stderr_path(), spec, warnings);
}

}  // namespace minke::cli
