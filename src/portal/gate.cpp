#include "portal/gate.h"

#include "portal/user_token.h"
#include "text/number.h"

namespace minke::portal {
namespace {

// "localhost", with any port: the other end of an ssh tunnel may have another one. Any other name is one that
// somebody made lead here.
bool is_own_host(std::string_view host) {
  for (const std::string_view name : {"localhost", "127.0.0.1", "[::1]"}) {
    if (!host.starts_with(name)) continue;
    const std::string_view rest = host.substr(name.size());
    if (rest.empty() || (rest.starts_with(':') && text::parse_unsigned(rest.substr(1), 65535))) return true;
  }
  return false;
}

}  // namespace

bool Gate::is_apps_host(std::string_view host) {
  return is_own_host(host) && host.starts_with("127.0.0.1");
}

std::string_view Gate::port_of(std::string_view host) {
  const size_t colon = host.rfind(':');
  return colon == std::string_view::npos || host.ends_with(']') ? std::string_view() : host.substr(colon);
}

std::optional<Reply> Gate::refuse_origin(const Request& request, bool is_page) const {
  const std::string_view host = request.header("host"), origin = request.header("origin"),
                         site = request.header("sec-fetch-site");
  if (!is_own_host(host))
    return error_reply(421, Error{0, "this portal is localhost; reach it by ssh from another machine"});
  if (is_page) return std::nullopt;
  const bool from_elsewhere = !site.empty() && site != "same-origin" && site != "none";
  if (from_elsewhere || (!origin.empty() && origin != "http://" + std::string(host)))
    return error_reply(403, Error{0, "a page of another site asks for this"});
  return std::nullopt;
}

Result<Gate::Visitor> Gate::admit(const Request& request, const Route& route, int64_t now,
                                  unsigned& status) const {
  Visitor visitor;
  std::string_view token = request.header("x-slurm-user-token");
  if (token.empty() && request.header("authorization").starts_with("Bearer "))
    token = request.header("authorization").substr(7);
  if (route.who == Who::kAnyone) return visitor;
  status = 401;
  if (!token.empty()) {
    const std::string_view name = request.header("x-slurm-user-name");
    if (!sessions_.is_program(token) && !is_own_token(token, now))
      return failure("this token is not this portal's, or has expired");
    if (!name.empty() && name != user_) return failure("this portal is another user's");
    return visitor;
  }
  if (!is_apps_host(request.header("host")))
    visitor.session = sessions_.find(cookie_of(request, sessions_.cookie_name()), now);
  if (visitor.session == nullptr)
    return failure("you are not logged in: open the address that minke portal has printed");
  status = 403;
  if (request.method != "GET" && !are_equal(request.header("x-csrf-token"), visitor.session->csrf))
    return failure("the request lacks the token of this session");
  return visitor;
}

// The key is read with each request that shows such a token: it may have been made meanwhile, or be another
// one.
bool Gate::is_own_token(std::string_view token, int64_t now) const {
  if (token.find('.') == std::string_view::npos) return false;
  const auto key = token_key();
  return key && is_token(*key, token, user_, now);
}

}  // namespace minke::portal
