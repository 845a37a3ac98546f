#include "helpers/mail/webhook.h"

#include <sys/socket.h>

#include <nlohmann/json.hpp>

#include "helpers/mail/curl_library.h"
#include "model/job_record.pb.h"
#include "os/public_address.h"
#include "text/printable.h"
#include "text/state.h"
#include "view/text.h"

namespace minke::helpers {
namespace {

constexpr long kSecondsForOne = 9, kSecondsToConnect = 5;
constexpr size_t kMostAnswerBytes = size_t{64} << 10;

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
  set(CURLOPT_CONNECTTIMEOUT, kSecondsToConnect);
  set(CURLOPT_TIMEOUT, kSecondsForOne);
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

}  // namespace

std::string webhook_body(const MailContents& contents) {
  const model::JobRecord& job = contents.job.job();
  const std::string subject = mail_subject(contents);
  const nlohmann::json body = {{"text", subject},
                               {"content", subject},
                               {"event", mail_event_name(contents.message.event())},
                               {"job", std::to_string(contents.message.job_id())},
                               {"name", view::job_name(job)},
                               {"state", text::job_state_name(job.state())},
                               {"exit_status", text::exit_status_of(job.exit_code())},
                               {"user", contents.message.user_name()},
                               {"cluster", contents.settings.cluster_name()}};
  return body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

DeliveryOutcome post_to_webhook(const OwnMessage& hook, bool shared, const config::WebhookRules& rules) {
  const auto refused = [](const Error& error) { return DeliveryOutcome{Delivery::kRefused, error.message}; };
  const auto file = read_own_file(hook.uid, shared, "webhooks.toml");
  if (!file) return refused(file.error());
  const auto address = config::webhook_address(*file, hook.name);
  if (!address) return refused(address.error());
  const auto host = config::webhook_host(*address);
  if (!host) return refused(host.error());
  if (!config::admits_host(rules, *host))
    return {Delivery::kRefused, "[mail] webhooks does not name the host " + text::printable(*host)};
  return post(*address, hook.body, rules);
}

}  // namespace minke::helpers
