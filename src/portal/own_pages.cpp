#include "portal/own_pages.h"

#include "base/version.h"
#include "portal/assets.h"
#include "portal/compress.h"
#include "portal/job_json.h"
#include "text/printable.h"

namespace minke::portal {
namespace {

constexpr char kNoFrontEnd[] =
    "This build of Minke has no pages: Node was not there when it was built. It serves the API: see "
    "/openapi/v3.\n";

constexpr Parameter kLogin[] = {{"token", "of the printed address", Kind::kText, In::kQuery, 0, 64}};
constexpr Parameter kCallback[] = {{"code", "of the provider", Kind::kText, In::kQuery, 0, 2048},
                                   {"state", "as it was sent", Kind::kText, In::kQuery, 0, 64},
                                   {"iss", "who the provider is", Kind::kText, In::kQuery, 0, 1024}};
constexpr Parameter kTurn[] = {{"user", "who logs in; the first request", Kind::kText, In::kBody, 0, 64},
                               {"attempt", "of the last answer", Kind::kText, In::kBody, 0, 64},
                               {"answer", "to what the last answer asks", Kind::kText, In::kBody, 0, 512}};
constexpr Route kRoutes[] = {
    {"GET", "/login", Who::kAnyone, "log in with the printed address", nullptr, {}, kLogin},
    {"GET", "/login/oidc", Who::kAnyone, "at a shared portal: to the provider of OpenID Connect", nullptr},
    {"GET", "/login/callback", Who::kAnyone, "and back", nullptr, {}, kCallback, true},
    {"GET", "/api/v1/login", Who::kAnyone, "how one logs in", nullptr, "login"},
    {"POST", "/api/v1/login", Who::kAnyone, "log in at a shared portal, a question at a time", nullptr,
     "login_turn", kTurn},
    {"GET", "/api/v1/session", Who::kVisitor, "who asks", nullptr, "who"},
    {"GET", "/api/v1/sessions", Who::kVisitor, "browsers that are logged in", nullptr, "session_list"},
    {"POST", "/api/v1/sessions", Who::kVisitor, "at a shared portal: a session for a program", nullptr,
     "program_token"},
    {"DELETE", "/api/v1/sessions/{name}", Who::kVisitor, "ends a session", nullptr, "changed"},
    {"POST", "/api/v1/logout", Who::kVisitor, "ends this session", nullptr, "changed"},
    {"GET", "/api/v1/events", Who::kVisitor, "what changes, as it happens", nullptr, "events"},
};

bool is_at(const Match& match, std::string_view path) {
  return match.route->path == path;
}

std::string cookie_text(const std::string& name, const std::string& value) {
  return name + "=" + value + "; Path=/; HttpOnly; SameSite=Strict" + (value.empty() ? "; Max-Age=0" : "");
}

}  // namespace

std::span<const Route> own_routes() {
  return kRoutes;
}

Reply OwnPages::answer(const Request& request, const Match& match, const Values& call,
                       const Gate::Visitor& visitor, int64_t now) {
  if (is_at(match, "/login")) return log_in(request, call, now);
  if (is_at(match, "/login/oidc") || is_at(match, "/login/callback"))
    return {.status = 303, .headers = {{"Location", "/"}}};
  if (is_at(match, "/api/v1/login") && match.route->method == "GET") return json_reply({{"by", "token"}});
  if (is_at(match, "/api/v1/login"))
    return error_reply(409, Error{0, "open the address that minke portal has printed"});
  if (is_at(match, "/api/v1/session"))
    return json_reply({{"user", user_},
                       {"csrf", visitor.session == nullptr ? "" : visitor.session->csrf},
                       {"version", kVersion},
                       {"uid", uid_}});
  if (is_at(match, "/api/v1/sessions") && match.route->method == "GET") return list_sessions(visitor);
  if (is_at(match, "/api/v1/sessions"))
    return error_reply(409, Error{0, "scontrol token prints a token for programs"});
  if (is_at(match, "/api/v1/sessions/{name}"))
    return sessions_.end(call.text("name")) ? json_reply({{"changed", 1}})
                                            : error_reply(404, Error{0, "there is no such session"});
  if (is_at(match, "/api/v1/logout")) {
    const bool ended = visitor.session != nullptr && sessions_.end(visitor.session->id);
    Reply reply = json_reply({{"changed", ended ? 1 : 0}});
    reply.headers.emplace_back("Set-Cookie", cookie_text(sessions_.cookie_name(), ""));
    return reply;
  }
  return {.type = "text/event-stream", .is_event_stream = true};
}

Reply OwnPages::log_in(const Request& request, const Values& call, int64_t now) {
  const auto cookie = sessions_.log_in(call.text("token"), request.header("user-agent"), now);
  if (!cookie) {
    const bool locked = sessions_.is_locked(now);
    const std::string words =
        locked ? "Too many wrong tokens were shown. Try again in a minute.\n"
               : "This address was used already, or is not this portal's. Its terminal shows the "
                 "next one.\n";
    return {.status = locked ? 429u : 403u, .type = "text/plain; charset=utf-8", .body = words};
  }
  return {.status = 303,
          .headers = {{"Location", "/"}, {"Set-Cookie", cookie_text(sessions_.cookie_name(), *cookie)}}};
}

Reply OwnPages::list_sessions(const Gate::Visitor& visitor) const {
  Json list = Json::array();
  for (const auto& [cookie, session] : sessions_.all())
    list.push_back({{"id", session.id},
                    {"browser", text::printable(session.browser)},
                    {"began", session.began},
                    {"last_used", session.last_used},
                    {"is_this", visitor.session == &session}});
  return json_reply({{"sessions", std::move(list)}});
}

Reply OwnPages::file(const Request& request) {
  if (!has_front_end()) return {.status = 404, .type = "text/plain; charset=utf-8", .body = kNoFrontEnd};
  std::string path;
  for (const std::string& segment : request.segments) path += "/" + segment;
  const Asset* asset = find_asset(path);
  const bool is_named = asset != nullptr && path != "/index.html";
  if (asset == nullptr) {
    const bool is_file =
        !request.segments.empty() &&
        (request.segments[0] == "assets" || request.segments.back().find('.') != std::string::npos);
    if (is_file)
      return {.status = 404, .type = "text/plain; charset=utf-8", .body = "There is no such file.\n"};
    asset = find_asset("/index.html");
    if (asset == nullptr) return {.status = 404, .type = "text/plain; charset=utf-8", .body = kNoFrontEnd};
  }
  const std::string tag = "\"" + std::string(asset->tag) + "\"";
  Reply reply{.type = std::string(asset->type), .headers = {{"ETag", tag}}};
  const bool lasts = is_named && path.starts_with("/assets/");
  reply.headers.emplace_back("Cache-Control", lasts ? "private, max-age=31536000, immutable" : "no-cache");
  if (request.header("if-none-match") == tag) {
    reply.status = 304;
  } else if (request.header("accept-encoding").find("gzip") != std::string_view::npos) {
    reply.lasting = asset->gzip;
    reply.is_compressed = true;
  } else {
    reply.body = uncompressed(asset->gzip);
  }
  return reply;
}

}  // namespace minke::portal
