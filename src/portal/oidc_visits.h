// Browsers on their way to the provider of OpenID Connect and back, at the front of a shared portal: the
// authorization code flow (OpenID Connect Core 1.0, 3.1) with PKCE (RFC 7636). The one that comes back must
// be the one that was sent: it has a cookie, and the provider gives back what it was sent with, once and
// within ten minutes. Of the server's thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "portal/message.h"
#include "portal/oidc_login.h"
#include "portal/routes.h"

namespace minke::portal {

class OidcVisits {
 public:
  // `is_secure`: browsers use https.
  OidcVisits(OidcSettings settings, bool is_secure) : settings_(std::move(settings)), is_secure_(is_secure) {}

  // Leads a browser to the provider. `origin` is how it reaches this portal.
  Reply begin(const OidcProvider& provider, const std::string& origin, int64_t now);
  // What the provider has sent a browser back with; errors are for the person.
  Result<OidcAnswer> take(const Request& request, const Values& values, int64_t now);
  // Removes the cookie of begin().
  std::string forget_cookie() const;

 private:
  struct Visit {
    std::string cookie, nonce, verifier, redirect;
    int64_t until = 0;
  };
  std::string cookie_name() const { return is_secure_ ? "__Host-minke-oidc" : "minke-oidc"; }

  const OidcSettings settings_;
  const bool is_secure_;
  std::map<std::string, Visit, std::less<>> visits_;  // by state
};

}  // namespace minke::portal
