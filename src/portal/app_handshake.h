// How a portal and the gate of an application's job show each other that they know the secret of the session,
// which never crosses the network: challenges of both sides, and HMAC-SHA256 of them (RFC 2104). The gate
// answers first, so that whoever took its port over later learns nothing. Pure, but for random numbers.
//
//   portal: hello = kHello + 32 random bytes
//   gate:   32 random bytes + HMAC(secret, "gate" + hello + its random bytes)
//   portal: HMAC(secret, "portal" + hello + the gate's random bytes); from then on bytes are the
//   application's
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace minke::portal {

constexpr std::string_view kAppHello = "minke-app 1\n";
constexpr size_t kAppNonce = 32, kAppProof = 32;
constexpr size_t kAppHelloBytes = kAppHello.size() + kAppNonce, kAppAnswerBytes = kAppNonce + kAppProof;

std::string app_hello();
// The gate's answer; empty: this is no hello.
std::string app_answer(std::string_view secret, std::string_view hello);
// The portal's proof; empty: the answer does not show the secret.
std::string app_proof(std::string_view secret, std::string_view hello, std::string_view answer);
// Whether the proof fits, at the gate.
bool is_app_proof(std::string_view secret, std::string_view hello, std::string_view answer,
                  std::string_view proof);

}  // namespace minke::portal
