#include "portal/oidc_login.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <nlohmann/json.hpp>
#include <vector>

#include "os/confine_self.h"
#include "os/files.h"
#include "os/pass_descriptors.h"
#include "os/program_output.h"
#include "portal/base64_url.h"
#include "portal/door_wire.h"
#include "portal/id_token.h"
#include "portal/pam_login.h"
#include "portal/submission.h"
#include "text/number.h"

namespace minke::portal {
namespace {

using JsonValue = nlohmann::json;
constexpr size_t kMostSecret = 4096, kMostAnswer = 1024 * 1024, kMostPacket = 16 * 1024;
constexpr unsigned kSeconds = 60;
constexpr std::chrono::seconds kPatience{20};

// A value in quotes, as curl's files of options have it.
std::string in_quotes(std::string_view value) {
  std::string text = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') text += '\\';
    if (static_cast<unsigned char>(c) >= ' ') text += c;
  }
  return text + "\"";
}

bool is_loopback(std::string_view address) {
  for (const std::string_view name :
       {"http://127.0.0.1:", "http://localhost:", "http://127.0.0.1/", "http://localhost/"})
    if (address.starts_with(name)) return true;
  return false;
}

// What is sent there is secret.
bool is_address(std::string_view address) {
  const bool is_line =
      std::all_of(address.begin(), address.end(), [](char c) { return c > ' ' && c < '\x7f'; });
  return is_line && address.size() < 1000 && (address.starts_with("https://") || is_loopback(address));
}

// Asks with curl, which reads its options from its input, so that no list of processes shows them.
Result<JsonValue> ask(const std::string& address, const std::string& more) {
  if (!is_address(address)) return failure(address + " is no https address", EINVAL);
  const std::string options = "url = " + in_quotes(address) +
                              "\nsilent\nshow-error\nfail\nmax-time = 15\nmax-redirs = 0\n" +
                              "proto = \"=https,http\"\nheader = \"Accept: application/json\"\n" + more;
  const auto input = memory_file(options);
  if (!input) return failure(input.error());
  auto running =
      os::ProgramOutput::start({"/usr/bin/curl", "--disable", "--config", "-"},
                               {.timeout = kPatience, .most_bytes = kMostAnswer, .input = input->get()});
  if (!running) return failure("curl: " + running.error().message, running.error().code);
  std::string said;
  char buffer[16 * 1024];
  for (;;) {
    const auto got = running->read(buffer, sizeof buffer);
    if (!got) return failure(got.error());
    if (*got == 0) break;
    said.append(buffer, *got);
  }
  const auto ended = running->finish();
  if (!ended) return failure(ended.error());
  if (ended->exit_code != 0) return failure(ended->complaint.substr(0, 300), EPROTO);
  JsonValue value = JsonValue::parse(said, nullptr, false);
  if (!value.is_object()) return failure(address + " answers with no JSON object", EPROTO);
  return value;
}

std::string text_of(const JsonValue& from, const char* name) {
  const auto found = from.find(name);
  return found != from.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Result<OidcAnswer> read_answer(int conversation) {
  const auto packet = os::receive_packet(conversation, kMostPacket);
  const auto parts = packet ? text::split(packet->bytes, '\0') : std::vector<std::string_view>();
  if (parts.size() != 4) return failure("the log-in has ended", EPROTO);
  return OidcAnswer{std::string(parts[0]), std::string(parts[1]), std::string(parts[2]),
                    std::string(parts[3])};
}

Result<std::string> identify(const OidcSettings& settings, const std::string& secret,
                             const OidcAnswer& answer) {
  const auto provider = discover_provider(settings.issuer);
  if (!provider) return failure(provider.error());
  std::string form = "grant_type=authorization_code&code=" + form_value(answer.code) +
                     "&redirect_uri=" + form_value(answer.redirect) +
                     "&code_verifier=" + form_value(answer.verifier);
  std::string options;
  if (secret.empty())
    form += "&client_id=" + form_value(settings.client);
  else  // RFC 6749, 2.3.1: both are coded as in forms
    options = "user = " + in_quotes(form_value(settings.client) + ":" + form_value(secret)) + "\n";
  options += "data = " + in_quotes(form) + "\n";
  const auto tokens = ask(provider->token, options);
  if (!tokens) return failure("the provider gave no token: " + tokens.error().message, EPROTO);
  const auto keys = ask(provider->keys, "");
  if (!keys) return failure("the provider gave no keys: " + keys.error().message, EPROTO);
  const auto claims = verified_claims(text_of(*tokens, "id_token"), *keys,
                                      {settings.issuer, settings.client, answer.nonce, std::time(nullptr)});
  if (!claims) return failure(claims.error());
  if (settings.claim == "email" && claims->contains("email_verified") && claims->at("email_verified") != true)
    return failure("the provider has not verified the address of mail", EPERM);
  return oidc_name(settings, text_of(*claims, settings.claim.c_str()));
}

}  // namespace

std::string form_value(std::string_view value) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string text;
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (text::is_digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '-' || c == '.' || c == '_' ||
        c == '~')
      text += c;
    else
      text += std::string("%") + kDigits[byte >> 4] + kDigits[byte & 15];
  }
  return text;
}

Status check_oidc(const OidcSettings& settings) {
  if (!is_address(settings.issuer) || settings.issuer.find_first_of("?#") != std::string::npos)
    return failure("--oidc-issuer must be the provider's https address", EINVAL);
  if (settings.client.empty())
    return failure("--oidc-client is missing: how the provider knows this portal", EINVAL);
  if (settings.claim.empty()) return failure("--oidc-claim must name a claim", EINVAL);
  if (settings.claim == "email" && settings.domain.empty())
    return failure("--oidc-domain is missing: whose addresses of mail are taken", EINVAL);
  if (settings.secret_file.empty()) return {};
  const auto secret = os::read_file(settings.secret_file, kMostSecret);
  return secret ? Status()
                : failure(settings.secret_file + ": " + secret.error().message, secret.error().code);
}

Result<OidcProvider> discover_provider(const std::string& issuer) {
  std::string base = issuer;
  while (base.ends_with('/')) base.pop_back();
  const auto said = ask(base + "/.well-known/openid-configuration", "");
  if (!said) return failure("the provider does not answer: " + said.error().message, ECONNREFUSED);
  if (text_of(*said, "issuer") != issuer)
    return failure(
        "the provider says that it is " + text_of(*said, "issuer").substr(0, 200) + ", not " + issuer,
        EPROTO);
  OidcProvider provider{text_of(*said, "authorization_endpoint"), text_of(*said, "token_endpoint"),
                        text_of(*said, "jwks_uri")};
  for (const std::string& one : {provider.authorization, provider.token, provider.keys})
    if (!is_address(one)) return failure("the provider's addresses are not https", EPROTO);
  return provider;
}

Result<std::string> oidc_name(const OidcSettings& settings, const std::string& claim) {
  const size_t at = claim.find('@');
  std::string name = claim.substr(0, at);
  if (at != std::string::npos && (settings.domain.empty() || claim.substr(at + 1) != settings.domain))
    return failure("the provider's name for this person is of another domain", EPERM);
  if (at == std::string::npos && settings.claim == "email")
    return failure("the provider knows no address of mail", EPERM);
  if (!is_login_name(name))
    return failure("the provider's name for this person is no name of users here", EPERM);
  return name;
}

std::string oidc_answer_bytes(const OidcAnswer& answer) {
  const std::string zero(1, '\0');
  return answer.code + zero + answer.verifier + zero + answer.nonce + zero + answer.redirect;
}

int oidc_login(const OidcSettings& settings, int conversation, int outcome) {
  ::alarm(kSeconds);
  const auto say = [&](const std::optional<Admitted>& admitted, const std::string& why) {
    os::send_bytes(outcome, outcome_bytes(admitted, why), {}, MSG_NOSIGNAL);
    return admitted ? 0 : 1;
  };
  std::string secret;
  if (!settings.secret_file.empty()) {
    const auto read = os::read_file(settings.secret_file, kMostSecret);
    if (!read) return say(std::nullopt, "the portal's secret cannot be read");
    secret = text::trim(*read);
  }
  if (!os::confine_self(os::helper_account()))
    return say(std::nullopt, "the log-in cannot give up root's rights");
  const auto answer = read_answer(conversation);
  if (!answer) return say(std::nullopt, answer.error().message);
  const auto name = identify(settings, secret, *answer);
  if (!name) return say(std::nullopt, name.error().message);
  const Outcome found = person_of(name->c_str());
  return say(found.admitted, found.why);
}

}  // namespace minke::portal
