#include "helpers/mail/compose.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <iterator>

#include "helpers/mail/advice.h"
#include "helpers/mail/mime.h"
#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"
#include "model/job_state.pb.h"
#include "model/mail.pb.h"
#include "model/nobody.h"
#include "text/duration.h"
#include "text/number.h"
#include "text/state.h"
#include "text/timestamp.h"
#include "view/seff.h"
#include "view/text.h"

namespace minke::helpers {

namespace {

using model::JobRecord;
using model::MailMessage;

constexpr size_t kMaxLogLine = 300;

std::string job_name_of(const MailContents& mail) {
  const std::string& name = mail.job.job().spec().name();
  return name.empty() ? "?" : name;
}

int64_t queued_seconds(const MailContents& mail) {
  const int64_t submitted = mail.job.job().submit_time();
  return submitted == 0 ? 0 : std::max<int64_t>(0, mail.message.time() - submitted);
}

std::string what_happened(const MailMessage& message) {
  switch (message.event()) {
    case model::MAIL_BEGIN:
      return "Began";
    case model::MAIL_END:
      return "Ended";
    case model::MAIL_FAIL:
      return "Failed";
    case model::MAIL_REQUEUE:
      return "Requeued";
    case model::MAIL_TIME_LIMIT:
      return message.percent() >= 100 ? "Reached time limit"
                                      : fmt::format("Reached {}% of time limit", message.percent());
    case model::MAIL_INVALID_DEPEND:
      return "Invalid dependency";
    default:
      return "Changed";
  }
}

bool is_end(const MailMessage& message) {
  return message.event() == model::MAIL_END || message.event() == model::MAIL_FAIL;
}

// Returns the wait(2) status for the job's mail. A job that was stopped has none of its own:
// Slurm's mail says 0 then.
int own_status(const JobRecord& job) {
  const bool stopped = job.state() == model::JOB_TIMEOUT || job.state() == model::JOB_CANCELLED ||
                       job.state() == model::JOB_DEADLINE || job.state() == model::JOB_PREEMPTED;
  return stopped ? 0 : job.exit_code();
}

std::string how_ended(const MailContents& mail) {
  const MailMessage& message = mail.message;
  if (message.whole_array()) {
    const bool mixed = message.tasks_succeeded() != 0 && message.tasks_succeeded() < message.tasks_ended();
    const std::string_view state = mixed                                                ? "Mixed"
                                   : message.tasks_succeeded() == message.tasks_ended() ? "COMPLETED"
                                                                                        : "FAILED";
    if (WIFSIGNALED(message.highest_exit()))
      return fmt::format(", {}, MaxSignal [{}]", state, WTERMSIG(message.highest_exit()));
    return fmt::format(", {}, ExitCode [{}-{}]", state, WEXITSTATUS(message.lowest_exit()),
                       WEXITSTATUS(message.highest_exit()));
  }
  const JobRecord& job = mail.job.job();
  const std::string_view state = text::job_state_name(job.state());
  const int status = own_status(job);
  return WIFSIGNALED(status) ? fmt::format(", {}, Signal {}", state, WTERMSIG(status))
                             : fmt::format(", {}, ExitCode {}", state, WEXITSTATUS(status));
}

// Describes the event for the first line of the body.
std::string sentence(const MailContents& mail) {
  const JobRecord& job = mail.job.job();
  const MailMessage& message = mail.message;
  const std::string_view state = text::job_state_name(job.state());
  switch (message.event()) {
    case model::MAIL_BEGIN:
      return "has begun";
    case model::MAIL_REQUEUE:
      return "was put back into the queue and will run again";
    case model::MAIL_TIME_LIMIT:
      return message.percent() >= 100 ? std::string("has used up its time limit and is being stopped")
                                      : fmt::format("has used {}% of its time limit", message.percent());
    case model::MAIL_INVALID_DEPEND:
      return "can never start: what it waits for has not come true";
    default:
      break;
  }
  if (message.whole_array()) {
    return message.tasks_succeeded() == message.tasks_ended()
               ? fmt::format("has ended: all {} tasks succeeded", message.tasks_ended())
               : fmt::format("has ended: {} of {} tasks did not succeed",
                             message.tasks_ended() - message.tasks_succeeded(), message.tasks_ended());
  }
  switch (job.state()) {
    case model::JOB_COMPLETE:
      return "has completed";
    case model::JOB_CANCELLED:
      if (job.cancelled_by_uid() == model::kNobody)
        return "was cancelled: what it depends on could not come about any more";
      return "was cancelled by " + view::user_name_of(job.cancelled_by_uid());
    case model::JOB_FAILED:
      return WIFSIGNALED(job.exit_code())
                 ? fmt::format("was ended by signal {}", WTERMSIG(job.exit_code()))
                 : fmt::format("has failed with exit code {}", WEXITSTATUS(job.exit_code()));
    case model::JOB_TIMEOUT:
      return "was stopped at its time limit";
    case model::JOB_OOM:
      return "ran out of memory";
    case model::JOB_NODE_FAIL:
      return "was lost with its node";
    default:
      return fmt::format("has ended ({})", state);
  }
}

std::string suppressed_body(const MailContents& mail) {
  return fmt::format(
      "{} messages about your jobs were not sent in the past hour, because there were too many.\n\n"
      "To get fewer: --mail-type=FAIL; for an array without ARRAY_TASKS, one message for all of its tasks.\n"
      "What became of the jobs: sacct -X\n",
      mail.message.count());
}

std::string time_text(int64_t time) {
  return time == 0 ? std::string("-") : text::format_time(time);
}

// The text of a message about one job or array, section by section.
class Body {
 public:
  explicit Body(const MailContents& mail) : mail_(mail), job_(mail.job.job()) {
    began_ = job_.start_time() != 0 && job_.state() != model::JOB_PENDING;
    if (mail.message.whole_array() || job_.job_id() == 0) {
      id_ = std::to_string(mail.message.job_id());
    } else {
      view::append_job_id(id_, job_, nullptr, 64);
    }
  }

  std::string write() {
    line("Job {} ({}) on {} {}.", id_, job_name_of(mail_), mail_.settings.cluster_name(), sentence(mail_));
    if (job_.job_id() == 0) return out_;
    out_ += '\n';
    facts();
    failed_tasks();
    what_to_change();
    efficiency();
    log();
    return clean_text(out_);
  }

 private:
  template <typename... Values>
  void line(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Values>(values)...);
    out_ += '\n';
  }

  void lines(fmt::format_string<const std::string_view&> format, const std::string& text) {
    for (const std::string_view one : text::split(text, '\n')) {
      if (!one.empty()) line(format, one);
    }
  }

  bool is_never_to_start() const { return mail_.message.event() == model::MAIL_INVALID_DEPEND; }

  std::string command() const {
    std::string command;
    view::append_command(command, job_.spec());
    if (command != "(null)") return command;
    return job_.spec().submit_line().empty() ? job_name_of(mail_) : job_.spec().submit_line();
  }

  void facts() {
    line("Command    {}", command());
    line("Directory  {}", job_.spec().work_dir());
    line("Submitted  {}", time_text(job_.submit_time()));
    if (began_)
      line("Began      {} (waited {})", time_text(job_.start_time()),
           text::format_seconds(std::max<int64_t>(0, job_.start_time() - job_.submit_time())));
    if (is_end(mail_.message) && view::is_finished(job_.state()))
      line("Ended      {} (ran {})", time_text(job_.end_time()),
           text::format_seconds(view::elapsed_seconds(job_, job_.end_time())));
    line("Time limit {}", text::format_minutes(job_.time_limit_minutes()));
    if (began_) line("Nodes      {}", job_.node_list());
    std::string held;
    view::append_tres(held, view::tres_of(job_), text::TresOrder::kByName, view::DisplayContext{});
    line("{}      {}", began_ ? "Held " : "Asked", held);
    if (!job_.reason_detail().empty()) line("Because    {}", job_.reason_detail());
    if (!is_never_to_start()) return;
    std::string wanted;
    view::append_dependencies(wanted, job_);
    line("Waits for  {}", wanted);
  }

  void failed_tasks() {
    if (mail_.failed_tasks.empty()) return;
    out_ += "\nTasks that did not succeed\n";
    for (const std::string& task : mail_.failed_tasks) line("  {}", task);
    if (mail_.more_failed_tasks > 0) line("  … and {} more: sacct -X -j {}", mail_.more_failed_tasks, id_);
  }

  void what_to_change() {
    std::vector<std::string> what_to_do;
    if (is_end(mail_.message)) what_to_do = advice(mail_.job, mail_.log);
    if (is_never_to_start())
      what_to_do.push_back(
          fmt::format("scancel {0} removes it; scontrol update JobId={0} Dependency= lets it start.", id_));
    if (what_to_do.empty()) return;
    out_ += "\nWhat to change\n";
    for (const std::string& one : what_to_do) line("  - {}", one);
  }

  void efficiency() {
    if (!is_end(mail_.message) || mail_.message.whole_array() || !began_) return;
    view::DisplayContext context;
    context.now = mail_.now;
    context.cluster_name = mail_.settings.cluster_name();
    out_ += "\nEfficiency (seff)\n";
    lines("  {}", view::seff_report(mail_.job, context));
  }

  void log() {
    if (mail_.log_path.empty() || mail_.settings.log_lines() == 0) return;
    const std::string end = last_lines(mail_.log, mail_.settings.log_lines());
    line("\n{} {}", end.empty() ? "It wrote nothing to" : "The last lines of", mail_.log_path);
    lines("  | {}", end);
  }

  const MailContents& mail_;
  const JobRecord& job_;
  bool began_ = false;
  std::string id_;
  std::string out_;
};

}  // namespace

std::string mail_subject(const MailContents& mail) {
  const MailMessage& message = mail.message;
  if (message.event() == model::MAIL_SUPPRESSED)
    return fmt::format("Slurm: {} messages about jobs were not sent", message.count());
  const JobRecord& job = mail.job.job();
  std::string id = fmt::format("Slurm Job_id={}", message.job_id());
  if (message.whole_array()) {
    id = fmt::format("Slurm Array Summary Job_id={}_* ({})",
                     job.array_job_id() ? job.array_job_id() : message.job_id(), message.job_id());
  } else if (job.array_job_id() != 0 && job.has_array_task_id()) {
    id = fmt::format("Slurm Array Task Job_id={}_{} ({})", job.array_job_id(), job.array_task_id(),
                     message.job_id());
  }
  std::string out = fmt::format("{} Name={} {}", id, job_name_of(mail), what_happened(message));
  if (message.event() == model::MAIL_BEGIN) {
    out += ", Queued time " + text::format_seconds(queued_seconds(mail));
  } else if (message.event() != model::MAIL_INVALID_DEPEND) {
    out += ", Run time " + text::format_seconds(view::elapsed_seconds(job, message.time()));
  }
  if (is_end(message)) out += how_ended(mail);
  return out;
}

std::string mail_body(const MailContents& mail) {
  if (mail.message.event() == model::MAIL_SUPPRESSED) return suppressed_body(mail);
  return Body(mail).write();
}

std::string last_lines(std::string_view log, size_t lines) {
  std::vector<std::string> kept;
  for (std::string_view raw : text::split(log, '\n')) {
    while (raw.ends_with('\r')) raw.remove_suffix(1);
    if (const size_t bar = raw.rfind('\r'); bar != std::string_view::npos) raw.remove_prefix(bar + 1);
    std::string clean;
    for (size_t i = 0; i < raw.size(); ++i) {
      if (raw[i] != '\x1b') {
        clean += raw[i];
        continue;
      }
      // ESC [ … letter
      if (i + 1 < raw.size() && raw[i + 1] == '[') {
        for (i += 2; i < raw.size() && (raw[i] < '@' || raw[i] > '~');) ++i;
      }
    }
    if (clean.size() > kMaxLogLine) clean = clean.substr(0, kMaxLogLine) + " …";
    if (!text::trim(clean).empty()) kept.push_back(std::move(clean));
  }
  std::string out;
  for (size_t i = kept.size() > lines ? kept.size() - lines : 0; i < kept.size(); ++i) out += kept[i] + "\n";
  return clean_text(out);
}

namespace {

// The variables that slurm.conf(5) lists for MailProg.
std::vector<std::string> mail_environment(const MailContents& mail) {
  const MailMessage& message = mail.message;
  const JobRecord& job = mail.job.job();
  std::vector<std::string> out;
  const auto set = [&](std::string_view name, const std::string& value) {
    if (value.find('\0') == std::string::npos) out.push_back("SLURM_" + std::string(name) + "=" + value);
  };
  set("CLUSTER_NAME", mail.settings.cluster_name());
  set("JOB_ID", std::to_string(message.job_id()));
  set("JOB_NAME", job_name_of(mail));
  set("JOB_USER", message.user_name());
  set("JOB_UID", std::to_string(message.uid()));
  set("JOB_GID", std::to_string(message.gid()));
  set("JOB_ACCOUNT", job.spec().account());
  set("JOB_PARTITION", job.partition());
  set("JOB_NODELIST", job.node_list());
  set("JOB_WORK_DIR", job.spec().work_dir());
  set("JOB_STATE", std::string(text::job_state_name(job.state())));
  set("JOB_MAIL_TYPE", what_happened(message));
  if (job.array_job_id() != 0) {
    set("ARRAY_JOB_ID", std::to_string(job.array_job_id()));
    set("ARRAY_TASK_ID", std::to_string(job.array_task_id()));
  }
  if (message.event() == model::MAIL_BEGIN)
    set("JOB_QUEUED_TIME", text::format_seconds(queued_seconds(mail)));
  if (message.event() != model::MAIL_BEGIN && message.event() != model::MAIL_INVALID_DEPEND)
    set("JOB_RUN_TIME", text::format_seconds(view::elapsed_seconds(job, message.time())));
  if (!is_end(message)) return out;
  const int highest = message.whole_array() ? message.highest_exit() : own_status(job);
  const int lowest = message.whole_array() ? message.lowest_exit() : own_status(job);
  set("JOB_EXIT_CODE_MAX", std::to_string(WEXITSTATUS(highest)));
  set("JOB_EXIT_CODE_MIN", std::to_string(WEXITSTATUS(lowest)));
  if (WIFSIGNALED(highest)) set("JOB_TERM_SIGNAL_MAX", std::to_string(WTERMSIG(highest)));
  return out;
}

}  // namespace

Result<ReadyMail> compose_mail(const MailContents& mail) {
  const MailMessage& message = mail.message;
  auto to = recipients(message.to(), mail.settings.domain());
  if (!to) return failure(to.error());
  auto from = recipients(mail.settings.from(), mail.settings.domain());
  if (!from) return failure("from: " + from.error().message);

  ReadyMail ready;
  ready.from = from->front();
  ready.to = *to;
  ready.subject = header_text(mail_subject(mail));
  std::string receivers;
  for (const std::string& one : *to) receivers.append(receivers.empty() ? "" : ", ").append(one);
  const std::string cluster = header_text(mail.settings.cluster_name());
  const auto field = [&](std::string_view name, const std::string& value) {
    ready.text.append(name).append(": ").append(value).append("\r\n");
  };
  field("Date", header_date(mail.now));
  field("From", fmt::format("{} <{}>", "Minke", ready.from));
  field("To", receivers);
  field("Subject", ready.subject);
  // A message keeps its name in every attempt, so that one that arrives twice shows once.
  field("Message-ID",
        fmt::format("<{}.{}.{}@{}>", message.id(), message.job_id(), message.time(), mail.host));
  if (message.event() != model::MAIL_SUPPRESSED)
    field("References", fmt::format("<job.{}@{}>", message.job_id(), mail.host));
  field("X-Minke-Cluster", cluster);
  if (message.job_id() != 0) field("X-Minke-Job", std::to_string(message.job_id()));
  field("Auto-Submitted", "auto-generated");
  field("MIME-Version", "1.0");
  field("Content-Type", "text/plain; charset=utf-8");
  field("Content-Transfer-Encoding", "quoted-printable");
  ready.body = mail_body(mail);
  ready.environment = mail_environment(mail);
  ready.text += "\r\n" + quoted_printable(ready.body);
  return ready;
}

}  // namespace minke::helpers
