#include "os/helper_starter.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "os/fd.h"
#include "os/pass_descriptors.h"

namespace minke::os {

namespace {

constexpr size_t kMostBytes = size_t{128} << 10;  // of a request: a socket takes it in one piece
constexpr time_t kPatienceSeconds = 10;

std::string& starter() {
  static std::string path;
  return path;
}

std::optional<sockaddr_un> address_of(std::string_view path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) return std::nullopt;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

void set_patience(int socket) {
  const timeval patience{kPatienceSeconds, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

std::string packed(const DetachedProgram& program) {
  std::string text = std::to_string(program.argv.size()) + '\0' + program.log_path + '\0';
  for (const auto* words : {&program.argv, &program.environment}) {
    for (const std::string& word : *words) text += word + '\0';
  }
  return text;
}

std::optional<DetachedProgram> unpacked(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const size_t end = text.find('\0');
    if (end == std::string_view::npos) return std::nullopt;
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  constexpr size_t kBefore = 2;
  if (words.size() < kBefore) return std::nullopt;
  const size_t count = std::strtoul(words[0].c_str(), nullptr, 10);
  if (count == 0 || count > words.size() - kBefore) return std::nullopt;
  const auto arguments = words.begin() + kBefore, variables = arguments + static_cast<ptrdiff_t>(count);
  return DetachedProgram{{arguments, variables}, {variables, words.end()}, words[1]};
}

bool send_request(int socket, const std::string& text, const DetachedProgram& program) {
  const int descriptors[] = {program.output, program.input};
  const size_t count = program.input < 0 ? 1 : 2;
  return send_bytes(socket, text, std::span(descriptors, count), 0) == static_cast<ssize_t>(text.size());
}

// Returns the answer to the caller.
std::string serve(int socket) {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 || peer.uid != ::geteuid())
    return "it starts nothing for others";
  const auto request = receive_packet(socket, kMostBytes);
  auto program = request ? unpacked(request->bytes) : std::nullopt;
  if (!program || request->descriptors.empty()) return "that is no request";
  program->output = request->descriptors[0].get();
  program->input = request->descriptors.size() > 1 ? request->descriptors[1].get() : -1;
  const Status started = spawn_detached(*program);
  return started ? "" : started.error().message;
}

// sd_notify(3): the units that come after this one wait for it.
void tell_systemd() {
  const char* path = std::getenv("NOTIFY_SOCKET");
  auto address = path == nullptr ? std::nullopt : address_of(path);
  const UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!address || !socket) return;
  const size_t length = offsetof(sockaddr_un, sun_path) + std::strlen(path);
  if (address->sun_path[0] == '@') address->sun_path[0] = '\0';
  constexpr std::string_view kReady = "READY=1";
  (void)!::sendto(socket.get(), kReady.data(), kReady.size(), MSG_NOSIGNAL,
                  reinterpret_cast<const sockaddr*>(&*address), static_cast<socklen_t>(length));
  ::unsetenv("NOTIFY_SOCKET");
}

int fail(const std::string& what) {
  std::fprintf(stderr, "minke helper-starter: %s: %s\n", what.c_str(), std::strerror(errno));
  return 1;
}

}  // namespace

std::string helper_starter_path(const std::string& home) {
  return home + "/helpers.sock";
}

void use_helper_starter(std::string path) {
  starter() = std::move(path);
}

bool has_helper_starter() {
  return !starter().empty();
}

Status ask_helper_starter(const DetachedProgram& program) {
  const auto address = address_of(starter());
  const UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!address || !socket) return failure_from_errno(starter(), address ? errno : ENAMETOOLONG);
  set_patience(socket.get());
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0)
    return failure_from_errno(starter() + " (is minke-helpers.service running?)", errno);
  if (!send_request(socket.get(), packed(program), program)) return failure_from_errno(starter(), errno);
  std::array<char, 1024> answer;
  const ssize_t got = ::recv(socket.get(), answer.data(), answer.size(), 0);
  if (got < 1) return failure_from_errno(starter(), got < 0 ? errno : ECONNRESET);
  if (got == 1) return {};
  return failure(std::string(answer.data() + 1, static_cast<size_t>(got) - 1));
}

int run_helper_starter(const std::string& home) {
  std::signal(SIGPIPE, SIG_IGN);
  const std::string path = helper_starter_path(home);
  const auto address = address_of(path);
  const UniqueFd listening(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!address || !listening) return fail(path);
  (void)::unlink(path.c_str());
  ::umask(0177);
  if (::bind(listening.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0 ||
      ::listen(listening.get(), 128) != 0)
    return fail(path);
  ::umask(0077);
  tell_systemd();
  for (;;) {
    const UniqueFd socket(::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      return fail(path);
    }
    set_patience(socket.get());
    // Never empty: an empty packet looks like the end.
    const std::string answer = "." + serve(socket.get());
    (void)!::send(socket.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
  }
}

}  // namespace minke::os
