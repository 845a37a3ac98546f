#include "engine/slurm/agent_client.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <system_error>
#include <thread>

#include "engine/slurm/agent_wire.h"
#include "os/fd.h"
#include "text/number.h"

namespace minke::engine::slurm {
namespace {

using Clock = AgentConnection::Clock;

constexpr std::chrono::seconds kPatience{6};
constexpr int kConnectMs = 1500;
constexpr size_t kMostThreads = 16;
constexpr size_t kSilentFirst = 16;  // then the others are not asked
constexpr size_t kLongestGreeting = 200;
constexpr size_t kLongestAnswer = size_t{2} << 20;

Result<os::UniqueFd> connected(const std::string& address, uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int problem = ::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found);
      problem != 0)
    return failure(address + ": " + ::gai_strerror(problem), EHOSTUNREACH);
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> list(found, ::freeaddrinfo);
  int error = EHOSTUNREACH;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    os::UniqueFd socket(::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) continue;
    if (::connect(socket.get(), one->ai_addr, one->ai_addrlen) == 0) return socket;
    error = errno;
    if (error != EINPROGRESS) continue;
    pollfd ready{.fd = socket.get(), .events = POLLOUT, .revents = 0};
    error = ETIMEDOUT;
    if (::poll(&ready, 1, kConnectMs) <= 0) continue;
    socklen_t length = sizeof error;
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0) return socket;
  }
  return failure_from_errno(address, error);
}

Result<api::MeasurementsReply> ask_one(const AgentQuestion& question, const std::string& address,
                                       const AskedJobs& asked, const Munge& munge) {
  const auto socket = connected(address, question.port);
  if (!socket) return failure(socket.error());
  AgentConnection connection(socket->get(), Clock::now() + kPatience);
  const auto greeting = connection.receive(kLongestGreeting);
  if (!greeting) return failure(greeting.error());
  const auto words = text::split(*greeting, ' ');
  if (words.size() != 3 || words[0] != "minke-agent" || words[1] != "1")
    return failure("what answers at port " + std::to_string(question.port) + " is no agent of this Minke's",
                   EPROTO);
  const std::string own = agent_nonce();
  const std::string which = words_of(asked);
  const auto sealed =
      munge.seal("ask " + std::string(words[2]) + " " + own + (question.with_series ? " series" : " now") +
                     (which.empty() ? "" : " " + which),
                 std::nullopt);
  if (!sealed) return failure(sealed.error());
  if (const Status sent = connection.send(*sealed); !sent) return failure(sent.error());
  const auto answer = connection.receive(kLongestAnswer);
  if (!answer) return failure(answer.error());
  if (answer->starts_with("error ")) return failure("the agent says: " + answer->substr(6, 200), EACCES);
  const auto opened = munge.open(*answer);
  if (!opened) return failure(opened.error());
  if (std::find(question.trusted.begin(), question.trusted.end(), opened->uid) == question.trusted.end())
    return failure("the agent runs as user " + std::to_string(opened->uid) + ", not as root or Slurm's user",
                   EACCES);
  const std::string head = "answer " + own + "\n";
  api::MeasurementsReply reply;
  if (!opened->text.starts_with(head) ||
      !reply.ParseFromArray(opened->text.data() + head.size(),
                            static_cast<int>(opened->text.size() - head.size())))
    return failure("the agent's answer cannot be read", EPROTO);
  return reply;
}

}  // namespace

std::vector<Result<api::MeasurementsReply>> ask_agents(const AgentQuestion& question, const Munge& munge) {
  std::vector<Result<api::MeasurementsReply>> answers(question.addresses.size(),
                                                      Result<api::MeasurementsReply>(failure("not asked")));
  std::atomic<size_t> next{0}, answered{0}, silent{0};
  const auto work = [&] {
    for (size_t i = next++; i < answers.size(); i = next++) {
      // A cluster without agents whose nodes drop what they do not know is not worth a long wait.
      if (answered == 0 && silent >= kSilentFirst) continue;
      answers[i] = ask_one(question, question.addresses[i],
                           question.each.empty() ? question.asked : question.each[i], munge);
      ++(answers[i] ? answered : silent);
    }
  };
  std::vector<std::thread> threads;
  try {
    for (size_t i = 1; i < std::min(kMostThreads, answers.size()); ++i) threads.emplace_back(work);
  } catch (const std::system_error&) {  // this user may have no more: fewer do
  }
  work();
  for (std::thread& thread : threads) thread.join();
  return answers;
}

}  // namespace minke::engine::slurm
