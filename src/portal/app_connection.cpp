#include "portal/app_connection.h"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "os/files.h"
#include "portal/app_handshake.h"

namespace minke::portal {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kPatience{5};
constexpr size_t kMostFile = 64 * 1024;

tl::unexpected<Error> not_there() {
  return failure("the application is not ready, or has ended", ECONNREFUSED);
}

bool wait_for(int socket, short events, Clock::time_point deadline) {
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd ready{socket, events, 0};
    const int got = ::poll(&ready, 1, static_cast<int>(left));
    if (got > 0) return true;
    if (got == 0 || errno != EINTR) return false;
  }
}

bool send_all(int socket, std::string_view bytes, Clock::time_point deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0)
      bytes.remove_prefix(static_cast<size_t>(sent));
    else if (errno == EAGAIN ? !wait_for(socket, POLLOUT, deadline) : errno != EINTR)
      return false;
  }
  return true;
}

bool receive_all(int socket, std::string& bytes, size_t size, Clock::time_point deadline) {
  bytes.resize(size);
  for (size_t at = 0; at < size;) {
    const ssize_t got = ::recv(socket, bytes.data() + at, size - at, 0);
    if (got > 0)
      at += static_cast<size_t>(got);
    else if (got == 0 || (errno == EAGAIN ? !wait_for(socket, POLLIN, deadline) : errno != EINTR))
      return false;
  }
  return true;
}

os::UniqueFd connected(const addrinfo& where, Clock::time_point deadline) {
  os::UniqueFd socket(::socket(where.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return {};
  if (::connect(socket.get(), where.ai_addr, where.ai_addrlen) == 0) return socket;
  int error = errno;
  socklen_t size = sizeof error;
  if (error != EINPROGRESS || !wait_for(socket.get(), POLLOUT, deadline) ||
      ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0)
    return {};
  return socket;
}

// A name is an address of its own on the node, and often 127.0.1.1 to itself: there the gate listens on
// loopback.
Result<os::UniqueFd> reach(const AppGateFile& gate, Clock::time_point deadline) {
  char own[256] = {};
  ::gethostname(own, sizeof own - 1);
  const std::string host = gate.host == own ? "127.0.0.1" : gate.host;
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_socktype = SOCK_STREAM;
  if (::getaddrinfo(host.c_str(), std::to_string(gate.port).c_str(), &wanted, &found) != 0)
    return failure("the name of the application's node, " + gate.host + ", is not known here", ECONNREFUSED);
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, ::freeaddrinfo);
  for (const addrinfo* one = all.get(); one != nullptr; one = one->ai_next)
    if (auto socket = connected(*one, deadline)) return socket;
  return not_there();
}

Status greet(int socket, std::string_view secret, Clock::time_point deadline) {
  const std::string hello = app_hello();
  std::string answer;
  if (!send_all(socket, hello, deadline) || !receive_all(socket, answer, kAppAnswerBytes, deadline))
    return not_there();
  const std::string proof = app_proof(secret, hello, answer);
  if (proof.empty() || !send_all(socket, proof, deadline)) return not_there();
  return {};
}

}  // namespace

bool is_app_key(std::string_view key) {
  return key.size() == kAppKey && key.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Result<std::string> app_sessions_directory() {
  if (const char* data = std::getenv("XDG_DATA_HOME"); data != nullptr && data[0] == '/')
    return std::string(data) + "/minke/apps";
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/')
    return std::string(home) + "/.local/share/minke/apps";
  return failure("there is no home for sessions: HOME is not set", ENOENT);
}

Result<AppGateFile> read_app_gate(const std::string& directory) {
  const auto text = os::read_file(directory + "/gate.json", kMostFile);
  if (!text) return not_there();
  const auto value = nlohmann::json::parse(*text, nullptr, false);
  AppGateFile gate;
  if (!value.is_object() || !value.contains("host") || !value["host"].is_string() ||
      !value.contains("secret") || !value["secret"].is_string() || !value.contains("port") ||
      !value["port"].is_number_unsigned() || value["port"].get<uint64_t>() > UINT16_MAX)
    return not_there();
  gate.host = value["host"].get<std::string>();
  gate.secret = value["secret"].get<std::string>();
  gate.port = value["port"].get<uint16_t>();
  if (gate.secret.empty() || gate.port == 0) return not_there();
  return gate;
}

Result<AppConnection> connect_to_app(const std::string& key) {
  if (!is_app_key(key)) return failure("there is no such session", ENOENT);
  auto directory = app_sessions_directory();
  if (!directory) return failure(directory.error());
  *directory += "/" + key;
  const auto text = os::read_file(*directory + "/session.json", kMostFile);
  if (!text) return failure("there is no such session", ENOENT);
  const auto gate = read_app_gate(*directory);
  if (!gate) return failure(gate.error());
  const auto deadline = Clock::now() + kPatience;
  auto socket = reach(*gate, deadline);
  if (!socket) return failure(socket.error());
  if (const Status greeted = greet(socket->get(), gate->secret, deadline); !greeted)
    return failure(greeted.error());
  AppConnection connection;
  connection.socket = std::move(*socket);
  const auto session = nlohmann::json::parse(*text, nullptr, false);
  if (!session.is_object()) return connection;
  connection.strips_address = session.contains("strips_address") && session["strips_address"] == true;
  if (session.contains("header") && session["header"].is_string()) {
    connection.header = session["header"].get<std::string>();
    if (const size_t at = connection.header.find("{secret}"); at != std::string::npos)
      connection.header.replace(at, 8, gate->secret);
  }
  return connection;
}

}  // namespace minke::portal
