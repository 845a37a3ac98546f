#include "portal/tls.h"

#include <dlfcn.h>

#include <cerrno>
#include <cstdint>
#include <new>

namespace minke::portal {
namespace {

// As OpenSSL's headers have them since 1.1.0.
constexpr int kPem = 1, kWantRead = 2, kWantWrite = 3, kSetMinimum = 123;
constexpr long kTls12 = 0x0303;
constexpr uint64_t kNoRenegotiation = uint64_t{1} << 30, kNoCompression = uint64_t{1} << 17,
                   kServerChooses = uint64_t{1} << 22;
constexpr int kPiece = 16 * 1024;

struct OpenSsl {
  const void* (*method)() = nullptr;
  void* (*new_context)(const void*) = nullptr;
  void (*free_context)(void*) = nullptr;
  long (*control)(void*, int, long, void*) = nullptr;
  uint64_t (*set_options)(void*, uint64_t) = nullptr;
  int (*use_chain)(void*, const char*) = nullptr;
  int (*use_key)(void*, const char*, int) = nullptr;
  int (*check_key)(const void*) = nullptr;
  void* (*new_session)(void*) = nullptr;
  void (*free_session)(void*) = nullptr;
  void (*set_bio)(void*, void*, void*) = nullptr;
  void (*accept)(void*) = nullptr;
  int (*handshake)(void*) = nullptr;
  int (*read)(void*, void*, int) = nullptr;
  int (*write)(void*, const void*, int) = nullptr;
  int (*error)(const void*, int) = nullptr;
  int (*shutdown)(void*) = nullptr;
  const void* (*memory)() = nullptr;
  void* (*new_bio)(const void*) = nullptr;
  int (*bio_read)(void*, void*, int) = nullptr;
  int (*bio_write)(void*, const void*, int) = nullptr;
  void (*clear_errors)() = nullptr;
  unsigned long (*last_error)() = nullptr;
  void (*error_text)(unsigned long, char*, size_t) = nullptr;
};

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

bool load_all(void* library, OpenSsl& ssl) {
  return find(library, "TLS_server_method", ssl.method) && find(library, "SSL_CTX_new", ssl.new_context) &&
         find(library, "SSL_CTX_free", ssl.free_context) && find(library, "SSL_CTX_ctrl", ssl.control) &&
         find(library, "SSL_CTX_set_options", ssl.set_options) &&
         find(library, "SSL_CTX_use_certificate_chain_file", ssl.use_chain) &&
         find(library, "SSL_CTX_use_PrivateKey_file", ssl.use_key) &&
         find(library, "SSL_CTX_check_private_key", ssl.check_key) &&
         find(library, "SSL_new", ssl.new_session) && find(library, "SSL_free", ssl.free_session) &&
         find(library, "SSL_set_bio", ssl.set_bio) && find(library, "SSL_set_accept_state", ssl.accept) &&
         find(library, "SSL_do_handshake", ssl.handshake) && find(library, "SSL_read", ssl.read) &&
         find(library, "SSL_write", ssl.write) && find(library, "SSL_get_error", ssl.error) &&
         find(library, "SSL_shutdown", ssl.shutdown) && find(library, "BIO_s_mem", ssl.memory) &&
         find(library, "BIO_new", ssl.new_bio) && find(library, "BIO_read", ssl.bio_read) &&
         find(library, "BIO_write", ssl.bio_write) && find(library, "ERR_clear_error", ssl.clear_errors) &&
         find(library, "ERR_get_error", ssl.last_error) &&
         find(library, "ERR_error_string_n", ssl.error_text);
}

// nullptr: this machine has none.
const OpenSsl* open_ssl() {
  static const OpenSsl* const loaded = []() -> const OpenSsl* {
    static OpenSsl ssl;
    for (const char* name : {"libssl.so.3", "libssl.so.1.1"}) {
      void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (library != nullptr && load_all(library, ssl)) return &ssl;
    }
    return nullptr;
  }();
  return loaded;
}

std::string why(const OpenSsl& ssl) {
  char text[256] = {};
  ssl.error_text(ssl.last_error(), text, sizeof text);
  return text;
}

}  // namespace

Result<std::unique_ptr<TlsContext>> TlsContext::load(const std::string& certificate, const std::string& key) {
  const OpenSsl* ssl = open_ssl();
  if (ssl == nullptr)
    return failure("this machine has no OpenSSL (libssl.so.3): install libssl3, or put a proxy in front",
                   ENOENT);
  std::unique_ptr<TlsContext> loaded(new TlsContext);
  loaded->context_ = ssl->new_context(ssl->method());
  if (loaded->context_ == nullptr) return failure("OpenSSL: " + why(*ssl), EINVAL);
  ssl->control(loaded->context_, kSetMinimum, kTls12, nullptr);
  ssl->set_options(loaded->context_, kNoRenegotiation | kNoCompression | kServerChooses);
  if (ssl->use_chain(loaded->context_, certificate.c_str()) != 1)
    return failure("the certificate " + certificate + " cannot be read: " + why(*ssl), EINVAL);
  if (ssl->use_key(loaded->context_, key.c_str(), kPem) != 1)
    return failure("the key " + key + " cannot be read: " + why(*ssl), EINVAL);
  if (ssl->check_key(loaded->context_) != 1)
    return failure("the key " + key + " is not that of the certificate " + certificate, EINVAL);
  return loaded;
}

TlsContext::~TlsContext() {
  if (context_ != nullptr) open_ssl()->free_context(context_);
}

TlsSession::TlsSession(TlsContext& context) {
  const OpenSsl& ssl = *open_ssl();
  session_ = ssl.new_session(context.context_);
  in_ = ssl.new_bio(ssl.memory());
  out_ = ssl.new_bio(ssl.memory());
  if (session_ == nullptr || in_ == nullptr || out_ == nullptr) throw std::bad_alloc();
  ssl.set_bio(session_, in_, out_);
  ssl.accept(session_);
}

TlsSession::~TlsSession() {
  open_ssl()->free_session(session_);
}

bool TlsSession::take(std::string_view cipher, std::string& plain) {
  const OpenSsl& ssl = *open_ssl();
  ssl.clear_errors();
  if (!cipher.empty() &&
      ssl.bio_write(in_, cipher.data(), static_cast<int>(cipher.size())) != static_cast<int>(cipher.size()))
    return false;
  if (!is_ready_) {
    const int done = ssl.handshake(session_);
    if (done != 1) {
      const int error = ssl.error(session_, done);
      return error == kWantRead || error == kWantWrite;
    }
    is_ready_ = true;
  }
  char piece[kPiece];
  for (;;) {
    const int got = ssl.read(session_, piece, kPiece);
    if (got <= 0) {
      const int error = ssl.error(session_, got);
      return error == kWantRead || error == kWantWrite;
    }
    plain.append(piece, static_cast<size_t>(got));
  }
}

bool TlsSession::give(std::string_view plain) {
  const OpenSsl& ssl = *open_ssl();
  ssl.clear_errors();
  if (!is_ready_) return false;
  return plain.empty() ||
         ssl.write(session_, plain.data(), static_cast<int>(plain.size())) == static_cast<int>(plain.size());
}

std::string TlsSession::cipher() {
  const OpenSsl& ssl = *open_ssl();
  std::string all;
  char piece[kPiece];
  for (int got; (got = ssl.bio_read(out_, piece, kPiece)) > 0;) all.append(piece, static_cast<size_t>(got));
  return all;
}

void TlsSession::close() {
  if (is_ready_) open_ssl()->shutdown(session_);
}

}  // namespace minke::portal
