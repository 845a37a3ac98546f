#include "helpers/mail/webhook.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "helpers/mail/curl_library.h"
#include "model/job_record.pb.h"
#include "os/files.h"
#include "os/public_address.h"
#include "os/user_child.h"
#include "text/printable.h"
#include "text/state.h"
#include "view/text.h"

namespace minke::helpers {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostUsersAtOnce = 8;
constexpr std::chrono::seconds kForOne{10}, kForAllOfAUser{20}, kForWriting{5};
constexpr size_t kMostAnswerBytes = size_t{64} << 10, kMostFileBytes = size_t{64} << 10, kMostReason = 300;

std::string_view event_name(model::MailEvent event) {
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

// The user's file of names. In a cluster of the user's own, HOME says where it is, as everywhere.
Result<std::string> file_of(uid_t uid, bool shared) {
  const char* own = shared ? nullptr : std::getenv("HOME");
  const passwd* user = own == nullptr ? ::getpwuid(uid) : nullptr;
  const std::string home = own != nullptr ? own : user != nullptr ? user->pw_dir : "";
  if (home.empty()) return failure("there is no home of user " + std::to_string(uid));
  return home + "/.config/minke/webhooks.toml";
}

#ifdef MINKE_HAS_CURL

struct Posting {
  const config::WebhookRules* rules = nullptr;
  bool was_kept_away = false;  // by the rules
  size_t answered = 0;         // bytes
};

size_t count_answer(char*, size_t size, size_t count, void* posting) {
  size_t& answered = static_cast<Posting*>(posting)->answered;
  answered += size * count;
  return answered > kMostAnswerBytes ? 0 : size * count;
}

// Every connection passes here with the address that the name has led to, so there is nothing between the
// look and the use.
curl_socket_t open_socket(void* data, curlsocktype, curl_sockaddr* address) {
  auto& posting = *static_cast<Posting*>(data);
  if (posting.rules->reach == config::WebhookRules::Reach::kPublic && !os::is_public_address(address->addr)) {
    posting.was_kept_away = true;
    return CURL_SOCKET_BAD;
  }
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

DeliveryOutcome judged(CURLcode outcome, long code, const Posting& posting, const char* problem) {
  if (posting.was_kept_away)
    return {Delivery::kRefused, "its host has no public address, and [mail] webhooks is \"public\""};
  const bool is_whole =
      outcome == CURLE_OK || (outcome == CURLE_WRITE_ERROR && posting.answered > kMostAnswerBytes);
  if (!is_whole) return {Delivery::kLater, *problem != '\0' ? problem : "no answer"};
  if (code >= 200 && code < 300) return {Delivery::kSent, {}};
  const bool for_now = code == 408 || code == 429 || code >= 500;
  return {for_now ? Delivery::kLater : Delivery::kRefused, "it answered " + std::to_string(code)};
}

// Runs with the owner's rights.
DeliveryOutcome post(const std::string& address, const std::string& body, const config::WebhookRules& rules) {
  CurlLibrary curl;
  CURL* handle = curl.load() ? curl.init() : nullptr;
  if (handle == nullptr) return {Delivery::kLater, "libcurl is not installed (Debian: libcurl4)"};
  Posting posting{.rules = &rules};
  char problem[CURL_ERROR_SIZE] = "";
  curl_slist* head = curl.append(nullptr, "Content-Type: application/json");
  const auto set = [&](CURLoption option, auto value) { curl.set(handle, option, value); };
  set(CURLOPT_URL, address.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_PROXY, "");
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_USERAGENT, "minke");
  set(CURLOPT_CONNECTTIMEOUT, static_cast<long>(kForOne.count()) / 2);
  set(CURLOPT_TIMEOUT, static_cast<long>(kForOne.count()) - 1);
  set(CURLOPT_ERRORBUFFER, static_cast<char*>(problem));
  set(CURLOPT_OPENSOCKETFUNCTION, &open_socket);
  set(CURLOPT_OPENSOCKETDATA, static_cast<void*>(&posting));
  set(CURLOPT_WRITEFUNCTION, &count_answer);
  set(CURLOPT_WRITEDATA, static_cast<void*>(&posting));
  set(CURLOPT_HTTPHEADER, head);
  set(CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
  set(CURLOPT_POSTFIELDS, body.c_str());
  const CURLcode outcome = curl.perform(handle);
  long code = 0;
  curl.get(handle, CURLINFO_RESPONSE_CODE, &code);
  curl.free_list(head);
  curl.cleanup(handle);
  return judged(outcome, code, posting, problem);
}

#else

DeliveryOutcome post(const std::string&, const std::string&, const config::WebhookRules&) {
  return {Delivery::kLater, "this program was built without libcurl"};
}

#endif

// Runs with the owner's rights.
DeliveryOutcome post_as_owner(const Webhook& hook, bool shared, const config::WebhookRules& rules) {
  const auto refused = [](const Error& error) { return DeliveryOutcome{Delivery::kRefused, error.message}; };
  const auto path = file_of(hook.uid, shared);
  if (!path) return refused(path.error());
  const auto file = os::read_file(*path, kMostFileBytes);
  if (!file)
    return refused(Error{0, "~/.config/minke/webhooks.toml cannot be read: " + file.error().message});
  const auto address = config::webhook_address(*file, hook.name);
  if (!address) return refused(address.error());
  const auto host = config::webhook_host(*address);
  if (!host) return refused(host.error());
  if (!config::admits_host(rules, *host))
    return {Delivery::kRefused, "[mail] webhooks does not name the host " + text::printable(*host)};
  return post(*address, hook.body, rules);
}

}  // namespace

std::string webhook_body(const MailContents& contents) {
  const model::JobRecord& job = contents.job.job();
  const std::string subject = mail_subject(contents);
  const nlohmann::json body = {{"text", subject},
                               {"content", subject},
                               {"event", event_name(contents.message.event())},
                               {"job", std::to_string(contents.message.job_id())},
                               {"name", view::job_name(job)},
                               {"state", text::job_state_name(job.state())},
                               {"exit_status", text::exit_status_of(job.exit_code())},
                               {"user", contents.message.user_name()},
                               {"cluster", contents.settings.cluster_name()}};
  return body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

WebhookSenders::WebhookSenders(config::WebhookRules rules, bool shared, Report report)
    : rules_(std::move(rules)), shared_(shared), report_(std::move(report)) {}

DeliveryOutcome WebhookSenders::send(const Webhook& hook) const {
  if (rules_.reach == config::WebhookRules::Reach::kNone)
    return {Delivery::kRefused, "[mail] of minke.toml has no webhooks"};
  if (shared_ && hook.uid == 0) return {Delivery::kRefused, "root has no web hooks in a shared cluster"};
  const auto done = os::run_in_child(os::rights_of(hook.uid, hook.gid), {.time = kForOne}, [&](int answer) {
    if (!os::keep_only(answer)) return 1;
    const DeliveryOutcome outcome = post_as_owner(hook, shared_, rules_);
    const std::string said =
        std::to_string(static_cast<int>(outcome.delivery)) + outcome.reason.substr(0, kMostReason);
    return ::write(answer, said.data(), said.size()) == static_cast<ssize_t>(said.size()) ? 0 : 1;
  });
  if (!done)
    return {Delivery::kLater, done.error().code == ETIMEDOUT ? "it took too long" : done.error().message};
  const int delivery = done->said.empty() ? -1 : done->said.front() - '0';
  if (done->exit_code != 0 || delivery < 0 || delivery > static_cast<int>(Delivery::kRefused))
    return {Delivery::kLater, "its process ended too early"};
  return {static_cast<Delivery>(delivery), text::printable(done->said.substr(1))};
}

// The messages of one user, in a process of root's.
void WebhookSenders::send_all(const std::vector<Webhook>& hooks) const {
  const auto deadline = Clock::now() + kForAllOfAUser - kForOne;
  for (const Webhook& hook : hooks) {
    if (Clock::now() < deadline) {
      report_(hook.message, send(hook));
    } else {
      report_(hook.message, {Delivery::kLater, "the user's other web hooks took too long"});
    }
  }
}

void WebhookSenders::start(const std::vector<Webhook>& hooks) {
  std::map<uid_t, std::vector<Webhook>> by_user;
  for (const Webhook& hook : hooks) by_user[hook.uid].push_back(hook);
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
    for (const Webhook& hook : theirs)
      report_(hook.message, {Delivery::kLater, "there is no room for a process"});
  }
}

void WebhookSenders::wait() {
  const auto deadline = Clock::now() + kForAllOfAUser + kForWriting;
  for (const pid_t pid : running_) (void)os::wait_or_kill(pid, deadline);  // unreported is tried again
  running_.clear();
}

}  // namespace minke::helpers
