// One part of a chain: runs the job's own script, passes on the warning, and decides at its end whether
// another part follows.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "api/accounting.pb.h"
#include "api/actions.pb.h"
#include "api/field.pb.h"
#include "api/jobs.pb.h"
#include "api/updates.pb.h"
#include "engine/engine.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "helpers/checkpoint.h"
#include "helpers/programs.h"
#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"
#include "model/job_state.pb.h"
#include "node/process_tree.h"
#include "os/fd.h"
#include "os/files.h"
#include "text/chain_comment.h"
#include "text/duration.h"
#include "text/number.h"
#include "view/text.h"

namespace minke::helpers {

namespace {

constexpr int kSkippedLines = 2;  // of the batch script, above the job's own
constexpr size_t kMaxScriptBytes = size_t{8} << 20;
constexpr int kNotDone = EX_TEMPFAIL;  // 75: the script asks for another part
constexpr int64_t kMaxReserveSeconds = 30;
constexpr int kLastMoments = 1000;  // ms: CRIU cannot keep a process that is just ending

// Prints a line in one write: the program writes to the same log.
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...) {
  char text[1024];
  va_list values;
  va_start(values, format);
  std::vsnprintf(text, sizeof text, format, values);
  va_end(values);
  std::fputs(("minke chain: " + std::string(text) + "\n").c_str(), stderr);
}

class Part {
 public:
  Part(engine::Engine& cluster, uint32_t job_id, int64_t total, int64_t warn, int signal)
      : cluster_(cluster), job_id_(job_id), total_(total), warn_(warn), signal_(signal) {}
  // CRIU keeps the program's state there between the parts.
  void keep_state_in(const std::string& directory) { checkpoint_.emplace(directory); }
  bool goes_on() const { return goes_on_; }  // after run(): another part follows

  Status look_back();
  int run(const std::string& script, const std::vector<std::string>& arguments);

 private:
  void add_up(const model::JobRecord& current);
  void warn();
  bool ends_within(int milliseconds) const;
  void start(const std::string& script, const std::vector<std::string>& arguments, const sigset_t& signals);
  bool keep_state();
  void wait_for(pid_t child);
  int decide(int status);
  Status requeue();
  void tell_part(const model::JobRecord& current, int64_t each);
  int64_t now() const { return std::time(nullptr); }
  int64_t run_time() const { return now() - start_; }  // of this part, s

  engine::Engine& cluster_;
  uint32_t job_id_;
  int64_t total_, warn_;
  int signal_;
  int64_t used_ = 0;   // by earlier parts, s; those that a failing node ended do not count
  int64_t start_ = 0;  // of this one, s since the epoch
  int64_t limit_ = 0;  // s since the epoch
  uint32_t number_ = 1;
  uint32_t parts_ = 1;  // as many as there will be, if each runs until it is warned
  pid_t child_ = 0;
  std::string done_path_;
  std::optional<Checkpoint> checkpoint_;
  bool warned_ = false, stopping_ = false, kept_ = false, goes_on_ = false;
  int status_ = 0;
};

// Reads which part this is, and how much of the total earlier parts have used: from the accounting record, to
// which a real Slurm adds the part that runs a little later. If there is none, each earlier part counts with
// all of its time.
Status Part::look_back() {
  api::WaitJobRequest running;
  running.set_job_id(job_id_);
  running.set_until(api::WaitJobRequest::STARTED);
  model::JobRecord current;
  const Status known = cluster_.wait(running, [&](api::WaitJobReply& reply) -> Status {
    current = std::move(*reply.mutable_job());
    return {};
  });
  if (!known) return known;
  number_ = current.restarts() + 1;
  start_ = current.start_time() != 0 ? current.start_time() : now();
  if (current.restarts() > 0) add_up(current);

  int64_t seconds = int64_t{current.time_limit_minutes()} * 60;
  if (used_ >= total_) return failure("all of the " + text::format_seconds(total_) + " is used up");
  tell_part(current, seconds);
  if (total_ - used_ < seconds - 60) {
    // The last part is shorter.
    seconds = (total_ - used_ + 59) / 60 * 60;
    api::UpdateJobRequest update;
    update.mutable_job()->set_job_id(job_id_);
    api::Field& field = *update.add_fields();
    field.set_name("TimeLimit");
    field.set_value(std::to_string(seconds / 60));
    if (const auto answer = cluster_.update(update); !answer) say("%s", answer.error().message.c_str());
  }
  limit_ = start_ + seconds;
  return {};
}

// Says in the job's comment which part it is, for squeue and minke jobs. `each`: s that a part may run.
void Part::tell_part(const model::JobRecord& current, int64_t each) {
  parts_ = number_ - 1 + text::chain_parts(total_ - used_, each, warn_);
  ::setenv("MINKE_CHAIN_PARTS", std::to_string(parts_).c_str(), 1);
  const std::string& before = current.spec().comment();
  const std::string comment = text::with_chain_part(before, number_, parts_);
  if (comment == before) return;
  api::UpdateJobRequest update;
  update.mutable_job()->set_job_id(job_id_);
  api::Field& field = *update.add_fields();
  field.set_name("Comment");
  field.set_value(comment);
  if (const auto answer = cluster_.update(update); !answer) say("%s", answer.error().message.c_str());
}

void Part::add_up(const model::JobRecord& current) {
  api::QueryAccountingRequest query;
  query.mutable_filter()->add_jobs()->set_job_id(job_id_);
  query.mutable_filter()->set_all_states(true);
  query.set_duplicates(true);
  const auto asked = engine::for_each_accounted(cluster_, query, [&](const api::AccountedJob& one) {
    const model::JobRecord& run = one.job();
    if (run.job_id() == job_id_ && run.restarts() < current.restarts() && run.state() != model::JOB_NODE_FAIL)
      used_ += view::elapsed_seconds(run, run.end_time());
  });
  if (asked) return;
  used_ = int64_t{current.restarts()} * current.time_limit_minutes() * 60;
  say("%s: each earlier part counts with all of its time", asked.error().message.c_str());
}

Status Part::requeue() {
  api::RequeueRequest request;
  request.add_jobs()->set_job_id(job_id_);
  const auto answer = cluster_.requeue(request);
  if (!answer) return failure(answer.error());
  if (answer->failures_size() > 0) return failure(answer->failures(0).message());
  return {};
}

bool catches(pid_t pid, int signal) {
  const auto status = os::read_file("/proc/" + std::to_string(pid) + "/status", 16384);
  if (!status) return false;
  const size_t at = status->find("SigCgt:");
  if (at == std::string::npos) return false;
  return (std::strtoull(status->c_str() + at + 7, nullptr, 16) >> (signal - 1) & 1) != 0;
}

bool Part::keep_state() {
  if (const Status taken = checkpoint_->take(child_); !taken) {
    say("the program's state cannot be kept: %s", taken.error().message.c_str());
    return false;
  }
  say("the program's state is kept");
  return kept_ = true;
}

// A program that ended by itself while the warning was on its way, or while its state was being kept, did not
// end because of it: it counts as done, as without a warning.
bool Part::ends_within(int milliseconds) const {
  const os::UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, child_, 0)));
  pollfd end{process.get(), POLLIN, 0};
  return process && ::poll(&end, 1, milliseconds) == 1;
}

// Warns the steps of the job, as --signal does, and those processes beside them that handle the signal. The
// others would die of it.
void Part::warn() {
  if (warned_ || ends_within(0)) return;
  say("part %u of %u ends in %s", number_, parts_,
      text::format_seconds(std::max<int64_t>(0, limit_ - now())).c_str());
  if (checkpoint_ && (keep_state() || ends_within(kLastMoments))) {
    warned_ = kept_;
    return;
  }
  warned_ = true;
  api::SignalRequest request;
  request.mutable_filter()->add_jobs()->set_job_id(job_id_);
  request.set_signal(static_cast<uint32_t>(signal_));
  request.set_steps_only(true);
  if (const auto answer = cluster_.signal(request); !answer) say("%s", answer.error().message.c_str());
  for (const node::Process& process : node::descendants(node::read_all_processes(), {::getpid()})) {
    // srun passes on what it gets: its tasks have it already.
    if (catches(process.pid, signal_) && !node::runs_this_program(process.pid)) ::kill(process.pid, signal_);
  }
}

void Part::wait_for(pid_t child) {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int one : {SIGCHLD, SIGTERM, signal_}) ::sigaddset(&signals, one);
  // Before the limit strikes, so that a program that does not end is requeued, not timed out.
  const int64_t last_moment = limit_ - std::min<int64_t>(kMaxReserveSeconds, warn_ / 2);
  for (;;) {
    if (const pid_t ended = ::waitpid(child, &status_, WNOHANG); ended == child) return;
    const int64_t left = last_moment - now();
    if (left <= 0 && !stopping_ && used_ + run_time() + warn_ < total_) {
      stopping_ = true;
      goes_on_ = true;
      say("part %u does not end by itself: it is stopped, and goes on as part %u", number_, number_ + 1);
      if (const Status done = requeue(); !done) say("%s", done.error().message.c_str());
    }
    const timespec patience{std::max<int64_t>(1, std::min<int64_t>(left, 3600)), 0};
    const int got = ::sigtimedwait(&signals, nullptr, &patience);
    if (got == signal_) warn();
    if (got == SIGTERM) stopping_ = true;  // its processes have got it, too
  }
}

int Part::decide(int status) {
  const int code = kept_ ? kNotDone : WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  if (stopping_) return code;
  const bool says_done = ::access(done_path_.c_str(), F_OK) == 0;
  const bool goes_on = !says_done && (warned_ || code == kNotDone);
  if (!goes_on) {
    if (says_done || code == 0) say("done in part %u", number_);
    return says_done ? 0 : code;
  }
  if (used_ + run_time() + warn_ >= total_) {
    say("the work is not done, and all of the %s is used up", text::format_seconds(total_).c_str());
    return code == 0 ? kNotDone : code;
  }
  say("part %u ended; the work goes on in part %u", number_, number_ + 1);
  if (const Status done = requeue(); !done) {
    say("it cannot be requeued: %s", done.error().message.c_str());
    return code == 0 ? kNotDone : code;
  }
  goes_on_ = true;
  // A requeue ends the job: waits for the SIGTERM.
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGTERM);
  const timespec patience{60, 0};
  ::sigtimedwait(&signals, nullptr, &patience);
  return code;
}

int Part::run(const std::string& script, const std::vector<std::string>& arguments) {
  done_path_ = script + ".done";
  ::unlink(done_path_.c_str());
  ::setenv("MINKE_CHAIN_PART", std::to_string(number_).c_str(), 1);
  ::setenv("MINKE_CHAIN_DONE", done_path_.c_str(), 1);
  say("part %u of %u: %s of %s used", number_, parts_, text::format_seconds(used_).c_str(),
      text::format_seconds(total_).c_str());

  sigset_t signals, before;
  ::sigemptyset(&signals);
  for (const int one : {SIGCHLD, SIGTERM, signal_}) ::sigaddset(&signals, one);
  ::sigprocmask(SIG_BLOCK, &signals, &before);
  if (checkpoint_ && checkpoint_->exists()) {
    const auto restored = checkpoint_->restore();
    if (!restored) {
      say("the program cannot go on from the state that was kept: %s", restored.error().message.c_str());
      goes_on_ = true;  // keeps it for a later repair
      return 1;
    }
    child_ = *restored;
  } else {
    start(script, arguments, before);
  }
  if (child_ < 0) {
    say("fork: %s", std::strerror(errno));
    return 1;
  }
  wait_for(child_);
  return decide(status_);
}

void Part::start(const std::string& script, const std::vector<std::string>& arguments,
                 const sigset_t& signals) {
  std::vector<char*> words = {const_cast<char*>(script.c_str())};
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  child_ = ::fork();
  if (child_ != 0) return;
  if (checkpoint_) ::setsid();  // CRIU keeps whole sessions
  ::sigprocmask(SIG_SETMASK, &signals, nullptr);
  ::execv(words[0], words.data());
  std::fprintf(stderr, "minke chain: %s: %s\n", words[0], std::strerror(errno));
  ::_exit(127);
}

// Returns the job's own script, from behind the lines that lead here, as an executable file: in this
// directory while the chain lasts, or else with the job's temporary files.
Result<std::string> take_script(const std::string& path, uint32_t job_id, const std::string& kept_in) {
  const auto whole = os::read_file(path, kMaxScriptBytes);
  if (!whole) return failure(whole.error());
  size_t at = 0;
  for (int line = 0; line < kSkippedLines; ++line) {
    const size_t end = whole->find('\n', at);
    if (end == std::string::npos) return failure(path + " is no script of a chain");
    at = end + 1;
  }
  if (!kept_in.empty()) {
    if (const Status made = os::make_directories(kept_in, 0700); !made) return failure(made.error());
    const std::string name = kept_in + "/script";
    if (::access(name.c_str(), F_OK) == 0) return name;  // a continued program has it open
    if (const Status written = os::replace_file(name, whole->substr(at), 0700); !written)
      return failure(written.error());
    return name;
  }
  const char* directory = std::getenv("SLURM_TMPDIR");
  if (directory == nullptr || ::access(directory, W_OK | X_OK) != 0) directory = "/tmp";
  std::string name = std::string(directory) + "/chain-" + std::to_string(job_id) + ".XXXXXX";
  const os::UniqueFd file(::mkstemp(name.data()));
  if (!file) return failure_from_errno(name, errno);
  if (const Status written = os::replace_file(name, whole->substr(at), 0700); !written)
    return failure(written.error());
  return name;
}

}  // namespace

int chain_part_main(int argc, char** argv) {
  const char* id = std::getenv("SLURM_JOB_ID");
  const auto job_id = text::parse_unsigned(id == nullptr ? "" : id, 0xffffffff);
  const auto number = [&](int i) {
    return argc > i ? text::parse_unsigned(argv[i], 1u << 30) : std::nullopt;
  };
  if (argc < 6 || !number(1) || !number(2) || !number(3) || *number(3) < 1 || *number(3) > 64 || !job_id) {
    say("it runs inside a job that minke chain has submitted");
    return EX_USAGE;
  }
  std::string state;
  if (std::string_view(argv[4]) == "checkpoint") {
    std::error_code ignored;
    state = (std::filesystem::current_path(ignored) / (".minke-chain-" + std::to_string(*job_id))).string();
  }
  const auto script = take_script(argv[5], static_cast<uint32_t>(*job_id), state);
  auto cluster = engine::open();
  if (!script || !cluster) {
    say("%s", (!script ? script.error() : cluster.error()).message.c_str());
    return 1;
  }
  Part part(**cluster, static_cast<uint32_t>(*job_id), static_cast<int64_t>(*number(1)),
            static_cast<int64_t>(*number(2)), static_cast<int>(*number(3)));
  if (!state.empty()) part.keep_state_in(state + "/state");
  int code = 1;
  if (const Status ready = part.look_back(); !ready) {
    say("%s", ready.error().message.c_str());
  } else {
    code = part.run(*script, std::vector<std::string>(argv + 6, argv + argc));
  }
  if (state.empty()) {
    ::unlink(script->c_str());
    ::unlink((*script + ".done").c_str());
  } else if (!part.goes_on()) {
    std::error_code ignored;
    std::filesystem::remove_all(state, ignored);
  }
  return code;
}

}  // namespace minke::helpers
