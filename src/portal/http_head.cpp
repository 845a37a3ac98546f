#include "portal/http_head.h"

namespace minke::portal {
namespace {

// What every answer says to browsers: nothing from elsewhere, nothing in frames, no guessing of types.
constexpr std::string_view kSecurityHeaders =
    "Content-Security-Policy: default-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'; object-src 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "X-Frame-Options: DENY\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n";

}  // namespace

std::string head_of(const Reply& reply, size_t body_size, bool keep_alive, const std::string& more) {
  std::string head = "HTTP/1.1 " + std::to_string(reply.status) + " ";
  head += status_words(reply.status);
  head += "\r\n";
  bool has_cache_control = false;
  for (const auto& [name, value] : reply.headers) {
    has_cache_control = has_cache_control || name == "Cache-Control";
    head += name + ": " + value + "\r\n";
  }
  if (!has_cache_control) head += "Cache-Control: no-store\r\n";
  head += kSecurityHeaders;
  head += more;
  if (body_size > 0 || reply.is_event_stream) head += "Content-Type: " + reply.type + "\r\n";
  if (reply.is_compressed) head += "Content-Encoding: gzip\r\nVary: Accept-Encoding\r\n";
  if (!reply.is_event_stream && reply.status != 204 && reply.status != 304)
    head += "Content-Length: " + std::to_string(body_size) + "\r\n";
  head += keep_alive ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n";
  return head;
}

bool may_header_stand_twice(std::string_view name) {
  return name.starts_with("accept") || name == "cache-control" || name == "via" || name == "forwarded" ||
         name == "x-forwarded-for";
}

}  // namespace minke::portal
