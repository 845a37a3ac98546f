#include "portal/people.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "os/pass_descriptors.h"

namespace minke::portal {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostFrame = 256 * 1024 * 1024;  // of a worker's: all jobs of a large cluster
constexpr size_t kMostWaiting = 64, kMostConnecting = 128, kMostUnsent = 64 * 1024 * 1024;
constexpr std::chrono::minutes kUnused{10};
constexpr std::chrono::seconds kBetweenLooks{61};

Reply away() {
  return error_reply(503, Error{0, "the process that serves you has ended; try again"});
}

}  // namespace

void People::ask(uint32_t uid, const std::string& ticket, Frame frame, HttpServer::Answer answer) {
  Person& person = people_[uid];
  if (person.waiting.size() >= kMostWaiting || person.unsent_bytes > kMostUnsent)
    return answer(error_reply(503, Error{0, "too much is asked at once; try again"}));
  frame.number = ++last_number_;
  person.waiting[frame.number] = std::move(answer);
  send(uid, person, ticket, frame);
}

void People::connect(uint32_t uid, const std::string& ticket, const std::string& key,
                     std::function<void(Result<AppConnection>)> connected) {
  Person& person = people_[uid];
  if (person.connecting.size() >= kMostConnecting || person.unsent_bytes > kMostUnsent)
    return connected(failure("too much is asked at once; try again", ECONNREFUSED));
  Frame frame{.kind = FrameKind::kConnect, .number = ++last_number_, .name = key};
  person.connecting[frame.number] = std::move(connected);
  send(uid, person, ticket, frame);
}

void People::set_listeners(uint32_t uid, const std::string& ticket, size_t count) {
  const auto found = people_.find(uid);
  if (count == 0 && (found == people_.end() || !found->second.channel)) return;
  Person& person = people_[uid];
  if (std::exchange(person.listeners, count) == count) return;
  send(uid, person, ticket, {.kind = FrameKind::kListeners, .number = count});
}

void People::send(uint32_t uid, Person& person, const std::string& ticket, const Frame& frame) {
  person.last_used = Clock::now();
  person.unsent.push_back(frame_bytes(frame));
  person.unsent_bytes += person.unsent.back().size();
  if (person.channel) return write(uid);
  if (!person.starting.empty()) return;
  person.starting = ticket;
  start_(ticket);
}

void People::have_worker(const std::string& ticket, os::UniqueFd channel) {
  for (auto& [uid, person] : people_) {
    if (person.starting != ticket) continue;
    person.starting.clear();
    person.channel = std::move(channel);
    person.frames = std::make_unique<FrameReader>(kMostFrame);
    person.readable = server_.on_readable(person.channel.get(), [this, uid = uid] { read(uid); });
    if (!std::exchange(looks_, true)) server_.after(kBetweenLooks, [this] { look_for_use(); });
    return write(uid);
  }
}

void People::have_none(const std::string& ticket, const Reply& why) {
  for (auto& [uid, person] : people_) {
    if (person.starting != ticket) continue;
    return lose(uid, why);
  }
}

void People::leave(uint32_t uid) {
  if (people_.contains(uid)) lose(uid, error_reply(401, Error{0, "you are not logged in"}));
}

void People::write(uint32_t uid) {
  const auto found = people_.find(uid);
  if (found == people_.end()) return;
  Person& person = found->second;
  while (!person.unsent.empty()) {
    const std::string& first = person.unsent.front();
    const ssize_t sent = ::send(person.channel.get(), first.data() + person.sent_of_first,
                                first.size() - person.sent_of_first, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) {
      if (person.writable == nullptr)
        person.writable = server_.on_writable(person.channel.get(), [this, uid] { write(uid); });
      return;
    }
    if (sent < 0) return lose(uid, away());
    person.sent_of_first += static_cast<size_t>(sent);
    if (person.sent_of_first < first.size()) continue;
    person.unsent_bytes -= first.size();
    person.sent_of_first = 0;
    person.unsent.pop_front();
  }
  person.writable.reset();
}

void People::read(uint32_t uid) {
  const auto found = people_.find(uid);
  if (found == people_.end()) return;
  static thread_local std::string buffer(256 * 1024, '\0');
  Person& own = found->second;
  const ssize_t bytes =
      os::receive_bytes(own.channel.get(), buffer.data(), buffer.size(), own.sockets, MSG_DONTWAIT);
  if (bytes < 0 && (errno == EINTR || errno == EAGAIN)) return;
  // One who sends sockets that nobody has asked for is no worker of ours.
  if (bytes <= 0 || own.sockets.size() > own.connecting.size()) return lose(uid, away());
  FrameReader& frames = *found->second.frames;
  frames.add(std::string_view(buffer).substr(0, static_cast<size_t>(bytes)));
  while (auto frame = frames.next()) take(uid, std::move(*frame));
  if (frames.has_failed()) lose(uid, away());
}

void People::take(uint32_t uid, Frame frame) {
  Person& person = people_.at(uid);
  if (frame.kind == FrameKind::kEvent)
    return server_.publish(std::move(frame.name), std::move(frame.data), std::to_string(uid));
  if (frame.kind == FrameKind::kConnected) return take_connection(uid, frame);
  if (frame.kind != FrameKind::kReply) return;
  if (const auto refused = person.connecting.find(frame.number); refused != person.connecting.end()) {
    const auto tell = std::move(refused->second);
    person.connecting.erase(refused);
    return tell(failure(frame.reply.body, frame.reply.status == 404 ? ENOENT : ECONNREFUSED));
  }
  const auto answer = person.waiting.find(frame.number);
  if (answer == person.waiting.end()) return;
  const HttpServer::Answer tell = std::move(answer->second);
  person.waiting.erase(answer);
  tell(std::move(frame.reply));
}

void People::take_connection(uint32_t uid, const Frame& frame) {
  Person& person = people_.at(uid);
  const auto found = person.connecting.find(frame.number);
  if (found == person.connecting.end() || person.sockets.empty()) return;
  AppConnection connection{std::move(person.sockets.front()), frame.name == "strip", frame.data};
  person.sockets.erase(person.sockets.begin());
  const auto tell = std::move(found->second);
  person.connecting.erase(found);
  int type = 0;
  socklen_t size = sizeof type;
  if (::getsockopt(connection.socket.get(), SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM)
    return tell(failure("the application cannot be reached", ECONNREFUSED));
  tell(std::move(connection));
}

void People::lose(uint32_t uid, const Reply& why) {
  const auto found = people_.find(uid);
  if (found == people_.end()) return;
  const Person person = std::move(found->second);
  people_.erase(found);
  for (const auto& [number, answer] : person.waiting) answer(why);
  for (const auto& [number, connected] : person.connecting)
    connected(failure("the process that serves you has ended; try again", ECONNREFUSED));
  // Their pages come back, and a new worker is started for them.
  server_.end_streams(std::to_string(uid));
}

void People::look_for_use() {
  looks_ = false;
  std::vector<uint32_t> unused;
  for (const auto& [uid, person] : people_)
    if (person.listeners == 0 && person.waiting.empty() && person.connecting.empty() &&
        Clock::now() - person.last_used > kUnused)
      unused.push_back(uid);
  for (const uint32_t uid : unused) lose(uid, away());
  if (!people_.empty() && !std::exchange(looks_, true))
    server_.after(kBetweenLooks, [this] { look_for_use(); });
}

}  // namespace minke::portal
