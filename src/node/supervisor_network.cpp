// The network of offline jobs, and their way out: a proxy that knows which addresses they may reach.
//
// The socket at which a job reaches the proxy is in the job's network, but the process that accepts
// from it may be in another network. So the job's network has nothing of the machine's, and no
// process runs until a job connects.
//
// All offline jobs of a user are in one network, but for those that began with other hosts allowed: they find
// each other as on nodes of a cluster. A process of theirs (`minke job-ports`) opens its ports to the user.
#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <memory>

#include "model/proxy.pb.h"
#include "node/launch.pb.h"
#include "node/namespaces.h"
#include "node/supervisor.h"
#include "os/child_signals.h"
#include "os/files.h"
#include "os/helper_program.h"

extern char** environ;

namespace minke::node {
namespace {

// Starts a helper with `input` as standard input, without the launcher's environment.
Result<pid_t> start_helper(std::vector<std::string> words, int input) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
  char* environment[] = {path, nullptr};

  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, input, 0);
  ::posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
  const os::ChildSignals signals(POSIX_SPAWN_SETSID);
  pid_t pid = 0;
  const int error =
      ::posix_spawn(&pid, words[0].c_str(), &files, signals.get(), arguments.data(), environment);
  ::posix_spawn_file_actions_destroy(&files);
  if (error != 0) return failure_from_errno(words.at(1), error);
  return pid;
}

Result<pid_t> start_proxy(const model::ProxySettings& settings, int socket) {
  std::vector<std::string> words =
      os::helper_command(os::Helper::kJobProxy, {"--program", settings.program()});
  for (const std::string& host : settings.allowed()) words.insert(words.end(), {"--allow", host});
  for (const uint32_t port : settings.connect_ports())
    words.insert(words.end(), {"--connect-port", std::to_string(port)});
  if (!settings.upstream().empty()) words.insert(words.end(), {"--upstream", settings.upstream()});
  return start_helper(std::move(words), socket);
}

uint32_t user_of(const LaunchOrder& order) {
  return order.has_identity() ? order.identity().uid() : ::geteuid();
}

// Jobs with the same one share a network; empty: the job has its own.
std::string shared_name(const LaunchOrder& order) {
  if (order.port_access() == PORTS_CLOSED) return "";
  return std::to_string(user_of(order)) + " " + std::to_string(order.port_access()) + " " +
         order.proxy().SerializeAsString();
}

}  // namespace

Status Supervisor::join_network(const LaunchOrder& order, Job& job) {
  const std::string name = shared_name(order);
  if (!name.empty()) job.network = networks_[name].lock();
  if (!job.network) {
    auto made = make_network(order);
    if (!made) return failure(made.error());
    job.network = std::move(*made);
    if (!name.empty()) networks_[name] = job.network;
  }
  if (!name.empty() && job.network->ports_process == 0) open_ports(order, *job.network);
  return {};
}

Result<std::shared_ptr<Supervisor::OfflineNetwork>> Supervisor::make_network(const LaunchOrder& order) {
  auto made = std::make_shared<OfflineNetwork>();
  auto space = make_offline_network();
  if (!space) return failure("no network namespace: " + space.error().message, space.error().code);
  made->space = std::move(*space);
  if (order.proxy().allowed().empty()) return made;
  auto socket = listen_in(made->space.get(), static_cast<uint16_t>(order.proxy().port()));
  if (!socket) return failure("no way to the proxy: " + socket.error().message, socket.error().code);
  made->proxy_socket = std::move(*socket);
  made->proxy = order.proxy();
  wait_for_proxy_use(*made);
  return made;
}

// Without it, jobs run as well: their ports stay closed.
void Supervisor::open_ports(const LaunchOrder& order, OfflineNetwork& network) {
  std::vector<std::string> words =
      os::helper_command(os::Helper::kJobPorts, {"--user", std::to_string(user_of(order))});
  if (order.port_access() == PORTS_OF_EVERYBODY) words.emplace_back("--anybody");
  const auto pid = start_helper(std::move(words), network.space.get());
  if (!pid) return log_line(pid.error().message);
  network.ports_process = *pid;
  network_helpers_[*pid] = network.weak_from_this();
}

void Supervisor::leave_network(Job& job) {
  const auto network = std::move(job.network);
  if (!network || network.use_count() > 1) return;
  for (const pid_t helper : {network->proxy_process, network->ports_process})
    if (helper != 0) ::kill(helper, SIGKILL);
  std::erase_if(networks_, [&](const auto& one) { return one.second.lock() == network; });
}

// Optional: if the kernel refuses, a job runs without them.
void Supervisor::add_namespaces(const LaunchOrder& order, Confinement& confinement) {
  if (namespaces_refused_) return;
  const auto refused = [this](const Error& error) {
    namespaces_refused_ = true;
    log_line(error.message +
             ": jobs can look into other processes of their user, and without root's rights "
             "do not find the cluster's nodes by their names");
  };
  const bool closed = order.hidden_directories_size() > 0 || order.read_only_directories_size() > 0;
  if (order.has_identity() && order.identity().uid() != 0 && (order.offline() || closed)) {
    os::UniqueFd& users = order.offline() ? users_of_offline_ : users_of_closed_;
    if (!users) {
      auto made = make_user_namespace();
      if (!made) return refused(made.error());
      users = std::move(*made);
    }
    confinement.users = users.get();
  }
  if (order.hosts().empty() || ::geteuid() == 0) return;
  const auto text = os::read_file(order.hosts(), size_t{1} << 20);
  if (!text) return;
  if (!hosts_ || *text != hosts_text_) {
    auto made = make_hosts_namespace(order.hosts());
    if (!made) return refused(made.error());
    hosts_ = std::move(*made);
    hosts_text_ = *text;
  }
  confinement.users = hosts_->users.get();
  confinement.mounts = hosts_->mounts.get();
  confinement.host_names = true;
}

void Supervisor::wait_for_proxy_use(OfflineNetwork& network) {
  network.proxy_watch = loop_.on_readable(network.proxy_socket.get(), [this, &network] {
    if (const auto pid = start_proxy(network.proxy, network.proxy_socket.get())) {
      network.proxy_process = *pid;
      network_helpers_[*pid] = network.weak_from_this();
    } else {
      log_line(pid.error().message);
    }
    network.proxy_watch.reset();
  });
}

void Supervisor::helper_ended(pid_t helper, OfflineNetwork& network) {
  if (helper == network.ports_process) network.ports_process = 0;  // the next launch starts it again
  if (helper != network.proxy_process) return;
  network.proxy_process = 0;
  // Closes waiting connections, so that a proxy that always fails starts only once per attempt.
  while (os::UniqueFd(::accept4(network.proxy_socket.get(), nullptr, nullptr, SOCK_CLOEXEC))) {
  }
  wait_for_proxy_use(network);
}

}  // namespace minke::node
