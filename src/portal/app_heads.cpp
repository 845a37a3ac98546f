#include "portal/app_heads.h"

#include <algorithm>
#include <set>

#include "text/number.h"

namespace minke::portal {
namespace {

using Names = std::set<std::string, std::less<>>;

// Of one connection (RFC 9110, 7.6.1).
constexpr std::string_view kOfConnection[] = {
    "connection", "keep-alive",        "proxy-connection", "proxy-authenticate", "proxy-authorization", "te",
    "trailer",    "transfer-encoding", "upgrade",          "content-length",     "http2-settings"};
// Of the portal: who somebody is, and from where.
constexpr std::string_view kOfPortal[] = {
    "authorization",    "x-slurm-user-token", "x-slurm-user-name", "x-csrf-token",     "cookie",
    "expect",           "forwarded",          "x-forwarded-for",   "x-forwarded-host", "x-forwarded-proto",
    "x-forwarded-port", "x-forwarded-prefix", "x-real-ip"};
// What speaks for the whole origin, or for how its browser reaches it.
constexpr std::string_view kOfOrigin[] = {"set-cookie",
                                          "service-worker-allowed",
                                          "clear-site-data",
                                          "strict-transport-security",
                                          "alt-svc",
                                          "x-frame-options",
                                          "public-key-pins",
                                          "expect-ct",
                                          "report-to",
                                          "reporting-endpoints",
                                          "nel",
                                          "origin-agent-cluster"};

template <size_t size>
bool is_one_of(std::string_view name, const std::string_view (&all)[size]) {
  return std::find(std::begin(all), std::end(all), name) != std::end(all);
}

// What "Connection" names is of that connection, too.
Names named_by_connection(const HeadLines& lines) {
  Names names;
  for (const auto& [name, value] : lines) {
    if (text::lower_case(name) != "connection") continue;
    for (const std::string_view one : text::split(value, ','))
      names.insert(text::lower_case(text::trim(one)));
  }
  return names;
}

std::string cookies_without_own(std::string_view cookies) {
  std::string kept;
  for (std::string_view one : text::split(cookies, ';')) {
    one = text::trim(one);
    if (one.empty() || is_portal_cookie(one.substr(0, one.find('=')))) continue;
    kept += (kept.empty() ? "" : "; ") + std::string(one);
  }
  return kept;
}

// Empty: it is not to be set.
std::string own_cookie(const std::string& base, std::string_view cookie) {
  const auto parts = text::split(cookie, ';');
  const std::string_view pair = text::trim(parts[0]), name = text::trim(pair.substr(0, pair.find('=')));
  // Browsers read a cookie without a name as its value. "__Host-" would need the whole host.
  if (name.empty() || pair.find('=') == std::string_view::npos || is_portal_cookie(name) ||
      text::starts_with_ignoring_case(name, "__Host-"))
    return {};
  std::string path = base + "/", kept(pair);
  for (size_t i = 1; i < parts.size(); ++i) {
    const std::string_view part = text::trim(parts[i]), key = text::trim(part.substr(0, part.find('=')));
    if (text::equals_ignoring_case(key, "domain")) continue;
    if (!text::equals_ignoring_case(key, "path")) {
      kept += "; " + std::string(part);
      continue;
    }
    const size_t equals = part.find('=');
    const std::string_view wanted =
        equals == std::string_view::npos ? "" : text::trim(part.substr(equals + 1));
    path = wanted.starts_with(base + "/") ? std::string(wanted) : base + "/";
  }
  return kept + "; Path=" + path;
}

bool is_dots(std::string_view segment) {
  std::string plain;
  for (size_t i = 0; i < segment.size(); ++i) {
    const bool is_escaped = segment.substr(i).starts_with("%2e") || segment.substr(i).starts_with("%2E");
    plain += is_escaped ? '.' : segment[i];
    if (is_escaped) i += 2;
  }
  return plain == "." || plain == "..";
}

// A redirection within the application's own pages.
std::string location_of(const AppAddress& address, const std::string& value) {
  const bool is_path = value.starts_with('/') && !value.starts_with("//") && !value.starts_with("/\\");
  return address.strips && is_path ? address.base + value : value;
}

}  // namespace

bool is_portal_cookie(std::string_view name) {
  for (const std::string_view prefix : {"__Host-", "__Secure-"})
    if (text::starts_with_ignoring_case(name, prefix)) name.remove_prefix(prefix.size());
  return text::starts_with_ignoring_case(name, "minke");
}

std::string app_target(const AppAddress& address, std::string_view target) {
  if (!address.strips) return std::string(target);
  const std::string_view rest = target.substr(address.base.size());
  return rest.starts_with('/') ? std::string(rest) : "/" + std::string(rest);
}

bool is_app_target(std::string_view base, std::string_view target) {
  if (!target.starts_with(base)) return false;
  std::string_view rest = target.substr(base.size());
  if (!rest.starts_with('/') && !rest.starts_with('?') && !rest.empty()) return false;
  const auto is_bad = [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || static_cast<unsigned char>(c) >= 0x7f || c == '#' ||
           c == '\\';
  };
  if (std::any_of(rest.begin(), rest.end(), is_bad)) return false;
  rest = rest.substr(0, rest.find('?'));
  for (const std::string_view segment : text::split(rest, '/'))
    if (is_dots(segment)) return false;
  return true;
}

HeadLines app_request_lines(const AppAddress& address, const Request& head, bool is_upgrade) {
  const Names of_connection = named_by_connection(head.headers);
  HeadLines lines;
  for (const auto& [name, value] : head.headers) {
    if (is_one_of(name, kOfConnection) || is_one_of(name, kOfPortal) || of_connection.contains(name))
      continue;
    lines.emplace_back(name, value);
  }
  if (const std::string cookies = cookies_without_own(head.header("cookie")); !cookies.empty())
    lines.emplace_back("cookie", cookies);
  const size_t scheme = address.origin.find("://");
  lines.emplace_back("x-forwarded-proto", address.origin.substr(0, scheme));
  lines.emplace_back("x-forwarded-host", address.origin.substr(scheme + 3));
  if (address.strips) lines.emplace_back("x-forwarded-prefix", address.base);
  if (const size_t colon = address.header.find(": "); colon != std::string::npos) {
    const std::string name = text::lower_case(address.header.substr(0, colon));
    std::erase_if(lines, [&](const auto& line) { return line.first == name; });
    lines.emplace_back(name, address.header.substr(colon + 2));
  }
  if (is_upgrade) lines.emplace_back("upgrade", "websocket");
  lines.emplace_back("connection", is_upgrade ? "Upgrade" : "close");
  return lines;
}

HeadLines app_reply_lines(const AppAddress& address, const HeadLines& lines, bool is_upgrade) {
  const Names of_connection = named_by_connection(lines);
  HeadLines kept;
  for (const auto& [name, value] : lines) {
    const std::string key = text::lower_case(name);
    if (key == "set-cookie") {
      if (const std::string cookie = own_cookie(address.base, value); !cookie.empty())
        kept.emplace_back(name, cookie);
      continue;
    }
    if (is_one_of(key, kOfConnection) || is_one_of(key, kOfOrigin) || of_connection.contains(key)) continue;
    kept.emplace_back(name, key == "location" ? location_of(address, value) : value);
  }
  if (is_upgrade) {
    kept.emplace_back("Upgrade", "websocket");
    kept.emplace_back("Connection", "Upgrade");
    return kept;
  }
  // Beside a policy of its own, if it has one: browsers obey both.
  kept.emplace_back("Content-Security-Policy", "frame-ancestors 'self'");
  kept.emplace_back("X-Frame-Options", "SAMEORIGIN");
  kept.emplace_back("Cross-Origin-Resource-Policy", "same-origin");
  kept.emplace_back("Referrer-Policy", "same-origin");
  return kept;
}

}  // namespace minke::portal
