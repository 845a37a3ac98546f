#include "portal/app_handshake.h"

#include <nettle/hmac.h>

#include "os/random_key.h"
#include "portal/sessions.h"

namespace minke::portal {
namespace {

std::string proof_of(std::string_view side, std::string_view secret, std::string_view hello,
                     std::string_view nonce) {
  hmac_sha256_ctx context;
  hmac_sha256_set_key(&context, secret.size(), reinterpret_cast<const uint8_t*>(secret.data()));
  for (const std::string_view part : {side, hello, nonce})
    hmac_sha256_update(&context, part.size(), reinterpret_cast<const uint8_t*>(part.data()));
  std::string digest(kAppProof, '\0');
  hmac_sha256_digest(&context, digest.size(), reinterpret_cast<uint8_t*>(digest.data()));
  return digest;
}

std::string nonce() {
  return os::random_key() + os::random_key();
}

}  // namespace

std::string app_hello() {
  return std::string(kAppHello) + nonce();
}

std::string app_answer(std::string_view secret, std::string_view hello) {
  if (hello.size() != kAppHelloBytes || !hello.starts_with(kAppHello)) return {};
  const std::string own = nonce();
  return own + proof_of("gate", secret, hello, own);
}

std::string app_proof(std::string_view secret, std::string_view hello, std::string_view answer) {
  if (answer.size() != kAppAnswerBytes) return {};
  const std::string_view theirs = answer.substr(0, kAppNonce);
  if (!are_equal(answer.substr(kAppNonce), proof_of("gate", secret, hello, theirs))) return {};
  return proof_of("portal", secret, hello, theirs);
}

bool is_app_proof(std::string_view secret, std::string_view hello, std::string_view answer,
                  std::string_view proof) {
  return answer.size() == kAppAnswerBytes &&
         are_equal(proof, proof_of("portal", secret, hello, answer.substr(0, kAppNonce)));
}

}  // namespace minke::portal
