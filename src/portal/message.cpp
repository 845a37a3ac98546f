#include "portal/message.h"

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "model/error.h"
#include "text/number.h"

namespace minke::portal {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

// Returns false for a bad escape, or a control character.
bool decode(std::string_view text, bool plus_is_blank, std::string& out) {
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '+' && plus_is_blank) c = ' ';
    if (c == '%') {
      if (i + 2 >= text.size()) return false;
      const int high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return false;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (is_control(c)) return false;
    out += c;
  }
  return true;
}

tl::unexpected<Error> bad_target() {
  return failure("the address cannot be read: it has a bad escape, a control character, \".\" or \"..\"",
                 EINVAL);
}

}  // namespace

std::string_view Request::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (key == name) return value;
  return {};
}

Status read_target(Request& request) {
  std::string_view path = request.target, query;
  if (const size_t mark = path.find('?'); mark != std::string_view::npos) {
    query = path.substr(mark + 1);
    path = path.substr(0, mark);
  }
  if (!path.starts_with('/') || path.find_first_of("#\\") != std::string_view::npos) return bad_target();
  path.remove_prefix(1);
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(path.size(), part.size() + 1));
    std::string segment;
    if (!decode(part, false, segment)) return bad_target();
    const bool refused = segment.empty() || segment == "." || segment == ".." ||
                         segment.find_first_of("/\\") != std::string::npos;
    if (refused) return bad_target();
    request.segments.push_back(std::move(segment));
  }
  for (const std::string_view pair : text::split(query, '&')) {
    if (pair.empty()) continue;
    const size_t equals = pair.find('=');
    std::string name, value;
    if (!decode(pair.substr(0, equals), true, name)) return bad_target();
    if (equals != std::string_view::npos && !decode(pair.substr(equals + 1), true, value))
      return bad_target();
    request.query.emplace_back(std::move(name), std::move(value));
  }
  return {};
}

std::string_view cookie_of(const Request& request, std::string_view name) {
  for (std::string_view cookie : text::split(request.header("cookie"), ';')) {
    cookie = text::trim(cookie);
    if (cookie.size() > name.size() && cookie.starts_with(name) && cookie[name.size()] == '=')
      return cookie.substr(name.size() + 1);
  }
  return {};
}

Reply error_reply(unsigned status, const Error& error) {
  const nlohmann::ordered_json value = {{"error", {{"code", error.code}, {"message", error.message}}}};
  return {.status = status, .body = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)};
}

unsigned status_of(const Error& error) {
  switch (error.code) {
    case model::kInvalidJobId:
    case ENOENT:
      return 404;
    case model::kAccessDenied:
    case EACCES:
    case EPERM:
      return 403;
    case ECONNREFUSED:
    case ECONNRESET:
    case ETIMEDOUT:
    case EPIPE:
      return 503;
    case 0:  // what this cluster lacks
    case ENOTSUP:
      return 501;
    case EINVAL:
      return 400;
    default:
      return error.code >= 2000 && error.code < 10000 ? 409 : 502;
  }
}

std::string_view status_words(unsigned status) {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 303:
      return "See Other";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 421:
      return "Misdirected Request";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    default:
      return "Internal Server Error";
  }
}

}  // namespace minke::portal
