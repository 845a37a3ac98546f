// TLS without sockets: bytes of the network in, bytes of a page's reader out, and the other way. It is
// OpenSSL's, which is loaded when it is needed: a machine without it says so, and commands that need none
// start as fast as ever. Of one thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace minke::portal {

// A server's certificate and key, TLS 1.2 or newer.
class TlsContext {
 public:
  // Both are files in PEM. Errors say which of them is wrong.
  static Result<std::unique_ptr<TlsContext>> load(const std::string& certificate, const std::string& key);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

 private:
  friend class TlsSession;
  TlsContext() = default;
  void* context_ = nullptr;
};

// One connection, on the server's side.
class TlsSession {
 public:
  explicit TlsSession(TlsContext& context);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  // What came from the network; returns false if it cannot be TLS, or the other side has closed.
  bool take(std::string_view cipher, std::string& plain);
  // What is to be sent. Returns false before the handshake is done, or if it fails.
  bool give(std::string_view plain);
  // What must go to the network now.
  std::string cipher();
  bool is_ready() const { return is_ready_; }
  // Says that no more comes; cipher() has it.
  void close();

 private:
  void* session_ = nullptr;
  void* in_ = nullptr;   // the session's
  void* out_ = nullptr;  // the session's
  bool is_ready_ = false;
};

}  // namespace minke::portal
