#include "engine/embedded/watching/mail.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <string_view>

#include "engine/embedded/core.h"
#include "model/job_spec.pb.h"
#include "os/detached.h"
#include "os/helper_program.h"
#include "os/log.h"
#include "os/read_lines.h"
#include "store/loaded_rows.h"
#include "store/tables.h"
#include "text/mail_address.h"

namespace minke::engine {

using namespace model;

namespace {

constexpr int kMessagesPerBatch = 50;
constexpr int64_t kHourSeconds = 3600;
constexpr int64_t kMaxBackOffSeconds = 3600;

struct Mark {
  uint32_t percent;
  uint16_t type;
};
constexpr Mark kMarks[] = {
    {50, text::kMailLimit50}, {80, text::kMailLimit80}, {90, text::kMailLimit90}, {100, text::kMailLimit}};

int64_t mark_time(const Job& job, uint32_t percent) {
  return job.limit_end() - int64_t{job.time_limit_minutes} * 60 * (100 - percent) / 100;
}

bool all_over(const State& state, const ArrayGroup& group) {
  return std::all_of(group.jobs.begin(), group.jobs.end(), [&](uint32_t id) {
    const auto found = state.jobs().find(id);
    return found == state.jobs().end() || (found->second->ended() && !found->second->completing);
  });
}

std::string described(const MailMessage& message) {
  return "mail to " + message.to() + " about job " + std::to_string(message.job_id());
}

}  // namespace

struct Mail::Sending {
  os::UniqueFd output;
  std::unique_ptr<os::EventLoop::Watch> watch;
  std::string unread;
  std::vector<uint64_t> ids;  // not reported yet
};

Mail::Mail(Core& core) : core_(core), timer_(core.loop.make_timer([this] { send(); })) {}

Mail::~Mail() = default;

void Mail::complete_address(JobSpec& spec, uint32_t uid) const {
  const std::string& domain = core_.config.mail_domain;
  if (domain.empty() || !spec.mail_user().empty() || spec.mail_type().empty()) return;
  spec.set_mail_user(core_.state.user_name(uid) + "@" + domain);
}

bool Mail::configured() const {
  return core_.config.mail.has_value();
}

void Mail::restore(store::LoadedRows& rows) {
  for (MailMessage& message : rows.read(store::kMail)) {
    next_id_ = std::max(next_id_, message.id() + 1);
    waiting_.emplace(message.id(), std::move(message));
  }
  if (!waiting_.empty()) core_.loop.post([this] { send(); });
}

MailMessage Mail::message_about(const Job& job, MailEvent event) const {
  MailMessage message;
  message.set_event(event);
  message.set_job_id(job.id);
  message.set_restarts(job.restarts);
  message.set_time(core_.now());
  message.set_uid(job.uid);
  message.set_gid(job.gid);
  message.set_user_name(core_.state.user_name(job.uid));
  const JobSpec spec = job.submission->spec();
  message.set_to(spec.mail_user().empty() ? message.user_name() : spec.mail_user());
  return message;
}

void Mail::add(const Job& job, MailEvent event) {
  // A heterogeneous job is one job to its owner.
  if (job.het_job_id != 0 && !job.is_het_leader()) return;
  add(message_about(job, event));
}

void Mail::job_began(const Job& job) {
  if (job.array_job_id != 0 && (job.submission->mail_types & text::kMailArrayTasks) == 0) {
    const ArrayGroup* group = core_.state.find_array(job.array_job_id);
    if (group->running > 1 || group->ended > 0 || job.restarts > 0) return;  // not its first task
  }
  add(job, MAIL_BEGIN);
}

void Mail::add_end(const Job& job) {
  const uint16_t types = job.submission->mail_types;
  const bool whole_array = job.array_job_id != 0 && (types & text::kMailArrayTasks) == 0;
  bool failed = job.state != JOB_COMPLETE && job.state != JOB_CANCELLED;
  if (job.state == JOB_REQUEUED && !job.submission->cron.empty()) failed = job.exit_code != 0;
  const ArrayGroup* group = whole_array ? core_.state.find_array(job.array_job_id) : nullptr;
  if (group != nullptr) {
    if (!all_over(core_.state, *group)) return;
    failed = group->succeeded < group->ended && job.state != JOB_CANCELLED;
  }
  // As in Slurm: a user who asks for ends only is told of failures as ends.
  MailEvent event = MAIL_END;
  if (failed && (types & text::kMailFail) != 0) {
    event = MAIL_FAIL;
  } else if ((types & text::kMailEnd) == 0) {
    return;
  }
  if (job.het_job_id != 0 && !job.is_het_leader()) return;
  MailMessage message = message_about(job, event);
  if (group != nullptr) {
    message.set_job_id(job.array_job_id);
    message.set_whole_array(true);
    message.set_tasks_ended(group->ended);
    message.set_tasks_succeeded(group->succeeded);
    message.set_lowest_exit(group->succeeded > 0 ? 0 : group->lowest_exit);
    message.set_highest_exit(group->highest_exit);
  }
  add(std::move(message));
}

int64_t Mail::next_mark(const Job& job) const {
  if (!wanted(job, text::kMailLimits) || job.time_limit_minutes == kUnlimited || !job.details) return 0;
  for (const Mark& mark : kMarks) {
    if ((job.submission->mail_types & mark.type) != 0 && mark.percent > job.details->mailed_percent)
      return mark_time(job, mark.percent);
  }
  return 0;
}

void Mail::mark_reached(Job& job) {
  uint32_t reached = 0;
  while (const int64_t due = next_mark(job)) {
    if (due > core_.now()) break;
    for (const Mark& mark : kMarks) {
      if (mark_time(job, mark.percent) == due) reached = std::max(reached, mark.percent);
    }
    job.details->mailed_percent = reached;
  }
  if (reached == 0 || (job.het_job_id != 0 && !job.is_het_leader())) return;
  MailMessage message = message_about(job, MAIL_TIME_LIMIT);
  message.set_percent(reached);
  core_.committer.job_changed(job.id);
  add(std::move(message));
}

void Mail::add(MailMessage message) {
  for (const std::string& to : text::addresses_apart(message.to())) {
    MailMessage one = message;
    one.set_to(to);
    add_one(std::move(one));
  }
}

void Mail::add_one(MailMessage message) {
  if (message.event() != MAIL_SUPPRESSED && !within_limit(message)) return;
  message.set_id(next_id_++);
  message.set_next_attempt(message.time());
  store(message);
  core_.committer.when_durable([this, message = std::move(message)] {
    waiting_.emplace(message.id(), message);
    send();
  });
}

bool Mail::within_limit(const MailMessage& message) {
  Hour& hour = hours_[message.uid()];
  if (hour.suppressed == 0 && message.time() >= hour.begin + kHourSeconds) {
    hour = {};
    hour.begin = message.time();
  }
  if (hour.messages < core_.config.mail->max_per_hour) {
    ++hour.messages;
    return true;
  }
  ++hour.suppressed;
  hour.last = message;
  set_timer();
  return false;
}

// Once an hour, one message for all suppressed ones.
void Mail::tell_suppressed() {
  const int64_t now = core_.now();
  for (auto entry = hours_.begin(); entry != hours_.end();) {
    Hour& hour = entry->second;
    if (now < hour.begin + kHourSeconds) {
      ++entry;
      continue;
    }
    if (hour.suppressed > 0) {
      MailMessage message = hour.last;
      message.set_event(MAIL_SUPPRESSED);
      message.set_job_id(0);
      message.set_time(now);
      message.set_count(hour.suppressed);
      os::log_warning(std::to_string(hour.suppressed) + " messages to " + message.to() +
                      " were not sent: more than " + std::to_string(core_.config.mail->max_per_hour) +
                      " in an hour");
      add(std::move(message));
    }
    entry = hours_.erase(entry);
  }
}

void Mail::store(const MailMessage& message) {
  core_.committer.row_changed(store::kMail.row(message));
}

void Mail::forget(uint64_t id) {
  waiting_.erase(id);
  core_.committer.row_changed(store::kMail.no_row(id));
}

void Mail::send() {
  if (!configured()) return;
  tell_suppressed();
  if (sending_) return;
  MailBatch batch;
  const int64_t now = core_.now();
  for (const auto& [id, message] : waiting_) {
    if (message.next_attempt() > now || batch.messages_size() == kMessagesPerBatch) continue;
    *batch.add_messages() = message;
  }
  if (batch.messages_size() > 0) {
    *batch.mutable_settings() = core_.config.mail->settings;
    batch.mutable_settings()->set_cluster_name(core_.config.cluster_name);
    if (const Status started = start_mailer(batch); !started) {
      for (const MailMessage& message : batch.messages())
        try_later(waiting_.at(message.id()), started.error().message);
    }
  }
  set_timer();
}

Status Mail::start_mailer(const MailBatch& batch) {
  const os::UniqueFd input(::memfd_create("minke-mail", MFD_CLOEXEC));
  if (!input) return failure_from_errno("memfd_create", errno);
  const std::string bytes = batch.SerializeAsString();
  if (::write(input.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()) ||
      ::lseek(input.get(), 0, SEEK_SET) != 0)
    return failure_from_errno("memfd", errno);
  auto output = os::start_detached(
      {.argv = os::helper_command(os::Helper::kMailer,
                                  {"--home", core_.config.home, "--config", core_.config.source_path}),
       .log_path = core_.config.home + "/mailer.log",
       .without_variables = {"SLURM_*"},
       .input = input.get()});
  if (!output) return failure(output.error());
  ::fcntl(output->get(), F_SETFL, O_NONBLOCK);
  sending_ = std::make_unique<Sending>();
  sending_->output = std::move(*output);
  for (const MailMessage& message : batch.messages()) sending_->ids.push_back(message.id());
  sending_->watch = core_.loop.on_readable(sending_->output.get(), [this] { on_report(); });
  return {};
}

void Mail::on_report() {
  if (!os::read_lines(sending_->output.get(), sending_->unread,
                      [this](const std::string& line) { report(line); }))
    return;
  const auto ended = std::move(sending_);
  for (const uint64_t id : ended->ids) {
    if (const auto found = waiting_.find(id); found != waiting_.end())
      try_later(found->second, "the mailer ended too early");
  }
  send();
}

void Mail::report(const std::string& line) {
  uint64_t id = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), id);
  const auto found = waiting_.find(id);
  const auto listed = std::find(sending_->ids.begin(), sending_->ids.end(), id);
  if (error != std::errc() || found == waiting_.end() || listed == sending_->ids.end()) return;
  sending_->ids.erase(listed);
  const std::string_view rest(end, static_cast<size_t>(line.data() + line.size() - end));
  if (rest == " sent") {
    os::log_info(described(found->second) + " was sent");
    forget(id);
  } else if (rest.starts_with(" refused")) {
    os::log_warning(described(found->second) + " was refused:" + std::string(rest.substr(8)));
    forget(id);
  } else {
    try_later(found->second, std::string(rest.substr(std::min<size_t>(rest.size(), 7))));
  }
}

void Mail::try_later(MailMessage& message, const std::string& reason) {
  const int64_t now = core_.now();
  const config::MailConfiguration& config = *core_.config.mail;
  if (now >= message.time() + int64_t{config.give_up_hours} * kHourSeconds) {
    os::log_warning(described(message) + " could not be sent for " + std::to_string(config.give_up_hours) +
                    " hours and is given up: " + reason);
    forget(message.id());
    return;
  }
  const uint32_t doublings = std::min(message.attempts(), 12u);
  message.set_attempts(message.attempts() + 1);
  message.set_next_attempt(now + std::min(kMaxBackOffSeconds, int64_t{config.retry_seconds} << doublings));
  os::log_warning(described(message) + " could not be sent, try " + std::to_string(message.attempts()) +
                  ": " + reason);
  store(message);
}

void Mail::set_timer() {
  int64_t next = 0;
  const auto consider = [&](int64_t time) { next = next == 0 ? time : std::min(next, time); };
  if (!sending_) {
    for (const auto& [id, message] : waiting_) consider(message.next_attempt());
  }
  for (const auto& [uid, hour] : hours_) {
    if (hour.suppressed > 0) consider(hour.begin + kHourSeconds);
  }
  if (next == 0) return timer_->cancel();
  timer_->set_after(std::chrono::seconds(std::max<int64_t>(0, next - core_.now())));
}

}  // namespace minke::engine
