#include "portal/portal.h"

#include <malloc.h>
#include <spawn.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <utility>

#include "engine/engine.h"
#include "os/files.h"
#include "portal/answering.h"
#include "portal/app_connection.h"
#include "portal/app_visits.h"
#include "portal/assets.h"
#include "portal/changes.h"
#include "portal/desk.h"
#include "portal/gate.h"
#include "portal/http_server.h"
#include "portal/own_pages.h"
#include "portal/routes.h"
#include "portal/sessions.h"
#include "portal/workers.h"
#include "view/output.h"
#include "view/text.h"

namespace minke::portal {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kWorkers = 4, kMostForwards = 256;
constexpr std::chrono::seconds kBetweenLooks{31};

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "HOST";
}

class Portal {
 public:
  Portal(const PortalOptions& options, std::string user, uid_t uid)
      : options_(options),
        desk_(user, uid),
        gate_(sessions_, desk_.user()),
        own_pages_(sessions_, user, uid),
        visits_(sessions_, false),
        changes_(desk_.queue(), [this](std::string name, std::string data) {
          server_.publish(std::move(name), std::move(data));
        }) {}

  Status run() {
    const auto port = listen();
    if (!port) return failure(port.error());
    port_ = *port;
    if (!options_.token_file.empty()) {
      const Status kept = os::replace_file(options_.token_file, sessions_.program_token() + "\n", 0600);
      if (!kept) return kept;
    }
    tell_address();
    if (options_.open_browser) open_browser();
    last_used_ = Clock::now();
    look_for_use();
    server_.on_streams_changed([this](const std::string&) {
      last_used_ = Clock::now();
      changes_.set_listeners(server_.event_streams());
      look_after_memory();
    });
    server_.forward_by([this](const Request& head) { return choose(head); });
    server_.run(
        [this](Request request, HttpServer::Answer answer) { take(std::move(request), std::move(answer)); });
    if (!options_.token_file.empty()) ::unlink(options_.token_file.c_str());
    return {};
  }

 private:
  Result<uint16_t> listen() {
    if (options_.port) return server_.listen(*options_.port);
    // The same one each time, so that a line in ~/.ssh/config stays true.
    constexpr uint16_t kFirst = 20000, kPorts = 10000;
    auto usual = server_.listen(static_cast<uint16_t>(kFirst + desk_.uid() % kPorts));
    if (usual) return usual;
    return server_.listen(0);
  }

  std::string address() const {
    return "http://localhost:" + std::to_string(port_) + "/login?token=" + sessions_.login_token();
  }

  void tell_address() const {
    const std::string port = std::to_string(port_);
    std::string text = "The cluster in your browser, once for each address:\n\n    " + address() +
                       "\n\nFrom your own computer, first:\n\n    ssh -N -L " + port + ":localhost:" + port +
                       " " + desk_.user() + "@" + host_name() + "\n\nIt ends when nobody has used it for " +
                       std::to_string(options_.unused.count()) + " minutes, or with Ctrl+C.\n";
    if (!has_front_end())
      text += "This build has no pages, only the API: Node was not there when it was built.\n";
    view::write_out(text);
  }

  void open_browser() const {
    std::string program = "xdg-open", where = address();
    char* arguments[] = {program.data(), where.data(), nullptr};
    pid_t child = 0;
    if (const int error = ::posix_spawnp(&child, program.c_str(), nullptr, nullptr, arguments, ::environ);
        error != 0)
      view::print_error("minke portal", failure_from_errno("xdg-open", error).value().message);
  }

  // Ends it when nobody has used it for long; gives memory back earlier.
  void look_for_use() {
    const auto unused = Clock::now() - last_used_;
    const bool is_used = server_.event_streams() > 0 || server_.forwards("") > 0;
    if (!is_used && unused >= options_.unused) return server_.stop();
    const auto left = options_.unused - (is_used ? Clock::duration::zero() : unused);
    server_.after(std::chrono::ceil<std::chrono::milliseconds>(left), [this] { look_for_use(); });
  }
  void look_after_memory() {
    if (std::exchange(looks_after_memory_, true)) return;
    server_.after(kBetweenLooks, [this] {
      looks_after_memory_ = false;
      if (desk_.queue().forget_unused()) return look_after_memory();
      ::malloc_trim(0);
    });
  }

  // What comes to the host of applications: theirs, or the API for programs, which show no cookies.
  HttpServer::Choice choose(const Request& head) {
    const std::string_view host = head.header("host");
    if (!Gate::is_apps_host(host)) return {};
    last_used_ = Clock::now();
    if (!AppVisits::is_app(head.target)) {
      const bool is_for_programs = head.target.starts_with("/api/") || head.target.starts_with("/slurm") ||
                                   head.target.starts_with("/openapi/");
      if (is_for_programs || head.method != "GET" || !is_app_target("", head.target)) return {};
      const std::string portal = "http://localhost" + std::string(Gate::port_of(host));
      return Reply{.status = 303, .headers = {{"Location", portal + head.target}}};
    }
    auto admitted = visits_.admit(head, "http://" + std::string(host), std::time(nullptr));
    if (auto* refused = std::get_if<Reply>(&admitted)) return std::move(*refused);
    const auto& visitor = std::get<AppVisits::Visitor>(admitted);
    if (server_.forwards("") >= kMostForwards)
      return error_reply(503, Error{0, "too much is asked at once; try again"});
    return Forwarding{visitor.address, visitor.session->id + ":",
                      [this, key = visitor.key](auto connected) { connect(key, std::move(connected)); }};
  }

  void connect(const std::string& key, std::function<void(Result<AppConnection>)> connected) {
    const bool added = connectors_.add([this, key, connected](const Result<engine::Engine*>&) {
      const auto made = std::make_shared<Result<AppConnection>>(connect_to_app(key));
      server_.post([made, connected] { connected(std::move(*made)); });
    });
    if (!added) connected(failure("too much is asked at once; try again", ECONNREFUSED));
  }

  void take(Request request, HttpServer::Answer answer) {
    last_used_ = Clock::now();
    const bool is_page = !is_api(request);
    if (auto refused = gate_.refuse_origin(request, is_page)) return answer(std::move(*refused));
    Match match = find_route(request);
    if (match.route == nullptr) return answer(reply_without_route(request, match));
    const int64_t now = std::time(nullptr);
    unsigned status = 0;
    const auto visitor = gate_.admit(request, *match.route, now, status);
    if (!visitor) return answer(failed_reply(match, status, visitor.error()));
    const bool is_json = request.header("content-type").starts_with("application/json");
    if (!request.body.empty() && !is_json)
      return answer(failed_reply(match, 415, Error{0, "the body must be application/json"}));
    if (match.route->answer == nullptr) return answer_own(request, match, *visitor, now, answer);
    pass_on(std::move(request), std::move(match), std::move(answer));
  }

  // Without an engine: it answers from what the portal itself knows.
  void answer_own(const Request& request, const Match& match, const Gate::Visitor& visitor, int64_t now,
                  const HttpServer::Answer& answer) {
    Values values;
    if (const Status read = read_parameters(match, request, values); !read)
      return answer(failed_reply(match, 400, read.error()));
    if (match.route->path == "/api/v1/interactive/{name}/open") {
      if (visitor.session == nullptr)
        return answer(error_reply(409, Error{0, "an application is opened in a browser that is logged in"}));
      const std::string host = "http://127.0.0.1" + std::string(Gate::port_of(request.header("host")));
      return answer(visits_.send_on(host, std::string(cookie_of(request, sessions_.cookie_name())),
                                    values.text("name"), values.text("start"), now));
    }
    const std::string token = sessions_.login_token();
    std::string ends = values.text("name");
    if (match.route->path == "/api/v1/logout" && visitor.session != nullptr) ends = visitor.session->id;
    answer(own_pages_.answer(request, match, values, visitor, now));
    if (match.route->method != "GET" && !ends.empty()) server_.end_forwards(ends + ":");
    if (sessions_.login_token() != token)
      view::write_out("\nA browser has logged in. The address for another one:\n\n    " + address() + "\n");
  }

  void pass_on(Request request, Match match, HttpServer::Answer answer) {
    look_after_memory();
    // Work is copied; what it holds is not.
    const auto asked = std::make_shared<std::pair<Request, Match>>(std::move(request), std::move(match));
    const bool added = workers_.add([this, asked, answer](const Result<engine::Engine*>& cluster) {
      answer(reply_to(asked->first, asked->second, cluster, desk_));
    });
    if (!added) answer(failed_reply(asked->second, 503, Error{0, "too much is asked at once; try again"}));
  }

  const PortalOptions options_;
  uint16_t port_ = 0;
  HttpServer server_;
  Sessions sessions_;
  Desk desk_;
  Gate gate_;
  OwnPages own_pages_;
  AppVisits visits_;
  Clock::time_point last_used_;
  bool looks_after_memory_ = false;
  Changes changes_;  // tells the server
  Workers workers_{kWorkers};
  Workers connectors_{kWorkers, false};
};

}  // namespace

Status run_portal(const PortalOptions& options) {
  const uid_t uid = ::getuid();
  Portal portal(options, view::user_name_of(uid), uid);
  return portal.run();
}

}  // namespace minke::portal
