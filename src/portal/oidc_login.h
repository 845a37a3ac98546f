// A log-in by OpenID Connect: a process for each, which the door starts and does not wait for. It reads the
// client's secret as root, then drops all rights; it fetches the provider's tokens and keys with curl, checks
// the ID token (id_token.h), and tells the door who it is. It ends by itself after a minute.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace minke::portal {

struct OidcSettings {
  std::string issuer;       // https://id.example.org/realms/site; empty: people log in by PAM
  std::string client;       // as the provider knows this portal
  std::string secret_file;  // root's; empty: the provider asks for none
  std::string claim = "preferred_username";  // which says the name; of an address, what is before its @
  std::string domain;                        // the only one of such addresses that is taken
};

// Errors: the settings cannot be right.
Status check_oidc(const OidcSettings& settings);

// What the provider says of itself, at ISSUER/.well-known/openid-configuration.
struct OidcProvider {
  std::string authorization, token, keys;  // addresses
};
// Blocking, for at most 20 s. Errors: it does not answer, or as another one.
Result<OidcProvider> discover_provider(const std::string& issuer);

// The name of a person from his claims, by this rule: the claim must be a text; "name@domain" is taken with
// the domain of the settings alone, without its domain; what is left must be a name of this machine's form.
Result<std::string> oidc_name(const OidcSettings& settings, const std::string& claim);

// A value as forms and queries have it.
std::string form_value(std::string_view value);

// What the front asks with: of the provider's answer, and of how it has asked. One packet.
struct OidcAnswer {
  std::string code, verifier, nonce, redirect;
};
std::string oidc_answer_bytes(const OidcAnswer& answer);

// `conversation` has the packet; the door hears the outcome (pam_login.h). Returns the exit status.
int oidc_login(const OidcSettings& settings, int conversation, int outcome);

}  // namespace minke::portal
