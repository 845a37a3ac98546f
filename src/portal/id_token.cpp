#include "portal/id_token.h"

#include <dlfcn.h>

#include <algorithm>
#include <cerrno>

#include "portal/base64_url.h"

namespace minke::portal {
namespace {

using JsonValue = nlohmann::json;

constexpr size_t kMostToken = 16 * 1024, kLeastModulus = 256, kMostModulus = 1024, kCoordinate = 32;
constexpr int64_t kSkew = 60;  // s that clocks may differ

struct Crypto {
  void* (*read_key)(void**, const unsigned char**, long) = nullptr;
  void (*free_key)(void*) = nullptr;
  void* (*new_context)() = nullptr;
  void (*free_context)(void*) = nullptr;
  const void* (*sha256)() = nullptr;
  int (*begin)(void*, void**, const void*, void*, void*) = nullptr;
  int (*verify)(void*, const unsigned char*, size_t, const unsigned char*, size_t) = nullptr;
};

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

// nullptr: this machine has none.
const Crypto* crypto() {
  static const Crypto* const loaded = []() -> const Crypto* {
    static Crypto one;
    for (const char* name : {"libcrypto.so.3", "libcrypto.so.1.1"}) {
      void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (library != nullptr && find(library, "d2i_PUBKEY", one.read_key) &&
          find(library, "EVP_PKEY_free", one.free_key) && find(library, "EVP_MD_CTX_new", one.new_context) &&
          find(library, "EVP_MD_CTX_free", one.free_context) && find(library, "EVP_sha256", one.sha256) &&
          find(library, "EVP_DigestVerifyInit", one.begin) && find(library, "EVP_DigestVerify", one.verify))
        return &one;
    }
    return nullptr;
  }();
  return loaded;
}

// ---- DER (X.690): a tag, a length, and what it holds
// -----------------------------------------------------------
std::string der(char tag, const std::string& content) {
  std::string length;
  if (content.size() < 0x80) {
    length = static_cast<char>(content.size());
  } else {
    for (size_t left = content.size(); left > 0; left >>= 8)
      length.insert(length.begin(), static_cast<char>(left & 0xff));
    length.insert(length.begin(), static_cast<char>(0x80 | length.size()));
  }
  return tag + length + content;
}

std::string der_integer(std::string bytes) {
  bytes.erase(0, std::min(bytes.find_first_not_of('\0'), bytes.size() - 1));
  if ((static_cast<unsigned char>(bytes[0]) & 0x80) != 0) bytes.insert(bytes.begin(), '\0');
  return der('\x02', bytes);
}

const std::string kRsa("\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00", 13);
const std::string kCurve("\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07", 19);

std::string text_of(const JsonValue& from, const char* name) {
  const auto found = from.find(name);
  return found != from.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// SubjectPublicKeyInfo (RFC 5280); empty: the key cannot be used with this algorithm.
std::string public_key(const JsonValue& key, const std::string& algorithm) {
  const std::string use = text_of(key, "use"), own = text_of(key, "alg");
  if ((!use.empty() && use != "sig") || (!own.empty() && own != algorithm)) return {};
  if (algorithm == "RS256" && text_of(key, "kty") == "RSA") {
    const std::string modulus = from_base64_url(text_of(key, "n")),
                      exponent = from_base64_url(text_of(key, "e"));
    if (modulus.size() < kLeastModulus || modulus.size() > kMostModulus || exponent.empty() ||
        exponent.size() > 8)
      return {};
    const std::string pair = der('\x30', der_integer(modulus) + der_integer(exponent));
    return der('\x30', der('\x30', kRsa) + der('\x03', std::string(1, '\0') + pair));
  }
  if (algorithm == "ES256" && text_of(key, "kty") == "EC" && text_of(key, "crv") == "P-256") {
    const std::string x = from_base64_url(text_of(key, "x")), y = from_base64_url(text_of(key, "y"));
    if (x.size() != kCoordinate || y.size() != kCoordinate) return {};
    return der('\x30', der('\x30', kCurve) + der('\x03', std::string("\0\x04", 2) + x + y));
  }
  return {};
}

bool is_signed_by(const std::string& key, std::string_view text, const std::string& signature) {
  const Crypto& open = *crypto();
  const auto* bytes = reinterpret_cast<const unsigned char*>(key.data());
  void* read = open.read_key(nullptr, &bytes, static_cast<long>(key.size()));
  if (read == nullptr) return false;
  void* context = open.new_context();
  const bool is_good =
      context != nullptr && open.begin(context, nullptr, open.sha256(), nullptr, read) == 1 &&
      open.verify(context, reinterpret_cast<const unsigned char*>(signature.data()), signature.size(),
                  reinterpret_cast<const unsigned char*>(text.data()), text.size()) == 1;
  open.free_context(context);
  open.free_key(read);
  return is_good;
}

Status check_signature(std::string_view text, std::string signature, const JsonValue& head,
                       const JsonValue& keys) {
  const std::string algorithm = text_of(head, "alg"), wanted = text_of(head, "kid");
  if (algorithm != "RS256" && algorithm != "ES256")
    return failure("the token is signed neither by RS256 nor by ES256", EPERM);
  if (head.contains("crit")) return failure("the token has extensions that are not known here", EPERM);
  if (crypto() == nullptr)
    return failure("this machine has no OpenSSL (libcrypto.so.3): install libssl3", ENOENT);
  if (algorithm == "ES256") {
    if (signature.size() != 2 * kCoordinate) return failure("the token's signature is no signature", EPERM);
    signature = der(
        '\x30', der_integer(signature.substr(0, kCoordinate)) + der_integer(signature.substr(kCoordinate)));
  }
  const auto all = keys.find("keys");
  if (all == keys.end() || !all->is_array()) return failure("the provider's keys cannot be read", EPROTO);
  for (const JsonValue& key : *all) {
    if (!key.is_object() || (!wanted.empty() && text_of(key, "kid") != wanted)) continue;
    const std::string usable = public_key(key, algorithm);
    if (!usable.empty() && is_signed_by(usable, text, signature)) return {};
  }
  return failure("no key of the provider has signed the token", EPERM);
}

int64_t time_of(const JsonValue& claims, const char* name) {
  const auto found = claims.find(name);
  return found != claims.end() && found->is_number()
             ? static_cast<int64_t>(std::clamp(found->get<double>(), 0.0, 1e15))
             : 0;
}

bool is_for(const JsonValue& claims, const std::string& client) {
  const auto found = claims.find("aud");
  if (found == claims.end()) return false;
  if (found->is_string()) return found->get<std::string>() == client;
  const bool is_named =
      found->is_array() && std::find(found->begin(), found->end(), JsonValue(client)) != found->end();
  // One that is for others as well says that it was asked for by us.
  return is_named && (found->size() == 1 || text_of(claims, "azp") == client);
}

Status check_claims(const JsonValue& claims, const IdTokenExpected& expected) {
  if (text_of(claims, "iss") != expected.issuer) return failure("the token is another provider's", EPERM);
  if (!is_for(claims, expected.client)) return failure("the token is for another client", EPERM);
  if (claims.contains("azp") && text_of(claims, "azp") != expected.client)
    return failure("the token was asked for by another client", EPERM);
  if (expected.nonce.empty() || text_of(claims, "nonce") != expected.nonce)
    return failure("the token is of another log-in", EPERM);
  if (time_of(claims, "exp") + kSkew <= expected.now) return failure("the token has expired", EPERM);
  if (time_of(claims, "iat") - kSkew > expected.now || time_of(claims, "nbf") - kSkew > expected.now)
    return failure("the token is of a time to come", EPERM);
  if (text_of(claims, "sub").empty()) return failure("the token is nobody's", EPERM);
  return {};
}

}  // namespace

Result<JsonValue> verified_claims(std::string_view token, const JsonValue& keys,
                                  const IdTokenExpected& expected) {
  const size_t first = token.find('.'), last = token.rfind('.');
  if (token.size() > kMostToken || first == std::string_view::npos || first == last ||
      token.find('.', first + 1) != last)
    return failure("what the provider gave is no ID token", EPERM);
  const JsonValue head = JsonValue::parse(from_base64_url(token.substr(0, first)), nullptr, false),
                  claims = JsonValue::parse(from_base64_url(token.substr(first + 1, last - first - 1)),
                                            nullptr, false);
  if (!head.is_object() || !claims.is_object())
    return failure("what the provider gave is no ID token", EPERM);
  const std::string signature = from_base64_url(token.substr(last + 1));
  if (const Status checked = check_signature(token.substr(0, last), signature, head, keys); !checked)
    return failure(checked.error());
  if (const Status checked = check_claims(claims, expected); !checked) return failure(checked.error());
  return claims;
}

}  // namespace minke::portal
