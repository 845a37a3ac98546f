#include "engine/end_clues.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "api/job_filter.pb.h"
#include "engine/engine.h"
#include "engine/fetch.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "text/number.h"

namespace minke::engine {
namespace {

// Returns the interpreter of a script's first line if it is missing now: the kernel could not find or execute
// it, and ended the job with that error's number, as if it were the script's own.
std::string missing_interpreter(Engine& cluster, const model::JobRecord& job) {
  constexpr int kOfShells = 127;  // the code of env, and of a login shell's interpreter
  const int code = (job.exit_code() >> 8) & 0xff, error = code == kOfShells ? ENOENT : code;
  if (job.state() != model::JOB_FAILED || job.start_time() == 0 || job.spec().interactive()) return "";
  if ((job.exit_code() & 0x7f) != 0 || (error != ENOENT && error != EACCES && error != ENOEXEC)) return "";
  const auto answer = cluster.script(job.job_id());
  if (!answer) return "";
  const std::string_view script = *answer;
  if (!script.starts_with("#!")) return "";
  const std::string_view line = text::trim(script.substr(2, script.find('\n') - 2));
  const std::string interpreter(line.substr(0, line.find_first_of(" \t")));
  if (interpreter.empty() || ::access(interpreter.c_str(), X_OK) == 0) return "";
  return "its interpreter " + interpreter + ": " + std::strerror(error);
}

bool is_on_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  for (const std::string_view directory : text::split(path == nullptr ? "" : path, ':'))
    if (::access((std::string(directory) + "/" + program).c_str(), X_OK) == 0) return true;
  return false;
}

// Whether a line of the script begins with the command.
bool calls(std::string_view script, std::string_view command) {
  for (const std::string_view line : text::split(script, '\n')) {
    std::string_view rest = text::trim(line);
    if (rest.starts_with("srun ")) rest = text::trim(rest.substr(5));
    if (rest.starts_with(command) && (rest.size() == command.size() || rest[command.size()] == ' '))
      return true;
  }
  return false;
}

// What a script of another cluster lacks here most often, where its last command was not found.
std::string missing_python(Engine& cluster, const model::JobRecord& job) {
  constexpr int kNotFound = 127;
  if (job.state() != model::JOB_FAILED || job.exit_code() != kNotFound << 8) return "";
  const auto script = cluster.script(job.job_id());
  if (!script || !calls(*script, "python")) return "";
  if (is_on_path("python") || !is_on_path("python3")) return "";
  return "python: command not found: without a module it is called python3 here; "
         "write \"module load python\" before it";
}

}  // namespace

void add_end_clues(Engine& cluster, model::JobRecord& job) {
  if (std::string missing = missing_interpreter(cluster, job); !missing.empty()) {
    job.set_reason(model::FAIL_LAUNCH);
    job.set_reason_detail(std::move(missing));
  } else if (std::string python = missing_python(cluster, job); !python.empty()) {
    job.set_reason_detail(std::move(python));
  }
}

std::vector<model::JobRecord> ended_in_queue(Engine& cluster, const api::JobFilter& filter, int64_t& now) {
  std::vector<model::JobRecord> ended;
  const auto known = fetch_jobs(cluster, filter);
  if (!known) return ended;
  for (const model::JobRecord* one : known->records)
    if (one->state() >= model::JOB_COMPLETE) ended.push_back(*one);
  if (!ended.empty()) now = known->now;
  return ended;
}

void add_output(Engine& cluster, model::JobRecord& job) {
  if (!job.stdout_path().empty() || job.spec().interactive()) return;
  api::JobFilter filter;
  filter.set_all_states(true);
  filter.add_jobs()->set_job_id(job.job_id());
  const auto known = fetch_jobs(cluster, filter);
  if (!known) return;
  for (const model::JobRecord* one : known->records) {
    if (one->job_id() != job.job_id() || one->restarts() != job.restarts()) continue;
    job.set_stdout_path(one->stdout_path());
    job.set_stderr_path(one->stderr_path());
  }
}

}  // namespace minke::engine
