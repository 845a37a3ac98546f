#include "cli/tail.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "api/accounting.pb.h"
#include "api/job_filter.pb.h"
#include "cli/complain.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "environment/job_paths.h"
#include "model/error.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "os/fd.h"
#include "os/user_files.h"
#include "text/job_id.h"
#include "view/output.h"
#include "view/text.h"

namespace minke::cli {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{200};
constexpr std::chrono::seconds kBetweenQuestions{1};
constexpr size_t kMostTailBytes = size_t{4} << 20;

// The record of the job, of the queue or of the accounts; of an array that was named as a whole, of its task
// that began last.
Result<model::JobRecord> find_job(engine::Engine& cluster, const text::JobReference& wanted) {
  api::JobFilter filter;
  *filter.add_jobs() = engine::selector_of(wanted);
  filter.set_all_states(true);
  std::optional<model::JobRecord> found;
  const auto consider = [&found](const model::JobRecord& job) {
    if (!found || job.start_time() > found->start_time()) found = job;
  };
  if (const auto queue = engine::fetch_jobs(cluster, filter)) {
    for (const model::JobRecord* job : queue->records) consider(*job);
  } else if (queue.error().code != model::kInvalidJobId) {
    return failure(queue.error());
  }
  if (found) return *found;
  api::QueryAccountingRequest query;
  *query.mutable_filter() = filter;
  const auto record = engine::fetch_accounting(cluster, query);
  if (!record && record.error().code != model::kInvalidJobId) return failure(record.error());
  if (record)
    for (const api::AccountedJob* one : record->records) consider(one->job());
  if (!found) return failure(no_such_job(text::format_job_id(wanted)));
  return *found;
}

std::string path_of(const model::JobRecord& job, bool of_error) {
  environment::JobPaths paths = environment::paths_of(job);
  if (!job.stdout_path().empty()) paths.out = job.stdout_path();
  if (!job.stderr_path().empty()) paths.error = job.stderr_path();
  return of_error && !paths.error.empty() ? paths.error : paths.out;
}

// A file that grows, read from the place where the last look ended. One's own is printed as it is, with its
// colours and bars; another's as what a terminal does not obey.
class Growing {
 public:
  Growing(std::string path, bool is_own) : path_(std::move(path)), is_own_(is_own) {}

  // Prints the last lines, if the file is there. An error is one that waiting does not mend.
  Status begin(int lines) {
    if (const Status opened = open(); !opened || !file_) return opened;
    struct stat status {};
    if (::fstat(file_.get(), &status) != 0) return failure_from_errno(path_, errno);
    at_ = std::max<off_t>(0, status.st_size - static_cast<off_t>(kMostTailBytes));
    std::string text = read_rest();
    size_t from = text.size();
    if (text.ends_with('\n')) --from;
    for (int line = 0; line < lines && from != std::string::npos; ++line)
      from = from == 0 ? std::string::npos : text.rfind('\n', from - 1);
    if (lines == 0) text.clear();
    print(from == std::string::npos || lines == 0 ? text : text.substr(from + 1));
    return {};
  }

  // Prints what has been added.
  Status go_on() {
    if (!file_) {
      if (const Status opened = open(); !opened || !file_) return opened;
    }
    struct stat status {};
    if (::fstat(file_.get(), &status) == 0 && status.st_size < at_) at_ = 0;  // it was emptied
    print(read_rest());
    return {};
  }

  bool is_there() const { return static_cast<bool>(file_); }

 private:
  Status open() {
    // O_NONBLOCK: a named pipe in its place must not hold the command up.
    file_ = os::UniqueFd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file_ && errno != ENOENT) return failure_from_errno(path_, errno);
    struct stat status {};
    if (file_ && ::fstat(file_.get(), &status) == 0 && !S_ISREG(status.st_mode))
      return failure(path_ + " is no regular file");
    return {};
  }

  void print(const std::string& text) const { is_own_ ? view::write_bytes(text) : view::write_out(text); }

  std::string read_rest() {
    std::string text;
    char buffer[65536];
    for (ssize_t got;
         (got = ::pread(file_.get(), buffer, sizeof buffer, at_)) > 0 && text.size() < kMostTailBytes;) {
      text.append(buffer, static_cast<size_t>(got));
      at_ += got;
    }
    return text;
  }

  std::string path_;
  bool is_own_;
  os::UniqueFd file_;
  off_t at_ = 0;
};

// Prints what the job adds to its file until it has ended.
Status follow(engine::Engine& cluster, const text::JobReference& job, Growing& output,
              std::chrono::seconds pause) {
  auto asked = std::chrono::steady_clock::now();
  for (;;) {
    if (const Status read = output.go_on(); !read) return read;
    std::this_thread::sleep_for(kBetweenLooks);
    if (std::chrono::steady_clock::now() - asked < pause) continue;
    asked = std::chrono::steady_clock::now();
    const auto record = find_job(cluster, job);
    if (!record) return failure(record.error());
    if (!view::is_finished(record->state()) || record->completing()) continue;
    return output.go_on();
  }
}

std::string without_output(const model::JobRecord& job, const std::string& path) {
  const std::string name = text::format_job_id(job);
  if (job.state() == model::JOB_PENDING)
    return "job " + name + " waits (" + std::string(view::reason_text(job)) +
           "), and has written nothing; minke why " + name + " says when it will start";
  if (job.spec().interactive()) return "job " + name + " wrote to its terminal (salloc, srun), not to a file";
  return "job " + name + " has no output: there is no " + path;
}

}  // namespace

int tail(const TailOptions& options) {
  const auto wanted = text::parse_job_id(options.job);
  if (!wanted)
    return complain(
        Error{0, "\"" + options.job + "\" is no job id: write 12, or 12_3 for a task of an array"});
  const auto cluster = engine::open();
  if (!cluster) return complain(cluster.error());
  const auto job = find_job(**cluster, *wanted);
  if (!job) return complain(job.error());
  const std::string path = path_of(*job, options.error);
  if (job->spec().interactive() || path.empty()) return complain(Error{0, without_output(*job, path)});
  const bool is_own = job->uid() == ::getuid();
  // Root opens no path of a user's with root's rights.
  if (::geteuid() == 0 && !os::become_user(job->uid(), job->gid()))
    return complain(Error{EPERM, "the rights of " + job->user_name() + " cannot be taken"});
  Growing output(path, is_own);
  if (const Status begun = output.begin(options.lines); !begun) return complain(begun.error());
  if (!options.follow && !output.is_there()) return complain(Error{0, without_output(*job, path)});
  if (!options.follow) return 0;
  if (job->state() == model::JOB_PENDING)
    std::fprintf(stderr, "minke: %s\n", without_output(*job, path).c_str());
  const auto self = (*cluster)->identity();
  const std::chrono::seconds least(self ? self->least_poll_seconds : 0);
  text::JobReference one = *wanted;
  if (const Status followed = follow(**cluster, one, output, std::max(kBetweenQuestions, least)); !followed)
    return complain(followed.error());
  return 0;
}

}  // namespace minke::cli
