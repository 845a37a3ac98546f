// Whether an ID token is what it says (OpenID Connect Core 1.0, 3.1.3.7): signed by a key of the provider's,
// by RS256 or ES256 alone; made by this provider, for this client, for this log-in, and not expired. OpenSSL
// checks the signature; it is loaded when it is needed. Pure but for that; any thread.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace minke::portal {

struct IdTokenExpected {
  std::string issuer, client, nonce;
  int64_t now = 0;  // s since the epoch
};

// `keys`: the provider's JWK set (RFC 7517). Returns the token's claims; errors say what is wrong with it.
Result<nlohmann::json> verified_claims(std::string_view token, const nlohmann::json& keys,
                                       const IdTokenExpected& expected);

}  // namespace minke::portal
