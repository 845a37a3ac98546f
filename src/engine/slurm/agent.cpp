#include "engine/slurm/agent.h"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include "api/measurements.pb.h"
#include "engine/slurm/agent_wire.h"
#include "engine/slurm/collecting.h"
#include "engine/slurm/ended_jobs.h"
#include "engine/slurm/measured_jobs.h"
#include "engine/slurm/munge.h"
#include "engine/slurm/node_jobs.h"
#include "model/job_record.pb.h"
#include "node/gpu_probe.h"
#include "node/gpus.pb.h"
#include "node/job_sampler.h"
#include "node/launch.pb.h"
#include "os/fd.h"
#include "text/number.h"

namespace minke::engine::slurm {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{8};  // for a connection
constexpr std::chrono::milliseconds kGpuPatience{3000};
constexpr int kMostConnections = 16;
constexpr size_t kLongestQuestion = 4096;
constexpr size_t kMostAnswer = size_t{600} << 10;  // munge takes no more than 1 MiB

class Agent {
 public:
  explicit Agent(const AgentOptions& options)
      : options_(options), probe_(options.gpus), munge_(options.munge_socket) {}

  Status listen();
  Status collect();
  [[noreturn]] void serve();

 private:
  void measure();
  void take();
  void talk(const os::UniqueFd& connection) const;
  Status answer(AgentConnection& connection) const;

  const AgentOptions options_;
  node::GpuProbe probe_;
  Munge munge_;
  NodeJobs jobs_;
  node::JobSampler machine_{node::Inventory()};
  MeasuredJobs measured_;
  std::unique_ptr<EndedJobs> ended_;  // null: it does not collect
  os::UniqueFd socket_;
  std::atomic<int> connections_{0};
};

Status Agent::listen() {
  addrinfo hints{};
  hints.ai_family = options_.address.empty() ? AF_INET6 : AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(options_.port);
  const char* host = options_.address.empty() ? nullptr : options_.address.c_str();
  int problem = ::getaddrinfo(host, port.c_str(), &hints, &found);
  const auto open = [&] {
    socket_.reset(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int on = 1, off = 0;
    if (!socket_) return false;
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (found->ai_family == AF_INET6)
      ::setsockopt(socket_.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    return ::bind(socket_.get(), found->ai_addr, found->ai_addrlen) == 0 && ::listen(socket_.get(), 64) == 0;
  };
  bool listens = problem == 0 && open();
  if (!listens && host == nullptr) {  // a machine without IPv6
    if (problem == 0) ::freeaddrinfo(found);
    hints.ai_family = AF_INET;
    problem = ::getaddrinfo(host, port.c_str(), &hints, &found);
    listens = problem == 0 && open();
  }
  const int error = errno;
  if (problem != 0) return failure(options_.address + ": " + ::gai_strerror(problem), EINVAL);
  ::freeaddrinfo(found);
  if (!listens) return failure_from_errno("port " + port, error);
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  if (::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&bound), &length) == 0) {
    const bool six = bound.ss_family == AF_INET6;
    const uint16_t number = six ? reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port
                                : reinterpret_cast<sockaddr_in*>(&bound)->sin_port;
    std::printf("minke agent listens at port %u\n", ntohs(number));
    std::fflush(stdout);
  }
  return {};
}

void Agent::measure() {
  node::GpuReport gpus;
  const std::vector<NodeJob> jobs = jobs_.read();
  if (node::may_have_gpus(options_.gpus)) {
    if (auto told = probe_.ask(kGpuPatience, measured_.question_for(jobs))) gpus = std::move(*told);
  }
  measured_.round(jobs, gpus, machine_.read_machine());
}

Status Agent::answer(AgentConnection& connection) const {
  const std::string nonce = agent_nonce();
  if (const Status greeted = connection.send("minke-agent 1 " + nonce); !greeted) return greeted;
  const auto question = connection.receive(kLongestQuestion);
  if (!question) return failure(question.error());
  const auto opened = munge_.open(*question);
  if (!opened) return failure(opened.error());
  const auto words = text::split(opened->text, ' ');
  const auto asked = words.size() == 5 ? asked_jobs(std::string(words[4])) : AskedJobs();
  if (words.size() < 4 || words.size() > 5 || words[0] != "ask" || words[1] != nonce || !asked)
    return failure("no question to this agent", EPROTO);
  const bool all =
      opened->uid == 0 || std::count(options_.sees_all.begin(), options_.sees_all.end(), opened->uid) > 0;
  api::MeasurementsReply reply = measured_.answer(opened->uid, all, words[3] == "series", *asked);
  if (ended_ && asked->job_id) {
    auto kept = ended_->of(*asked->job_id);
    if (!kept) return failure(kept.error());
    for (api::JobMeasurement& one : *kept)
      if ((all || one.job().uid() == opened->uid) && reply.ByteSizeLong() + one.ByteSizeLong() < kMostAnswer)
        *reply.add_jobs() = std::move(one);
  }
  const std::string text = "answer " + std::string(words[2]) + "\n" + reply.SerializeAsString();
  const auto sealed = munge_.seal(text, opened->uid);
  if (!sealed) return failure(sealed.error());
  return connection.send(*sealed);
}

Status Agent::collect() {
  if (options_.cluster == nullptr) return {};
  auto opened = EndedJobs::open(options_.directory);
  if (!opened) return failure(opened.error());
  ended_ = std::move(*opened);
  std::thread([this] { Collecting(*options_.cluster, *ended_).run(options_.collect_period); }).detach();
  return {};
}

void Agent::talk(const os::UniqueFd& socket) const {
  AgentConnection connection(socket.get(), Clock::now() + kPatience);
  const Status answered = answer(connection);
  if (answered) return;
  std::string why = answered.error().message.substr(0, 200);
  std::replace(why.begin(), why.end(), '\n', ' ');
  [[maybe_unused]] const Status told = connection.send("error " + why);
}

void Agent::take() {
  for (;;) {
    os::UniqueFd connection(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection) return;
    if (connections_.load() >= kMostConnections) continue;  // closed: who asks shows the node as not measured
    ++connections_;
    auto owned = std::make_shared<os::UniqueFd>(std::move(connection));
    try {
      std::thread([this, owned] {
        talk(*owned);
        --connections_;
      }).detach();
    } catch (const std::system_error&) {
      --connections_;
    }
  }
}

void Agent::serve() {
  for (auto next = Clock::now();;) {
    if (Clock::now() >= next) {
      measure();
      next = Clock::now() + options_.period;
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(next - Clock::now()).count();
    pollfd one{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    if (::poll(&one, 1, static_cast<int>(std::max<int64_t>(1, left))) > 0) take();
  }
}

}  // namespace

int run_agent(const AgentOptions& options) {
  Agent agent(options);
  if (const Status listens = agent.listen(); !listens) {
    std::fprintf(stderr, "minke agent: error: %s\n", listens.error().message.c_str());
    return 1;
  }
  // It measures also where nothing can be kept.
  if (const Status collects = agent.collect(); !collects)
    std::fprintf(stderr, "minke agent: what jobs have used is not collected: %s\n",
                 collects.error().message.c_str());
  agent.serve();
}

}  // namespace minke::engine::slurm
