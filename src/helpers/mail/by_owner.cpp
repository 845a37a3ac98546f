#include "helpers/mail/by_owner.h"

#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>

#include "helpers/mail/own_command.h"
#include "helpers/mail/webhook.h"
#include "os/files.h"
#include "os/user_child.h"
#include "text/printable.h"

namespace minke::helpers {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostUsersAtOnce = 8;
constexpr std::chrono::seconds kForOne{10}, kForAllOfAUser{20}, kForWriting{5};
constexpr size_t kMostReason = 300, kMostOwnFileBytes = size_t{64} << 10;

bool write_outcome(int answer, const DeliveryOutcome& outcome) {
  const std::string said =
      std::to_string(static_cast<int>(outcome.delivery)) + outcome.reason.substr(0, kMostReason);
  return ::write(answer, said.data(), said.size()) == static_cast<ssize_t>(said.size());
}

}  // namespace

std::string_view mail_event_name(model::MailEvent event) {
  switch (event) {
    case model::MAIL_BEGIN:
      return "BEGIN";
    case model::MAIL_END:
      return "END";
    case model::MAIL_FAIL:
      return "FAIL";
    case model::MAIL_REQUEUE:
      return "REQUEUE";
    case model::MAIL_TIME_LIMIT:
      return "TIME_LIMIT";
    case model::MAIL_INVALID_DEPEND:
      return "INVALID_DEPEND";
    default:
      return "SUPPRESSED";
  }
}

Result<std::string> read_own_file(uid_t uid, bool shared, const std::string& name) {
  const char* own = shared ? nullptr : std::getenv("HOME");
  const passwd* user = own == nullptr ? ::getpwuid(uid) : nullptr;
  const std::string home = own != nullptr ? own : user != nullptr ? user->pw_dir : "";
  if (home.empty()) return failure("there is no home of user " + std::to_string(uid));
  auto file = os::read_file(home + "/.config/minke/" + name, kMostOwnFileBytes);
  if (!file) return failure("~/.config/minke/" + name + " cannot be read: " + file.error().message);
  return file;
}

OwnSenders::OwnSenders(Rules rules, Report report) : rules_(std::move(rules)), report_(std::move(report)) {}

DeliveryOutcome OwnSenders::send(const OwnMessage& message) const {
  const bool is_command = message.way == OwnWay::kCommand;
  if (is_command && !rules_.commands)
    return {Delivery::kRefused, "[mail] of minke.toml has no commands = true"};
  if (!is_command && rules_.webhooks.reach == config::WebhookRules::Reach::kNone)
    return {Delivery::kRefused, "[mail] of minke.toml has no webhooks"};
  if (rules_.shared && message.uid == 0)
    return {Delivery::kRefused, is_command ? "root has no commands in a shared cluster"
                                           : "root has no web hooks in a shared cluster"};
  const os::Rights rights = os::rights_of(message.uid, message.gid);
  const auto post = [&](int answer) {
    if (!os::keep_only(answer)) return 1;
    return write_outcome(answer, post_to_webhook(message, rules_.shared, rules_.webhooks)) ? 0 : 1;
  };
  // Root's child makes a place that the owner's processes cannot leave, and becomes the owner in it.
  const auto run = [&](int answer) {
    if (!os::keep_only(answer)) return 1;
    const auto deadline = Clock::now() + kForOne - std::chrono::seconds(1);
    return write_outcome(answer, run_own_command(message, rights, {rules_.home, rules_.shared}, deadline))
               ? 0
               : 1;
  };
  const auto done = is_command ? os::run_in_child(std::nullopt, {.time = kForOne}, run)
                               : os::run_in_child(rights, {.time = kForOne}, post);
  if (!done)
    return {Delivery::kLater, done.error().code == ETIMEDOUT ? "it took too long" : done.error().message};
  const int delivery = done->said.empty() ? -1 : done->said.front() - '0';
  if (done->exit_code != 0 || delivery < 0 || delivery > static_cast<int>(Delivery::kRefused))
    return {Delivery::kLater, "its process ended too early"};
  return {static_cast<Delivery>(delivery), text::printable(done->said.substr(1))};
}

// The messages of one user, in a process of root's.
void OwnSenders::send_all(const std::vector<OwnMessage>& messages) const {
  const auto deadline = Clock::now() + kForAllOfAUser - kForOne;
  for (const OwnMessage& message : messages) {
    if (Clock::now() < deadline) {
      report_(message.message, send(message));
    } else {
      report_(message.message, {Delivery::kLater, "the user's other web hooks and commands took too long"});
    }
  }
}

void OwnSenders::start(const std::vector<OwnMessage>& messages) {
  std::map<uid_t, std::vector<OwnMessage>> by_user;
  for (const OwnMessage& message : messages) by_user[message.uid].push_back(message);
  std::fflush(stdout);
  for (const auto& [uid, theirs] : by_user) {
    if (running_.size() == kMostUsersAtOnce) wait();
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::setpgid(0, 0);
      send_all(theirs);
      ::_exit(0);
    }
    if (pid > 0) {
      running_.push_back(pid);
      continue;
    }
    for (const OwnMessage& message : theirs)
      report_(message.message, {Delivery::kLater, "there is no room for a process"});
  }
}

void OwnSenders::wait() {
  const auto deadline = Clock::now() + kForAllOfAUser + kForWriting;
  for (const pid_t pid : running_) (void)os::wait_or_kill(pid, deadline);  // unreported is tried again
  running_.clear();
}

}  // namespace minke::helpers
