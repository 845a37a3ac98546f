#include "portal/door.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <map>
#include <vector>

#include "os/become.h"
#include "os/fd.h"
#include "os/log.h"
#include "os/pass_descriptors.h"
#include "os/rate_limit.h"
#include "portal/answering.h"
#include "portal/door_wire.h"
#include "portal/pam_login.h"
#include "portal/sessions.h"

namespace minke::portal {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostLogins = 32, kMostTickets = 4096, kMostWorkers = 2048, kMostWorkersOfOne = 8;
constexpr size_t kMostOutcome = 64 * 1024;
constexpr std::chrono::hours kTicketLasts{24 * 7};
constexpr uint32_t kTriesOfOneName = 10, kTriesOfAll = 300;  // in ten minutes
constexpr std::chrono::minutes kTriesTime{10};
constexpr rlim_t kUsualFiles = 1024;
constexpr int kChannel = 3;  // a child's first socket

// A pair of sockets, both closed when a program is started.
Result<std::pair<os::UniqueFd, os::UniqueFd>> socket_pair(int type) {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) != 0)
    return failure_from_errno("socketpair", errno);
  return std::pair(os::UniqueFd(ends[0]), os::UniqueFd(ends[1]));
}

// In a child: these sockets become its descriptors from 3 on, and nothing else stays open. Then this program
// starts anew, with this environment.
[[noreturn]] void become_program(const std::vector<int>& sockets, const std::vector<std::string>& words,
                                 const std::vector<std::string>& environment) {
  constexpr int kHigh = 900;
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  std::vector<int> kept;
  for (const int one : sockets) kept.push_back(::fcntl(one, F_DUPFD, kHigh));
  for (size_t i = 0; i < kept.size(); ++i) ::dup2(kept[i], kChannel + static_cast<int>(i));
  ::close_range(static_cast<unsigned>(kChannel + static_cast<int>(kept.size())), ~0U, 0);
  std::vector<char*> arguments, variables;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  for (const std::string& one : environment) variables.push_back(const_cast<char*>(one.c_str()));
  arguments.push_back(nullptr);
  variables.push_back(nullptr);
  ::execve("/proc/self/exe", arguments.data(), variables.data());
  ::_exit(127);
}

// What a person's worker finds: his own, and which cluster it is.
std::vector<std::string> environment_of(const Admitted& person) {
  std::vector<std::string> all = {"HOME=" + person.home,
                                  "USER=" + person.name,
                                  "LOGNAME=" + person.name,
                                  "SHELL=" + person.shell,
                                  "PATH=/usr/local/bin:/usr/bin:/bin",
                                  "LANG=C.UTF-8"};
  for (const char* name : {"MINKE_HOME", "MINKE_SHARED", "SLURM_CONF", "TZ"})
    if (const char* value = std::getenv(name)) all.push_back(std::string(name) + "=" + value);
  return all;
}

class Door {
 public:
  Door(const DoorOptions& options, int front)
      : service_(options.service),
        oidc_(options.oidc),
        front_(front),
        tries_(kTriesOfOneName, kTriesTime),
        all_tries_(kTriesOfAll, kTriesTime) {
    if (options.public_uid != 0)
      tickets_[std::string(kPublicTicket)] = {nobody(options.public_uid), Clock::time_point::max()};
  }

  Status run() {
    sigset_t signals;
    ::sigemptyset(&signals);
    for (const int one : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&signals, one);
    ::sigprocmask(SIG_BLOCK, &signals, nullptr);
    const os::UniqueFd told(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!told) return failure_from_errno("signalfd", errno);
    while (true) {
      std::vector<pollfd> all = {{front_, POLLIN, 0}, {told.get(), POLLIN, 0}};
      for (const auto& [pid, login] : logins_) all.push_back({login.outcome.get(), POLLIN, 0});
      if (::poll(all.data(), all.size(), -1) < 0 && errno != EINTR) return failure_from_errno("poll", errno);
      for (size_t i = 2; i < all.size(); ++i)
        if (all[i].revents != 0) hear_outcome(all[i].fd);
      if (all[1].revents != 0 && !hear_signals(told.get())) return {};
      if (all[0].revents != 0) {
        const auto packet = os::receive_packet(front_, 1 + kDoorKey + kMostDoorText);
        if (!packet) return {};  // the front has ended: systemd starts both again
        if (const auto message = read_door_bytes(packet->bytes)) hear(*message);
      }
    }
  }

 private:
  struct Login {
    std::string attempt, name;
    os::UniqueFd outcome;
  };
  struct Ticket {
    Admitted person;
    Clock::time_point until;
  };

  // Who has no rights, no files and no jobs.
  static Admitted nobody(uint32_t uid) {
    return {.uid = uid, .gid = uid, .name = "nobody", .home = "/nonexistent", .shell = "/bin/false"};
  }

  void say(DoorWord word, const std::string& key, const std::string& text, int descriptor = -1) {
    const std::string bytes = door_bytes({word, key, text});
    const std::vector<int> with = descriptor < 0 ? std::vector<int>() : std::vector<int>{descriptor};
    // A front that does not take what it asked for gets less.
    os::send_bytes(front_, bytes, with, MSG_DONTWAIT | MSG_NOSIGNAL);
  }

  void hear(const DoorMessage& message) {
    switch (message.word) {
      case DoorWord::kBegin:
        return begin(message);
      case DoorWord::kCode:
        return begin_by_code(message);
      case DoorWord::kStart:
        return start(message.key);
      case DoorWord::kForget:
        tickets_.erase(message.key);
        return;
      default:
        return;  // the door's own words
    }
  }

  void begin(const DoorMessage& message) {
    const size_t end = std::min(message.text.find('\0'), message.text.size());
    const std::string name = message.text.substr(0, end),
                      address = message.text.substr(std::min(end + 1, message.text.size()));
    if (!is_login_name(name) || !oidc_.issuer.empty())
      return say(DoorWord::kGo, message.key, "the log-in was refused");
    const auto now = Clock::now();
    if (logins_.size() >= kMostLogins || !all_tries_.ask("", now).allowed || !tries_.ask(name, now).allowed) {
      os::log_warning("log-in of " + name + " from " + address + " refused: too many tries");
      return say(DoorWord::kGo, message.key, "too many have tried to log in: try again in some minutes");
    }
    const os::UniqueFd talk = start_login(message.key, name,
                                          {"minke", "portal", "--login-service=" + service_,
                                           "--login-name=" + name, "--login-address=" + printable(address)});
    if (talk) say(DoorWord::kTalk, message.key, "", talk.get());
  }

  // The process asks the provider; what it is to ask with goes there unread.
  void begin_by_code(const DoorMessage& message) {
    const size_t end = message.text.rfind('\0');
    if (oidc_.issuer.empty() || end == std::string::npos)
      return say(DoorWord::kGo, message.key, "the log-in was refused");
    if (logins_.size() >= kMostLogins || !all_tries_.ask("", Clock::now()).allowed) {
      os::log_warning("log-in from " + printable(message.text.substr(end + 1)) + " refused: too many tries");
      return say(DoorWord::kGo, message.key, "too many have tried to log in: try again in some minutes");
    }
    const os::UniqueFd talk = start_login(
        message.key, "somebody from " + printable(message.text.substr(end + 1)) + " by " + oidc_.issuer,
        {"minke", "portal", "--oidc-login", "--oidc-issuer=" + oidc_.issuer, "--oidc-client=" + oidc_.client,
         "--oidc-secret=" + oidc_.secret_file, "--oidc-claim=" + oidc_.claim,
         "--oidc-domain=" + oidc_.domain});
    if (talk) os::send_bytes(talk.get(), message.text.substr(0, end), {}, MSG_DONTWAIT | MSG_NOSIGNAL);
  }

  // Returns the way to the process of a log-in; none: the front has been told why.
  os::UniqueFd start_login(const std::string& attempt, const std::string& name,
                           const std::vector<std::string>& words) {
    auto talk = socket_pair(SOCK_SEQPACKET), outcome = socket_pair(SOCK_SEQPACKET);
    const pid_t child = talk && outcome ? ::fork() : -1;
    if (child < 0) {
      say(DoorWord::kGo, attempt, "the portal cannot start a process");
      return {};
    }
    if (child == 0)
      become_program({talk->second.get(), outcome->second.get()}, words,
                     {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"});
    logins_[child] = {attempt, name, std::move(outcome->first)};
    return std::move(talk->first);
  }

  static std::string printable(const std::string& address) {
    std::string text;
    for (const char c : address) text += c > ' ' && c < '\x7f' ? c : '?';
    return text.substr(0, 64);
  }

  void hear_outcome(int socket) {
    const auto login = std::find_if(logins_.begin(), logins_.end(),
                                    [&](const auto& one) { return one.second.outcome.get() == socket; });
    if (login == logins_.end()) return;
    const auto packet = os::receive_packet(socket, kMostOutcome);
    const Outcome outcome = read_outcome(packet ? packet->bytes : std::string());
    const std::string attempt = login->second.attempt, name = login->second.name;
    logins_.erase(login);
    if (!outcome.admitted) {
      os::log_warning("log-in of " + name + " refused: " + outcome.why);
      return say(DoorWord::kGo, attempt, outcome.why);
    }
    forget_old();
    if (tickets_.size() >= kMostTickets) return say(DoorWord::kGo, attempt, "too many are logged in");
    const std::string ticket = random_word();
    os::log_info("log-in of " + outcome.admitted->name);
    say(DoorWord::kCome, attempt,
        ticket + std::to_string(outcome.admitted->uid) + " " + outcome.admitted->name);
    tickets_[ticket] = {*outcome.admitted, Clock::now() + kTicketLasts};
  }

  void forget_old() {
    std::erase_if(tickets_, [now = Clock::now()](const auto& one) { return one.second.until <= now; });
  }

  void start(const std::string& ticket) {
    forget_old();
    const auto found = tickets_.find(ticket);
    if (found == tickets_.end()) return say(DoorWord::kGo, ticket, "log in again");
    const Admitted& person = found->second.person;
    const auto own = std::count_if(workers_.begin(), workers_.end(),
                                   [&](const auto& one) { return one.second == person.uid; });
    auto channel = socket_pair(SOCK_STREAM);
    if (workers_.size() >= kMostWorkers || static_cast<size_t>(own) >= kMostWorkersOfOne || !channel)
      return say(DoorWord::kGo, ticket, "the portal has no room for another process");
    const pid_t child = ::fork();
    if (child < 0) return say(DoorWord::kGo, ticket, "the portal cannot start a process");
    if (child == 0) {
      ::setsid();
      // He may do with it what he likes: it has no way to this service's log.
      const int nowhere = ::open("/dev/null", O_RDWR);
      for (const int one : {0, 1, 2}) ::dup2(nowhere, one);
      ::umask(022);  // jobs that he submits get what a log-in gives, not this unit's
      rlimit files{};
      if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = std::min<rlim_t>(files.rlim_max, kUsualFiles);
        ::setrlimit(RLIMIT_NOFILE, &files);
      }
      const std::vector<gid_t> groups(person.groups.begin(), person.groups.end());
      if (!os::become(person.uid, person.gid, groups)) ::_exit(127);
      if (::chdir(person.home.c_str()) != 0 && ::chdir("/") != 0) ::_exit(127);
      auto environment = environment_of(person);
      if (ticket == kPublicTicket) environment.emplace_back(std::string(kPublicVariable) + "=1");
      become_program({channel->second.get()}, {"minke", "portal", "--worker"}, environment);
    }
    workers_[child] = person.uid;
    say(DoorWord::kWork, ticket, "", channel->first.get());
  }

  // Returns false if the door is to end.
  bool hear_signals(int told) {
    signalfd_siginfo one{};
    bool goes_on = true;
    while (::read(told, &one, sizeof one) == static_cast<ssize_t>(sizeof one))
      goes_on = goes_on && one.ssi_signo == SIGCHLD;
    int status = 0;
    for (pid_t child; (child = ::waitpid(-1, &status, WNOHANG)) > 0;) workers_.erase(child);
    return goes_on;
  }

  const std::string service_;
  const OidcSettings oidc_;
  const int front_;
  os::RateLimit tries_, all_tries_;
  std::map<pid_t, Login> logins_;
  std::map<std::string, Ticket> tickets_;
  std::map<pid_t, uint32_t> workers_;  // of whom
};

}  // namespace

Status run_door(const DoorOptions& options, int front) {
  return Door(options, front).run();
}

}  // namespace minke::portal
