#include "portal/shared.h"

#include <arpa/inet.h>
#include <grp.h>
#include <netdb.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "os/confine_self.h"
#include "os/fd.h"
#include "os/files.h"
#include "os/log.h"
#include "os/minke_home.h"
#include "portal/action_log.h"
#include "portal/door.h"
#include "portal/front.h"
#include "portal/site.h"
#include "portal/tls.h"
#include "text/number.h"
#include "view/output.h"

namespace minke::portal {
namespace {

constexpr char kAccount[] = "minke-portal";

// Its own account if there is one; else that of all helpers.
os::HelperAccount front_account() {
  const passwd* entry = ::getpwnam(kAccount);
  if (entry == nullptr || entry->pw_uid == 0 || entry->pw_gid == 0) return os::helper_account();
  return {entry->pw_uid, entry->pw_gid};
}

// Of the worker for public pages: not the front's, which it could look into.
uint32_t public_uid() {
  constexpr uint32_t kNobody = 65534;
  return front_account().uid == kNobody ? kNobody - 1 : kNobody;
}

Result<os::UniqueFd> listen_at(const std::string& address, uint16_t port) {
  const std::string where = address + " port " + std::to_string(port);
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_flags = AI_NUMERICHOST | AI_PASSIVE;
  wanted.ai_socktype = SOCK_STREAM;
  if (::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &wanted, &found) != 0)
    return failure(where + ": that is no address, such as 127.0.0.1 or ::", EINVAL);
  os::UniqueFd socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const bool listens = socket && ::bind(socket.get(), found->ai_addr, found->ai_addrlen) == 0 &&
                       ::listen(socket.get(), SOMAXCONN) == 0;
  const int error = errno;
  ::freeaddrinfo(found);
  if (!listens) return failure_from_errno(where, error);
  return socket;
}

std::vector<std::string> names_of(const SharedOptions& options) {
  std::vector<std::string> names;
  for (const std::string& name : options.names) names.push_back(text::lower_case(name));
  if (!names.empty()) return names;
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) == 0) names.push_back(text::lower_case(name));
  names.emplace_back("localhost");
  names.emplace_back("127.0.0.1");
  return names;
}

uint16_t port_of(int listener) {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&own), &size);
  return ntohs(own.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&own)->sin6_port
                                         : reinterpret_cast<sockaddr_in*>(&own)->sin_port);
}

// Without it there are the logs of each.
os::UniqueFd action_log_for(const std::string& operators) {
  constexpr mode_t kForPassage = 0711;
  const std::string home = os::site_home();
  if (::access(home.c_str(), F_OK) != 0 && os::make_directories(home, kForPassage))
    ::chmod(home.c_str(), kForPassage);  // whatever the umask
  const group* entry = operators.empty() ? nullptr : ::getgrnam(operators.c_str());
  os::UniqueFd log =
      open_shared_log(shared_log_file(), entry == nullptr ? static_cast<gid_t>(-1) : entry->gr_gid);
  if (!log) os::log_warning(shared_log_file() + " cannot be written: what people change is not logged");
  return log;
}

// In a child of its own, which keeps nothing of root's but what listens and the way to the door.
[[noreturn]] void become_front(const FrontOptions& options, std::unique_ptr<TlsContext> tls, int listener,
                               os::UniqueFd door) {
  if (!os::confine_self(front_account()) || ::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) {
    os::log_error("the portal cannot give up root's rights; it does not serve");
    ::_exit(1);
  }
  if (const Status ran = run_front(options, std::move(tls), listener, std::move(door)); !ran)
    os::log_error(ran.error().message);
  ::_exit(0);
}

}  // namespace

Status run_shared_portal(const SharedOptions& options) {
  if (::geteuid() != 0)
    return failure(
        "a shared portal is started by root, as only root may let others log in; minke portal "
        "without --shared is for yourself",
        EPERM);
  if (!options.oidc.issuer.empty())
    if (const Status checked = check_oidc(options.oidc); !checked) return checked;
  const bool has_tls = !options.certificate.empty() || !options.key.empty();
  const bool is_loopback = options.address.starts_with("127.") || options.address == "::1";
  if (options.is_plain && has_tls) return failure("--plain and --certificate exclude each other", EINVAL);
  if (!has_tls && !is_loopback)
    return failure(
        "passwords would cross the network: without --certificate and --key it serves on loopback alone, to "
        "a proxy",
        EINVAL);
  std::unique_ptr<TlsContext> tls;
  if (has_tls) {
    auto loaded = TlsContext::load(options.certificate, options.key);
    if (!loaded) return failure(loaded.error());
    tls = std::move(*loaded);
  }
  ::signal(SIGPIPE, SIG_IGN);
  os::raise_descriptor_limit();
  auto listener = listen_at(options.address, options.port);
  if (!listener) return failure(listener.error());
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return failure_from_errno("socketpair", errno);
  os::UniqueFd door(ends[0]), front(ends[1]);
  std::vector<std::string> names = names_of(options);
  const std::string apps_name = text::lower_case(options.apps_name);
  if (!options.names.empty() && std::find(names.begin(), names.end(), apps_name) != names.end())
    return failure(
        "--apps-name must be another name than those of --name: it keeps applications from the portal's "
        "cookies",
        EINVAL);
  if (!apps_name.empty()) std::erase(names, apps_name);
  const config::PortalSettings site = site_settings();
  const bool is_public = site.is_public;
  const os::UniqueFd log = action_log_for(site.operators);
  const FrontOptions of_front{.names = std::move(names),
                              .apps_name = apps_name,
                              .is_public = is_public,
                              .is_secure = !options.is_plain,
                              .oidc = options.oidc,
                              .is_behind_proxy = !options.is_plain && !has_tls,
                              .action_log = log.get()};
  const pid_t child = ::fork();
  if (child < 0) return failure_from_errno("fork", errno);
  if (child == 0) {
    door.reset();
    become_front(of_front, std::move(tls), listener->get(), std::move(front));
  }
  front.reset();
  tls.reset();
  view::write_out("The portal serves at " + options.address + " port " +
                  std::to_string(port_of(listener->get())) + ".\n");
  listener->reset();
  return run_door(
      {.service = options.service, .oidc = options.oidc, .public_uid = is_public ? public_uid() : 0},
      door.get());
}

}  // namespace minke::portal
