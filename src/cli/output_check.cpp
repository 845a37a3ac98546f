#include "cli/output_check.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "model/job_spec.pb.h"

namespace minke::cli {

namespace {

// "%j" or "\\": the name is only known when the job runs.
bool is_pattern(const std::string& path) {
  return path.find('%') != std::string::npos || path.find('\\') != std::string::npos;
}

Status refuse(const std::string& option, const std::string& what, int error_number) {
  return failure(option + " " + what + ": " + std::strerror(error_number), error_number);
}

// The answer for a missing directory: as in Slurm the job is taken, as something may still make it before it
// starts.
Status check_missing(const std::string& option, const std::string& directory, int error_number,
                     const model::JobSpec& spec, std::vector<std::string>& warnings) {
  struct stat status {};
  if (::stat(spec.work_dir().c_str(), &status) != 0 && directory.starts_with(spec.work_dir())) {
    warnings.push_back("--chdir: there is no " + spec.work_dir() +
                       "; unless it is made before the job starts, the job will fail");
    return {};
  }
  const bool waits = spec.dependencies_size() > 0 || spec.hold() || spec.begin_time() != 0;
  if (waits || (error_number != ENOENT && error_number != ENOTDIR)) return {};
  warnings.push_back(option + " " + directory + ": " + std::strerror(error_number) +
                     "; unless it is made before the job starts, the job will fail" +
                     (directory.find('$') == std::string::npos
                          ? ""
                          : "; $ means nothing in #SBATCH lines: write the name, or %j, %x, %u"));
  return {};
}

Status check(const std::string& option, const std::string& pattern, const model::JobSpec& spec,
             std::vector<std::string>& warnings) {
  std::string path = pattern.empty() ? "slurm-%j.out" : pattern;
  if (path.front() != '/') path = spec.work_dir() + "/" + path;
  const std::string directory = path.substr(0, path.rfind('/') + 1);
  if (is_pattern(directory)) return {};
  struct stat status {};
  if (::stat(directory.c_str(), &status) != 0) return check_missing(option, directory, errno, spec, warnings);
  if (!S_ISDIR(status.st_mode)) return refuse(option, directory, ENOTDIR);
  if (!is_pattern(path) && ::stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) return refuse(option, path, EISDIR);
    return ::access(path.c_str(), W_OK) == 0 ? Status() : refuse(option, path, errno);
  }
  return ::access(directory.c_str(), W_OK | X_OK) == 0 ? Status() : refuse(option, directory, errno);
}

}  // namespace

Status check_output_paths(const model::JobSpec& spec, std::vector<std::string>& warnings) {
  if (const Status out = check("--output", spec.stdout_path(), spec, warnings); !out) return out;
  if (spec.stderr_path().empty()) return {};
  return check("--error", spec.stderr_path(), spec, warnings);
}

}  // namespace minke::cli
