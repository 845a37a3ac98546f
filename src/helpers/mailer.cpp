// minke mailer: writes and sends the messages that the daemon passes on standard input (a MailBatch), and
// reports each result on standard output: "ID sent", "ID refused REASON", "ID later REASON".
//
// It is a process of its own, so that neither a slow mail server nor a user's slow file system delays the
// daemon. The daemon tries unreported messages again. One thread.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "api/accounting.pb.h"
#include "config/helper_settings.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "environment/job_paths.h"
#include "helpers/mail/by_owner.h"
#include "helpers/mail/compose.h"
#include "helpers/mail/mime.h"
#include "helpers/mail/own_command.h"
#include "helpers/mail/send.h"
#include "helpers/mail/webhook.h"
#include "helpers/programs.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "model/mail.pb.h"
#include "os/minke_home.h"
#include "os/user_files.h"
#include "text/mail_address.h"
#include "text/number.h"
#include "text/state.h"
#include "view/output.h"
#include "view/text.h"

namespace minke::helpers {

namespace {

constexpr size_t kMaxBatchBytes = size_t{64} << 20;
constexpr size_t kLogBytes = 16384;
constexpr size_t kNamedTasks = 8;

std::string read_standard_input() {
  std::string bytes;
  char buffer[65536];
  for (ssize_t got; (got = ::read(STDIN_FILENO, buffer, sizeof buffer)) > 0 && bytes.size() < kMaxBatchBytes;)
    bytes.append(buffer, static_cast<size_t>(got));
  return bytes;
}

void report(uint64_t id, std::string_view outcome, const std::string& reason = {}) {
  std::printf("%llu %.*s%s%s\n", static_cast<unsigned long long>(id), static_cast<int>(outcome.size()),
              outcome.data(), reason.empty() ? "" : " ", reason.c_str());
  std::fflush(stdout);
}

bool has_failed(const model::JobRecord& job) {
  return view::is_finished(job.state()) && job.state() != model::JOB_COMPLETE &&
         job.state() != model::JOB_REQUEUED;
}

// Finds the run that the message is about; for an array, its own record and the tasks that failed.
Status find_job(engine::Engine& cluster, MailContents& mail) {
  const model::MailMessage& message = mail.message;
  api::QueryAccountingRequest query;
  query.mutable_filter()->add_jobs()->set_job_id(message.job_id());
  query.mutable_filter()->set_all_states(true);
  query.set_with_steps(!message.whole_array());
  query.set_duplicates(!message.whole_array());
  api::AccountedJob first_failed;
  auto asked = engine::for_each_accounted(cluster, query, [&](const api::AccountedJob& one) {
    const model::JobRecord& job = one.job();
    const bool exact =
        job.job_id() == message.job_id() && (message.whole_array() || job.restarts() == message.restarts());
    if (exact || mail.job.job().job_id() == 0) mail.job = one;
    if (!message.whole_array() || !has_failed(job)) return;
    if (first_failed.job().job_id() == 0) first_failed = one;
    if (mail.failed_tasks.size() == kNamedTasks) {
      ++mail.more_failed_tasks;
      return;
    }
    std::string id;
    view::append_job_id(id, job, nullptr, 64);
    mail.failed_tasks.push_back(id + "  " + std::string(text::job_state_name(job.state())) + ", exit code " +
                                std::to_string(text::exit_status_of(job.exit_code())));
  });
  if (!asked) return failure(asked.error());
  if (first_failed.job().job_id() != 0) mail.log_path = environment::paths_of(first_failed.job()).out;
  return {};
}

// Reads the end of the job's output, if the message includes it.
void find_log(MailContents& mail) {
  const model::JobRecord& job = mail.job.job();
  const auto event = mail.message.event();
  if (job.job_id() == 0 || job.spec().interactive()) return;
  if (event == model::MAIL_BEGIN || event == model::MAIL_INVALID_DEPEND) return;
  if (mail.log_path.empty() && !mail.message.whole_array()) mail.log_path = environment::paths_of(job).out;
  if (mail.log_path.empty() || mail.log_path == "/dev/null") return mail.log_path.clear();
  auto text = os::read_tail_as(job.uid(), job.gid(), mail.log_path, kLogBytes);
  if (text) {
    mail.log = std::move(*text);
    // The cut may leave half a line.
    if (mail.log.size() == kLogBytes) mail.log.erase(0, mail.log.find('\n') + 1);
  } else {
    mail.log_path.clear();
  }
}

void report(uint64_t id, const DeliveryOutcome& outcome) {
  report(id,
         outcome.delivery == Delivery::kSent      ? "sent"
         : outcome.delivery == Delivery::kRefused ? "refused"
                                                  : "later",
         outcome.reason);
}

MailContents contents_of(const model::MailMessage& message, const model::MailSettings& settings) {
  MailContents mail;
  mail.message = message;
  mail.settings = settings;
  mail.now = std::time(nullptr);
  char host[256] = "localhost";
  ::gethostname(host, sizeof host - 1);
  mail.host = header_text(host);
  return mail;
}

void handle(const model::MailMessage& message, const model::MailSettings& settings, engine::Engine& cluster,
            MailSender& sender) {
  if (settings.program().empty() && settings.server().empty() && settings.mail_program().empty())
    return report(message.id(), "refused", "[mail] has neither program nor server");
  MailContents mail = contents_of(message, settings);
  if (message.event() != model::MAIL_SUPPRESSED) {
    if (const Status found = find_job(cluster, mail); !found)
      return report(message.id(), "later", header_text(found.error().message));
    find_log(mail);
  }
  auto ready = compose_mail(mail);
  if (!ready) return report(message.id(), "refused", ready.error().message);
  report(message.id(), sender.send(*ready));
}

// The messages to web hooks and commands, with what they say. They leave before mail does: their processes
// are copies of this one, which has read no password of a mail server yet.
std::vector<OwnMessage> own_messages_of(const model::MailBatch& batch, engine::Engine& cluster) {
  std::vector<OwnMessage> own;
  for (const model::MailMessage& message : batch.messages()) {
    const auto hook = text::webhook_name(message.to()), command = text::command_name(message.to());
    if (!hook && !command) continue;
    MailContents mail = contents_of(message, batch.settings());
    if (message.event() != model::MAIL_SUPPRESSED) {
      if (const Status found = find_job(cluster, mail); !found) {
        report(message.id(), "later", header_text(found.error().message));
        continue;
      }
    }
    OwnMessage one{message.id(), message.uid(), message.gid()};
    one.way = hook ? OwnWay::kWebhook : OwnWay::kCommand;
    one.name = hook ? *hook : *command;
    if (hook) one.body = webhook_body(mail);
    if (command) one.variables = command_variables(mail);
    own.push_back(std::move(one));
  }
  return own;
}

int send_mail(const model::MailBatch& batch, const config::HelperSettings& settings, bool shared,
              engine::Engine& cluster) {
  std::optional<os::Rights> rights;
  std::optional<Error> problem;
  if (shared) {
    auto found = mail_program_rights(settings.mail_run_as);
    if (found) {
      rights = std::move(*found);
    } else {
      problem = found.error();
    }
  }
  const auto sender = make_mail_sender(batch.settings(), rights);
  for (const model::MailMessage& message : batch.messages()) {
    if (text::webhook_name(message.to()) || text::command_name(message.to())) continue;
    if (problem) {
      report(message.id(), "later", header_text(problem->message));
    } else {
      handle(message, batch.settings(), cluster, *sender);
    }
  }
  return problem ? 1 : 0;
}

}  // namespace

int mailer(const std::string& home, const std::string& configuration) {
  std::signal(SIGPIPE, SIG_IGN);
  ::setenv("MINKE_HOME", home.c_str(), 1);
  model::MailBatch batch;
  if (!batch.ParseFromString(read_standard_input())) {
    std::fputs("minke mailer: what is on standard input is no batch of messages\n", stderr);
    return 2;
  }
  const auto cluster = engine::open(engine::Start::kNever);
  if (!cluster) return 1;
  const config::HelperSettings settings = config::read_helper_settings(configuration);
  const bool shared = os::is_shared(home);
  OwnSenders senders({settings.webhooks, settings.mail_commands, home, shared},
                     [](uint64_t id, const DeliveryOutcome& outcome) { report(id, outcome); });
  senders.start(own_messages_of(batch, **cluster));
  const int status = send_mail(batch, settings, shared, **cluster);
  senders.wait();
  return status;
}

}  // namespace minke::helpers
