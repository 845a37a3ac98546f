// A request and its answer, as the server of HTTP hands them over and takes them. Plain data; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace minke::portal {

// What the portal reads of a request. Names of headers are in small letters; each header stands once.
struct Request {
  std::string method;
  std::string target;                                      // as it came: "/api/v1/jobs?user=me"
  std::vector<std::string> segments;                       // of the path, decoded: {"api", "v1", "jobs"}
  std::vector<std::pair<std::string, std::string>> query;  // decoded, in order
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  std::string peer = {};  // the address it came from

  // Returns the value of a header; empty if there is none.
  std::string_view header(std::string_view name) const;
};

struct Reply {
  unsigned status = 200;
  std::string type = "application/json; charset=utf-8";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string_view lasting = {};  // a body that is part of the program, in place of `body`
  bool is_compressed = false;     // the body is gzip already
  bool is_event_stream = false;   // the connection stays open, and gets what is published
  std::string group = {};         // to this group of streams
};

// Splits a target into decoded segments and pairs. Refuses what no page of ours is asked with: bad escapes,
// control characters, "." and "..", slashes and backslashes within a segment.
Status read_target(Request& request);

// Returns the value of a cookie; empty if there is none.
std::string_view cookie_of(const Request& request, std::string_view name);

// {"error": {"code": 2017, "message": "Invalid job id specified"}}: the form of all errors of /api/v1.
Reply error_reply(unsigned status, const Error& error);
// The status that says what went wrong with an engine's answer.
unsigned status_of(const Error& error);

std::string_view status_words(unsigned status);  // "Not Found"

}  // namespace minke::portal
