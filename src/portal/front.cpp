#include "portal/front.h"

#include <sys/socket.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "base/version.h"
#include "os/pass_descriptors.h"
#include "portal/action_log.h"
#include "portal/answering.h"
#include "portal/app_connection.h"
#include "portal/app_visits.h"
#include "portal/door_wire.h"
#include "portal/gate.h"
#include "portal/http_server.h"
#include "portal/job_json.h"
#include "portal/log_ins.h"
#include "portal/oidc_visits.h"
#include "portal/own_pages.h"
#include "portal/people.h"
#include "portal/routes.h"
#include "portal/sessions.h"
#include "portal/tls.h"
#include "portal/workers.h"
#include "text/number.h"
#include "text/printable.h"

namespace minke::portal {
namespace {

constexpr size_t kMostSessions = 8192, kMostSessionsOfOne = 32;
constexpr size_t kMostStreamsOfOne = 64, kMostForwardsOfOne = 128, kMostAgent = 200;

HttpBounds bounds() {
  HttpBounds wide;
  wide.connections = 4096;
  wide.event_streams = 2048;
  return wide;
}

class Front {
 public:
  Front(const FrontOptions& options, os::UniqueFd door)
      : options_(options),
        door_(std::move(door)),
        cookie_name_(options.is_secure ? "__Host-minke" : "minke"),
        people_(server_,
                [this](const std::string& ticket) {
                  say({DoorWord::kStart, ticket, {}});
                }),
        visits_(sessions_, options.is_secure),
        oidc_visits_(options.oidc, options.is_secure),
        log_ins_(server_, [this](const DoorMessage& message) { return say(message); }) {}

  Status run(std::unique_ptr<TlsContext> tls, int listener) {
    server_.use_tls(std::move(tls));
    if (const Status at = server_.listen_at(listener); !at) return at;
    if (options_.is_secure) server_.add_header("Strict-Transport-Security: max-age=31536000");
    const auto heard = server_.on_readable(door_.get(), [this] { hear_door(); });
    server_.on_streams_changed([this](const std::string& group) {
      const auto uid = text::parse_unsigned(group, UINT32_MAX);
      if (uid)
        people_.set_listeners(static_cast<uint32_t>(*uid), ticket_of(static_cast<uint32_t>(*uid)),
                              server_.event_streams(group));
    });
    server_.forward_by([this](const Request& head) { return choose(head); });
    server_.run(
        [this](Request request, HttpServer::Answer answer) { take(std::move(request), std::move(answer)); });
    return {};
  }

 private:
  bool say(const DoorMessage& message) {
    return os::send_bytes(door_.get(), door_bytes(message), {}, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
  }

  void hear_door() {
    auto packet = os::receive_packet(door_.get(), 1 + kDoorKey + kMostDoorText);
    if (!packet) return server_.stop();
    const auto message = read_door_bytes(packet->bytes);
    if (!message) return;
    if (message->word == DoorWord::kTalk && packet->descriptors.size() == 1)
      return log_ins_.have_conversation(message->key, std::move(packet->descriptors[0]));
    if (message->word == DoorWord::kWork && packet->descriptors.size() == 1)
      return people_.have_worker(message->key, std::move(packet->descriptors[0]));
    if (message->word == DoorWord::kCome) return let_in(*message);
    if (message->word != DoorWord::kGo) return;
    if (const auto waiting = log_ins_.finish(message->key).answer)
      return waiting(error_reply(403, Error{0, message->text}));
    const bool is_unknown = message->text == "log in again";
    people_.have_none(message->key, error_reply(is_unknown ? 401 : 503, Error{0, message->text}));
    if (is_unknown) end_sessions_with(message->key);
  }

  // He is who he says: his session begins.
  void let_in(const DoorMessage& message) {
    const std::string ticket = message.text.substr(0, kDoorKey);
    const size_t space = std::min(message.text.find(' '), message.text.size() - 1);
    const auto uid =
        text::parse_unsigned(message.text.substr(ticket.size(), space - ticket.size()), UINT32_MAX);
    const auto [waiting, browser] = log_ins_.finish(message.key);
    if (waiting == nullptr || !uid) {
      say({DoorWord::kForget, ticket, {}});
      return;
    }
    Session session;
    session.user = message.text.substr(space + 1);
    session.uid = static_cast<uint32_t>(*uid);
    session.ticket = ticket;
    session.browser = browser.substr(0, kMostAgent);
    make_room(session.uid);
    const std::string user = session.user, cookie = sessions_.begin(std::move(session), std::time(nullptr));
    Reply reply = json_reply(
        {{"attempt", ""}, {"asks", ""}, {"is_secret", false}, {"told", Json::array()}, {"user", user}});
    reply.headers.emplace_back("Set-Cookie", cookie_text(cookie));
    waiting(std::move(reply));
  }

  // Somebody with many sessions loses his own oldest.
  void make_room(uint32_t uid) {
    size_t own = 0;
    const Session* oldest = nullptr;
    for (const auto& [cookie, session] : sessions_.all()) {
      if (session.uid != uid) continue;
      ++own;
      if (oldest == nullptr || session.last_used < oldest->last_used) oldest = &session;
    }
    if (own >= kMostSessionsOfOne) end(std::string(oldest->id), uid);
  }

  std::string ticket_of(uint32_t uid) const {
    for (const auto& [cookie, session] : sessions_.all())
      if (session.uid == uid) return session.ticket;
    return {};
  }

  bool end(const std::string& id, uint32_t uid) {
    std::string ticket;
    for (const auto& [cookie, session] : sessions_.all())
      if (session.id == id && session.uid == uid) ticket = session.ticket;
    if (ticket.empty() || !sessions_.end(id)) return false;
    server_.end_forwards(std::to_string(uid) + ":" + id + ":");
    bool is_used = false, is_here = false;
    for (const auto& [cookie, session] : sessions_.all()) {
      is_used = is_used || session.ticket == ticket;
      is_here = is_here || session.uid == uid;
    }
    if (!is_used) say({DoorWord::kForget, ticket, {}});
    // Pages of other sessions come back by themselves.
    if (is_here)
      server_.end_streams(std::to_string(uid));
    else
      people_.leave(uid);
    return true;
  }

  void end_sessions_with(const std::string& ticket) {
    std::vector<std::pair<std::string, uint32_t>> ended;
    for (const auto& [cookie, session] : sessions_.all())
      if (session.ticket == ticket) ended.emplace_back(session.id, session.uid);
    for (const auto& [id, uid] : ended) end(id, uid);
  }

  std::string cookie_text(const std::string& value) const {
    return cookie_name_ + "=" + value + "; Path=/; HttpOnly; SameSite=Strict" +
           (options_.is_secure ? "; Secure" : "") + (value.empty() ? "; Max-Age=0" : "");
  }

  static std::string name_of(std::string_view host) {
    const std::string_view port = Gate::port_of(host);
    if (port.size() > 1 && text::parse_unsigned(port.substr(1), UINT16_MAX)) host.remove_suffix(port.size());
    return text::lower_case(host);
  }
  bool is_own_host(std::string_view host) const {
    const std::string name = name_of(host);
    return std::find(options_.names.begin(), options_.names.end(), name) != options_.names.end();
  }

  std::string scheme() const { return options_.is_secure ? "https://" : "http://"; }

  // Whether a request is for an application; then whose, and whether it may be.
  HttpServer::Choice choose(const Request& head) {
    const std::string_view host = head.header("host");
    if (options_.apps_name.empty() || name_of(host) != options_.apps_name || !AppVisits::is_app(head.target))
      return {};
    auto admitted = visits_.admit(head, scheme() + std::string(host), std::time(nullptr));
    if (auto* refused = std::get_if<Reply>(&admitted)) return std::move(*refused);
    const auto& visitor = std::get<AppVisits::Visitor>(admitted);
    const uint32_t uid = visitor.session->uid;
    const std::string person = std::to_string(uid) + ":";
    if (server_.forwards(person) >= kMostForwardsOfOne)
      return error_reply(503, Error{0, "too much is asked at once; try again"});
    return Forwarding{visitor.address, person + visitor.session->id + ":",
                      [this, uid, ticket = visitor.session->ticket, key = visitor.key](auto connected) {
                        people_.connect(uid, ticket, key, std::move(connected));
                      }};
  }

  Reply open_app(const Request& request, const Values& values, const Session& session, int64_t now) {
    if (options_.apps_name.empty())
      return error_reply(409,
                         Error{0,
                               "this portal has no name for applications; its administrator gives one with "
                               "--apps-name"});
    if (session.is_program)
      return error_reply(409, Error{0, "an application is opened in a browser that is logged in"});
    const std::string host =
        scheme() + options_.apps_name + std::string(Gate::port_of(request.header("host")));
    return visits_.send_on(host, std::string(cookie_of(request, cookie_name_)), values.text("name"),
                           values.text("start"), now);
  }

  std::optional<Reply> refuse_origin(const Request& request, bool is_page) const {
    const std::string_view host = request.header("host"), origin = request.header("origin"),
                           site = request.header("sec-fetch-site");
    if (!is_own_host(host)) return error_reply(421, Error{0, "this portal has another name"});
    if (is_page) return std::nullopt;
    const bool from_elsewhere = !site.empty() && site != "same-origin" && site != "none";
    const std::string own = scheme() + std::string(host);
    if (from_elsewhere || (!origin.empty() && origin != own))
      return error_reply(403, Error{0, "a page of another site asks for this"});
    return std::nullopt;
  }

  // The session of who asks. A program shows its token, which is the cookie of a session made for it.
  Result<const Session*> admit(const Request& request, int64_t now, unsigned& status) {
    std::string_view token = request.header("x-slurm-user-token");
    if (token.empty() && request.header("authorization").starts_with("Bearer "))
      token = request.header("authorization").substr(7);
    status = 401;
    if (!token.empty()) {
      const Session* session = sessions_.find(token, now);
      const std::string_view name = request.header("x-slurm-user-name");
      if (session == nullptr || !session->is_program)
        return failure("this token is not this portal's, or has ended");
      if (!name.empty() && name != session->user) return failure("this token is another user's");
      return session;
    }
    const Session* session = sessions_.find(cookie_of(request, cookie_name_), now);
    if (session == nullptr || session->is_program) return failure("you are not logged in");
    status = 403;
    if (request.method != "GET" && !are_equal(request.header("x-csrf-token"), session->csrf))
      return failure("the request lacks the token of this session");
    return session;
  }

  std::string address_of(const Request& request) const {
    const std::string_view forwarded = request.header("x-forwarded-for");
    if (!options_.is_behind_proxy || forwarded.empty()) return request.peer;
    const size_t comma = forwarded.rfind(',');
    return text::printable(
        text::trim(comma == std::string_view::npos ? forwarded : forwarded.substr(comma + 1)));
  }

  void take(Request request, HttpServer::Answer answer) {
    if (auto refused = refuse_origin(request, !is_api(request))) return answer(std::move(*refused));
    const Match match = find_route(request);
    if (match.route == nullptr) return answer(reply_without_route(request, match));
    const int64_t now = std::time(nullptr);
    const bool is_json = request.header("content-type").starts_with("application/json");
    if (!request.body.empty() && !is_json)
      return answer(failed_reply(match, 415, Error{0, "the body must be application/json"}));
    if (match.route->who == Who::kAnyone) return answer_anyone(request, match, std::move(answer));
    if (match.route->who == Who::kPublic && options_.is_public)
      return ask_public(std::move(request), std::move(answer));
    unsigned status = 0;
    const auto session = admit(request, now, status);
    if (!session) return answer(failed_reply(match, status, session.error()));
    if (request.method != "GET") answer = noting(request, (*session)->user, std::move(answer));
    if (match.route->answer == nullptr) return answer_own(request, match, **session, now, answer);
    Frame frame{.kind = FrameKind::kAsk};
    frame.request = std::move(request);
    people_.ask((*session)->uid, (*session)->ticket, std::move(frame), std::move(answer));
  }

  // Tells the log what comes of a request that changes something.
  HttpServer::Answer noting(const Request& request, const std::string& user,
                            HttpServer::Answer answer) const {
    Request head{.method = request.method, .segments = request.segments};
    return
        [log = options_.action_log, head = std::move(head), user, answer = std::move(answer)](Reply reply) {
          const std::string what = change_in_words(head, reply);
          if (!what.empty()) log_shared_action(log, {std::time(nullptr), user, what, reply.status});
          answer(std::move(reply));
        };
  }

  void ask_public(Request request, HttpServer::Answer answer) {
    constexpr uint32_t kNoUser = UINT32_MAX - 1;
    Frame frame{.kind = FrameKind::kAsk};
    frame.request = std::move(request);
    people_.ask(kNoUser, std::string(kPublicTicket), std::move(frame), std::move(answer));
  }

  void answer_anyone(const Request& request, const Match& match, HttpServer::Answer answer) {
    Values values;
    if (const Status read = read_parameters(match, request, values); !read)
      return answer(failed_reply(match, 400, read.error()));
    if (match.route->path == "/login/oidc") return lead_to_provider(request, now(), std::move(answer));
    if (match.route->path == "/login/callback") return come_back(request, values, std::move(answer));
    if (match.route->path == "/login") return answer({.status = 303, .headers = {{"Location", "/"}}});
    if (match.route->method == "GET")
      return answer(json_reply({{"by", options_.oidc.issuer.empty() ? "password" : "oidc"}}));
    if (values.has("attempt"))
      return log_ins_.go_on(values.text("attempt"), values.text("answer"), std::move(answer));
    log_ins_.begin(values.text("user"), address_of(request), std::string(request.header("user-agent")),
                   std::move(answer));
  }

  static int64_t now() { return std::time(nullptr); }
  static Reply plain(unsigned status, const std::string& words) {
    return {.status = status, .type = "text/plain; charset=utf-8", .body = text::printable(words) + "\n"};
  }

  // The provider is asked for its addresses when somebody first logs in.
  void lead_to_provider(const Request& request, int64_t time, HttpServer::Answer answer) {
    if (options_.oidc.issuer.empty())
      return answer(plain(404, "People do not log in here by OpenID Connect."));
    const std::string origin = scheme() + std::string(request.header("host"));
    if (provider_) return answer(oidc_visits_.begin(*provider_, origin, time));
    const bool added = fetcher_.add([this, origin, answer](const Result<engine::Engine*>&) {
      const auto found = discover_provider(options_.oidc.issuer);
      server_.post([this, origin, answer, found] {
        if (!found) return answer(plain(503, found.error().message));
        provider_ = *found;
        answer(oidc_visits_.begin(*provider_, origin, now()));
      });
    });
    if (!added) answer(plain(503, "too many log in at once; try again"));
  }

  // Pages hear of it as a redirection, with the cookie of their session.
  void come_back(const Request& request, const Values& values, HttpServer::Answer answer) {
    const auto taken = oidc_visits_.take(request, values, now());
    if (!taken) return answer(plain(403, taken.error().message));
    log_ins_.begin_by_code(
        oidc_answer_bytes(*taken), address_of(request), std::string(request.header("user-agent")),
        [this, answer](Reply reply) {
          if (reply.status != 200) {
            const Json said = Json::parse(reply.body, nullptr, false);
            return answer(plain(reply.status, "The log-in was refused: " +
                                                  said.value("/error/message"_json_pointer, std::string())));
          }
          Reply led{.status = 303, .headers = {{"Location", "/"}}};
          led.headers.insert(led.headers.end(), reply.headers.begin(), reply.headers.end());
          led.headers.emplace_back("Set-Cookie", oidc_visits_.forget_cookie());
          answer(std::move(led));
        });
  }

  void answer_own(const Request& request, const Match& match, const Session& session, int64_t now,
                  const HttpServer::Answer& answer) {
    Values values;
    if (const Status read = read_parameters(match, request, values); !read)
      return answer(failed_reply(match, 400, read.error()));
    const std::string_view path = match.route->path;
    const uint32_t uid = session.uid;
    if (path == "/api/v1/session")
      return answer(
          json_reply({{"user", session.user}, {"csrf", session.csrf}, {"version", kVersion}, {"uid", uid}}));
    if (path == "/api/v1/interactive/{name}/open") return answer(open_app(request, values, session, now));
    if (path == "/api/v1/sessions")
      return answer(match.route->method == "GET" ? list(session) : begin_program(session, now));
    if (path == "/api/v1/sessions/{name}")
      return answer(end(values.text("name"), uid) ? json_reply({{"changed", 1}})
                                                  : error_reply(404, Error{0, "there is no such session"}));
    if (path == "/api/v1/logout") {
      Reply reply = json_reply({{"changed", end(std::string(session.id), uid) ? 1 : 0}});
      reply.headers.emplace_back("Set-Cookie", cookie_text(""));
      return answer(std::move(reply));
    }
    const std::string group = std::to_string(uid);
    if (server_.event_streams(group) >= kMostStreamsOfOne)
      return answer(error_reply(503, Error{0, "too many of your pages are open"}));
    answer({.type = "text/event-stream", .is_event_stream = true, .group = group});
  }

  Reply list(const Session& asks) const {
    Json all = Json::array();
    for (const auto& [cookie, session] : sessions_.all())
      if (session.uid == asks.uid)
        all.push_back({{"id", session.id},
                       {"browser", session.is_program ? "(program)" : text::printable(session.browser)},
                       {"began", session.began},
                       {"last_used", session.last_used},
                       {"is_this", &session == &asks}});
    return json_reply({{"sessions", std::move(all)}});
  }

  Reply begin_program(const Session& asks, int64_t now) {
    Session session;
    session.user = asks.user;
    session.uid = asks.uid;
    session.ticket = asks.ticket;
    session.is_program = true;
    make_room(asks.uid);
    return json_reply({{"token", sessions_.begin(std::move(session), now)}});
  }

  const FrontOptions options_;
  const os::UniqueFd door_;
  const std::string cookie_name_;
  HttpServer server_{bounds()};
  Sessions sessions_{kMostSessions};
  People people_;
  AppVisits visits_;
  OidcVisits oidc_visits_;
  std::optional<OidcProvider> provider_;  // once it has answered
  Workers fetcher_{1, false};
  LogIns log_ins_;
};

}  // namespace

Status run_front(const FrontOptions& options, std::unique_ptr<TlsContext> tls, int listener,
                 os::UniqueFd door) {
  return Front(options, std::move(door)).run(std::move(tls), listener);
}

}  // namespace minke::portal
