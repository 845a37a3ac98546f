#include "portal/app_visits.h"

#include <algorithm>

#include "portal/app_connection.h"
#include "portal/app_relay.h"
#include "text/number.h"

namespace minke::portal {
namespace {

constexpr std::string_view kApps = "/apps/", kOpen = "/open?ticket=";
constexpr int64_t kTicketSeconds = 60;
constexpr size_t kMostTickets = 4096, kMostVisits = 16384, kMostStart = 512;

Reply plain(unsigned status, const char* words) {
  return {.status = status, .type = "text/plain; charset=utf-8", .body = words};
}

// A path below the session's address that may stand in a Location.
bool is_start(std::string_view start) {
  return start.size() <= kMostStart && !start.starts_with('/') && is_app_target("", "/" + std::string(start));
}

// A page of another site may lead here, as a link; what it can send else is refused.
bool is_from_elsewhere(const Request& head, const std::string& origin) {
  const std::string_view site = head.header("sec-fetch-site"), from = head.header("origin");
  const bool is_upgrade = asks_for_websocket(head);
  if ((is_upgrade || !from.empty()) && from != origin) return true;
  if (site.empty()) return head.method != "GET" && head.method != "HEAD" && from.empty();
  if (site == "same-origin" || site == "none") return false;
  return head.method != "GET" || head.header("sec-fetch-mode") != "navigate" ||
         head.header("sec-fetch-dest") != "document";
}

}  // namespace

AppVisits::AppVisits(Sessions& sessions, bool is_secure)
    : sessions_(sessions),
      is_secure_(is_secure),
      cookie_name_((is_secure ? "__Secure-minke-app-" : "minke-app-") + random_word().substr(0, 8)) {}

bool AppVisits::is_app(std::string_view target) {
  return target.starts_with(kApps) || target.starts_with(kOpen);
}

Reply AppVisits::send_on(const std::string& origin, const std::string& portal_cookie, const std::string& key,
                         const std::string& start, int64_t now) {
  if (!is_app_key(key)) return error_reply(404, Error{0, "there is no such session"});
  if (!is_start(start)) return error_reply(400, Error{0, "start is no path below the session's address"});
  std::erase_if(tickets_, [now](const auto& one) { return one.second.until < now; });
  if (tickets_.size() >= kMostTickets)
    return error_reply(503, Error{0, "too many applications are opened at once"});
  const std::string ticket = random_word();
  tickets_[ticket] = {portal_cookie, key, start, now + kTicketSeconds};
  return {.status = 303, .headers = {{"Location", origin + std::string(kOpen) + ticket}}};
}

Reply AppVisits::enter(std::string_view target, int64_t now) {
  const auto found = tickets_.find(target.substr(kOpen.size()));
  if (found == tickets_.end())
    return plain(403, "This address was used already. Open the application from the portal.\n");
  const Ticket ticket = std::move(found->second);
  tickets_.erase(found);
  if (ticket.until < now || sessions_.find(ticket.portal_cookie, now) == nullptr)
    return plain(403, "This address has expired. Open the application from the portal.\n");
  if (visits_.size() >= kMostVisits)
    std::erase_if(visits_,
                  [&](const auto& one) { return sessions_.find(one.second.portal_cookie, now) == nullptr; });
  if (visits_.size() >= kMostVisits) return plain(503, "Too many applications are open.\n");
  const std::string cookie = random_word(), base = std::string(kApps) + ticket.key;
  visits_[cookie] = {ticket.portal_cookie, ticket.key};
  Reply reply{.status = 303, .headers = {{"Location", base + "/" + ticket.start}}};
  reply.headers.emplace_back("Set-Cookie", cookie_name_ + "=" + cookie + "; Path=" + base +
                                               "/; HttpOnly; SameSite=Lax" + (is_secure_ ? "; Secure" : ""));
  return reply;
}

const Session* AppVisits::session_of(const Request& head, std::string_view key, int64_t now) {
  // An application's script may have set others of this name: one that is right is enough.
  for (std::string_view one : text::split(head.header("cookie"), ';')) {
    one = text::trim(one);
    const size_t equals = one.find('=');
    if (equals == std::string_view::npos || one.substr(0, equals) != cookie_name_) continue;
    const auto visit = visits_.find(one.substr(equals + 1));
    if (visit == visits_.end() || visit->second.key != key) continue;
    if (const Session* session = sessions_.find(visit->second.portal_cookie, now)) return session;
    visits_.erase(visit);
  }
  return nullptr;
}

std::variant<Reply, AppVisits::Visitor> AppVisits::admit(const Request& head, const std::string& origin,
                                                         int64_t now) {
  const std::string_view target = head.target;
  if (target.starts_with(kOpen))
    return head.method == "GET" ? enter(target, now) : plain(405, "This address is asked by GET.\n");
  const std::string_view key = target.substr(
      kApps.size(), std::min(target.find_first_of("/?", kApps.size()), target.size()) - kApps.size());
  const std::string base = std::string(kApps) + std::string(key);
  if (!is_app_key(key) || !is_app_target(base, target)) return plain(404, "There is no such session.\n");
  if (is_from_elsewhere(head, origin)) return plain(403, "A page of another site asks for this.\n");
  const Session* session = session_of(head, key, now);
  if (session == nullptr)
    return plain(403,
                 "Open the application from the portal: this browser has not come from there, or its session "
                 "has ended.\n");
  if (head.method == "CONNECT" || head.method == "TRACE")
    return plain(405, "Applications are not asked by this.\n");
  return Visitor{session, {base, origin, false, ""}, std::string(key)};
}

}  // namespace minke::portal
