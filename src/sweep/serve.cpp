#include "sweep/serve.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <ctime>
#include <list>
#include <nlohmann/json.hpp>
#include <set>

#include "os/fd.h"
#include "os/files.h"
#include "sweep/trial_command.h"

namespace minke::sweep {

namespace {

using Json = nlohmann::ordered_json;
using End = search::Search::End;

constexpr size_t kMaxConnections = 256;
constexpr size_t kMaxLine = size_t{1} << 16;
constexpr int kPause = 100;  // ms

struct Connection {
  os::UniqueFd socket;
  std::string unread;
  std::set<uint64_t> trials;  // that it trains
};

std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}
Json wrong(const std::string& what) {
  return {{"error", what}};
}

class Desk {
 public:
  explicit Desk(Record& record) : record_(record) {
    for (const auto& [number, trial] : record.search().trials()) {
      if (trial.fate == search::Fate::kRuns) orphans_.insert(number);
    }
  }

  // An error: the journal cannot be written, and nobody should go on.
  Result<Json> answer(const std::string& line, Connection& asker) {
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_object() || json.size() != 1 || !json.begin().value().is_object())
      return wrong("a line is one object: {\"ask\": {}}, report, tell or best");
    const std::string& verb = json.begin().key();
    const Json& given = json.begin().value();
    if (verb == "ask") return ask(asker);
    if (verb == "best") return best();
    if (verb != "report" && verb != "tell")
      return wrong("there is no " + verb + "; there are ask, report, tell, best");
    const auto trial = given.find("trial");
    if (trial == given.end() || !trial->is_number_unsigned()) return wrong(verb + " needs a trial");
    const auto found = record_.search().trials().find(trial->get<uint64_t>());
    if (found == record_.search().trials().end() || found->second.fate != search::Fate::kRuns)
      return wrong("trial " + trial->dump() + " is not being trained");
    return verb == "tell" ? tell(found->first, given, asker) : report(found->first, given);
  }

  void lost(const Connection& connection) {
    for (const uint64_t trial : connection.trials) {
      if (record_.search().trials().at(trial).fate == search::Fate::kRuns) orphans_.insert(trial);
    }
  }

 private:
  Json shown(const search::Trial& trial) const {
    Json json = {{"trial", trial.number}};
    json["parameters"] = Json::parse(trial_json(record_.file(), trial.point, trial.budget), nullptr, false);
    if (trial.budget > 0) json["budget"] = trial.budget;
    json["directory"] = record_.trial_directory(trial.number);
    return json;
  }

  Result<Json> ask(Connection& asker) {
    if (!orphans_.empty()) {
      const uint64_t number = *orphans_.begin();
      orphans_.erase(number);
      asker.trials.insert(number);
      return shown(record_.search().trials().at(number));
    }
    const auto next = record_.search().next();
    if (!next && record_.search().running() > 0) return Json{{"wait", true}};
    if (!next) return Json{{"done", true}};
    if (const Status made = os::make_directories(record_.trial_directory(next->trial), 0700); !made)
      return failure(made.error());
    if (const Status asked = record_.ask(*next, std::time(nullptr)); !asked) return failure(asked.error());
    asker.trials.insert(next->trial);
    Json json = shown(record_.search().trials().at(next->trial));
    if (next->source) json["source"] = *next->source;
    return json;
  }

  Result<Json> report(uint64_t trial, const Json& given) {
    const auto count = given.find("count"), value = given.find("value");
    if (count == given.end() || !count->is_number_unsigned() || value == given.end() || !value->is_number())
      return wrong("report needs count and value");
    record_.search().report(trial, count->get<uint64_t>(), value->get<double>(), value->get<double>());
    return Json{{"stop", record_.search().should_stop(trial)}};
  }

  Result<Json> tell(uint64_t trial, const Json& given, Connection& asker) {
    const auto value = given.find("value"), failed = given.find("failed");
    std::optional<double> number;
    if (value != given.end() && value->is_number()) number = value->get<double>();
    const bool stopped = given.contains("stopped") && given["stopped"] == true;
    const bool fails = failed != given.end() || !number || !std::isfinite(*number);
    std::string reason;
    if (fails)
      reason = failed != given.end() && failed->is_string() ? failed->get<std::string>()
                                                            : "its value is no finite number";
    const Status told = record_.tell(trial,
                                     fails     ? End::kFailed
                                     : stopped ? End::kStopped
                                               : End::kComplete,
                                     number, reason.substr(0, 1000), std::time(nullptr));
    if (!told) return failure(told.error());
    asker.trials.erase(trial);
    orphans_.erase(trial);  // whoever asked has come back by another connection
    return Json{{"ok", true}};
  }

  Result<Json> best() const {
    const search::Trial* found = record_.search().best();
    if (found == nullptr) return Json::object();
    Json json = shown(*found);
    json["value"] = *found->value;
    return json;
  }

  Record& record_;
  std::set<uint64_t> orphans_;  // trials whose connection is gone
};

Result<os::UniqueFd> listening(const std::string& directory) {
  // Names of sockets are short: the directory is named by its descriptor.
  const os::UniqueFd place(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  os::UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!place || !socket) return failure_from_errno(directory, errno);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/socket", place.get());
  ::unlinkat(place.get(), "socket", 0);
  const mode_t mask = ::umask(0077);
  const int bound = ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  const int problem = errno;
  ::umask(mask);
  if (bound != 0) return failure_from_errno(directory + "/socket", problem);
  if (::listen(socket.get(), 64) != 0) return failure_from_errno(directory + "/socket", errno);
  return socket;
}

bool is_ours(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == ::getuid();
}

// Whether the connection goes on.
Result<bool> serve_one(Connection& connection, Desk& desk) {
  char buffer[4096];
  const ssize_t got = ::recv(connection.socket.get(), buffer, sizeof buffer, 0);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  if (got <= 0) return false;
  connection.unread.append(buffer, static_cast<size_t>(got));
  size_t at = 0;
  for (size_t end; (end = connection.unread.find('\n', at)) != std::string::npos; at = end + 1) {
    const auto answer = desk.answer(connection.unread.substr(at, end - at), connection);
    if (!answer) return failure(answer.error());
    const std::string line = dumped(*answer);
    // An answer is short; who does not read it has lost the connection.
    if (::send(connection.socket.get(), line.data(), line.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(line.size()))
      return false;
  }
  connection.unread.erase(0, at);
  return connection.unread.size() <= kMaxLine;
}

}  // namespace

Status serve(Record& record, const std::function<void()>& ready, const std::function<bool()>& interrupted) {
  const auto door = listening(record.directory());
  if (!door) return failure(door.error());
  Desk desk(record);
  std::list<Connection> connections;
  ready();
  while (!interrupted()) {
    std::vector<pollfd> watched = {{door->get(), POLLIN, 0}};
    for (const Connection& one : connections) watched.push_back({one.socket.get(), POLLIN, 0});
    if (::poll(watched.data(), watched.size(), kPause) <= 0) continue;
    size_t place = 1;
    for (auto one = connections.begin(); one != connections.end(); ++place) {
      Result<bool> goes_on = true;
      if (watched[place].revents != 0) goes_on = serve_one(*one, desk);
      if (!goes_on) return failure(goes_on.error());
      if (!*goes_on) desk.lost(*one);
      one = *goes_on ? std::next(one) : connections.erase(one);
    }
    if ((watched[0].revents & POLLIN) == 0) continue;
    os::UniqueFd socket(::accept4(door->get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket || !is_ours(socket.get()) || connections.size() >= kMaxConnections) continue;
    connections.emplace_back().socket = std::move(socket);
  }
  ::unlink((record.directory() + "/socket").c_str());
  return {};
}

}  // namespace minke::sweep
