#include "cli/output_check.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "model/job_spec.pb.h"
#include "text/printable.h"

namespace minke::cli {

namespace {

// "%j" or "\\": the name is only known when the job runs.
bool is_pattern(const std::string& path) {
  return path.find('%') != std::string::npos || path.find('\\') != std::string::npos;
}

// What keeps the file from being written, and the path that it is about; 0: nothing does.
std::pair<int, std::string> problem_of(const std::string& path) {
  const std::string directory = path.substr(0, path.rfind('/') + 1);
  if (is_pattern(directory)) return {0, ""};
  struct stat status {};
  if (::stat(directory.c_str(), &status) != 0) return {errno, directory};
  if (!S_ISDIR(status.st_mode)) return {ENOTDIR, directory};
  if (!is_pattern(path) && ::stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) return {EISDIR, path};
    return {::access(path.c_str(), W_OK) == 0 ? 0 : errno, path};
  }
  return {::access(directory.c_str(), W_OK | X_OK) == 0 ? 0 : errno, directory};
}

// What to write instead of a directory that is not there.
std::string advice_for(const std::string& directory) {
  return directory.find('$') == std::string::npos
             ? ""
             : "; $ means nothing in #SBATCH lines: write the name, or %j, %x, %u";
}

// As in Slurm the job is taken: somebody may mend it before it starts.
void check(const std::string& option, const std::string& pattern, const model::JobSpec& spec,
           std::vector<std::string>& warnings) {
  std::string path = pattern.empty() ? "slurm-%j.out" : pattern;
  if (path.front() != '/') path = spec.work_dir() + "/" + path;
  const auto [error_number, where] = problem_of(path);
  if (error_number == 0) return;
  struct stat status {};
  if (::stat(spec.work_dir().c_str(), &status) != 0 && where.starts_with(spec.work_dir())) {
    warnings.push_back("--chdir: there is no " + spec.work_dir() +
                       "; unless it is made before the job starts, the job will fail");
    return;
  }
  const bool missing = error_number == ENOENT || error_number == ENOTDIR;
  warnings.push_back(option + " " + where + ": " + std::strerror(error_number) +
                     (missing
                          ? "; unless it is made before the job starts, the job will fail" + advice_for(where)
                          : std::string("; unless that changes before the job starts, the job will fail")));
}

}  // namespace

void check_interpreter(const model::JobSpec& spec, std::string_view script,
                       std::vector<std::string>& warnings) {
  const bool in_image = !spec.container().empty() || spec.has_container_image();
  if (in_image || !script.starts_with("#!")) return;
  std::string_view line = script.substr(2, script.find('\n') - 2);
  line.remove_prefix(std::min(line.size(), line.find_first_not_of(" \t")));
  const std::string program(line.substr(0, line.find_first_of(" \t\r")));
  if (!program.empty() && !program.starts_with('/')) {
    warnings.push_back("line 1 of the script: " + text::printable(program) +
                       " is looked for below the directory where the job runs; write #!/bin/bash");
    return;
  }
  if (!program.starts_with('/') || ::access(program.c_str(), F_OK) == 0 || errno != ENOENT) return;
  warnings.push_back("line 1 of the script: there is no " + text::printable(program) +
                     " here; unless it is where the job runs, the job will fail: write #!/bin/bash");
}

void check_output_paths(const model::JobSpec& spec, std::vector<std::string>& warnings) {
  const bool waits = spec.dependencies_size() > 0 || spec.hold() || spec.begin_time() != 0;
  if (waits) return;
  check("--output", spec.stdout_path(), spec, warnings);
  if (!spec.stderr_path().empty()) check("--error", spec.stderr_path(), spec, warnings);
}

}  // namespace minke::cli
