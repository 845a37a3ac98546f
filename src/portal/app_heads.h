// What of a request's head an interactive application gets, and what of its answer's head a browser gets. An
// application is code of its user's job: it never sees what the portal knows him by, sets no cookie of the
// portal's nor outside of its own address, and cannot speak for the whole origin. Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "portal/message.h"

namespace minke::portal {

using HeadLines = std::vector<std::pair<std::string, std::string>>;

struct AppAddress {
  std::string base;     // "/apps/KEY"
  std::string origin;   // "https://apps.example.org", as the browser says it
  bool strips = false;  // the application's pages begin at "/"
  std::string header;   // that each request gets: "Name: value"; empty: none
};

// What targets, cookies and headers of the portal begin with, which applications do not get: "minke".
bool is_portal_cookie(std::string_view name);

// The target that the application is asked with.
std::string app_target(const AppAddress& address, std::string_view target);
// Whether a target may be passed on: within its base, and without "." and ".." that would lead out of it.
bool is_app_target(std::string_view base, std::string_view target);

// Lengths and codings of bodies are not among them: those are of each connection.
HeadLines app_request_lines(const AppAddress& address, const Request& head, bool is_upgrade);
HeadLines app_reply_lines(const AppAddress& address, const HeadLines& lines, bool is_upgrade);

}  // namespace minke::portal
