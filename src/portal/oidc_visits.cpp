#include "portal/oidc_visits.h"

#include <nettle/sha2.h>

#include <cerrno>

#include "portal/base64_url.h"
#include "portal/sessions.h"

namespace minke::portal {
namespace {

constexpr int64_t kSeconds = 600;
constexpr size_t kMostVisits = 4096, kMostCode = 2048;

// The challenge of a verifier: S256 (RFC 7636, 4.2).
std::string challenge_of(const std::string& verifier) {
  sha256_ctx context;
  sha256_init(&context);
  sha256_update(&context, verifier.size(), reinterpret_cast<const uint8_t*>(verifier.data()));
  std::string digest(SHA256_DIGEST_SIZE, '\0');
  sha256_digest(&context, digest.size(), reinterpret_cast<uint8_t*>(digest.data()));
  return base64_url(digest);
}

}  // namespace

Reply OidcVisits::begin(const OidcProvider& provider, const std::string& origin, int64_t now) {
  std::erase_if(visits_, [now](const auto& one) { return one.second.until < now; });
  if (visits_.size() >= kMostVisits) return error_reply(503, Error{0, "too many log in at once; try again"});
  const std::string state = random_word();
  Visit& visit = visits_[state];
  visit = {random_word(), random_word(), random_word() + random_word(), origin + "/login/callback",
           now + kSeconds};
  const std::string mark = provider.authorization.find('?') == std::string::npos ? "?" : "&";
  const std::string scope = settings_.claim == "email" ? "openid%20email" : "openid%20profile";
  const std::string where = provider.authorization + mark +
                            "response_type=code&client_id=" + form_value(settings_.client) +
                            "&redirect_uri=" + form_value(visit.redirect) + "&scope=" + scope +
                            "&state=" + state + "&nonce=" + visit.nonce +
                            "&code_challenge=" + challenge_of(visit.verifier) + "&code_challenge_method=S256";
  Reply reply{.status = 303, .headers = {{"Location", where}}};
  // Lax: the provider's page leads back here.
  reply.headers.emplace_back("Set-Cookie", cookie_name() + "=" + visit.cookie +
                                               "; Path=/; HttpOnly; SameSite=Lax; Max-Age=600" +
                                               (is_secure_ ? "; Secure" : ""));
  return reply;
}

Result<OidcAnswer> OidcVisits::take(const Request& request, const Values& values, int64_t now) {
  const auto found = visits_.find(values.text("state"));
  if (found == visits_.end()) return failure("this log-in has ended: begin again", EPERM);
  const Visit visit = std::move(found->second);
  visits_.erase(found);
  if (visit.until < now || !are_equal(cookie_of(request, cookie_name()), visit.cookie))
    return failure("this log-in has ended, or is another browser's: begin again", EPERM);
  if (values.has("iss") && values.text("iss") != settings_.issuer)  // RFC 9207
    return failure("another provider has answered", EPERM);
  const std::string code = values.text("code");
  if (code.empty() || code.size() > kMostCode) return failure("the provider has refused the log-in", EPERM);
  return OidcAnswer{code, visit.verifier, visit.nonce, visit.redirect};
}

std::string OidcVisits::forget_cookie() const {
  return cookie_name() + "=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0" + (is_secure_ ? "; Secure" : "");
}

}  // namespace minke::portal
