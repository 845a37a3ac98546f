// The network of offline jobs, and their way out: a proxy that knows which addresses they may reach.
//
// The socket at which a job reaches the proxy is in the job's network, but the process that accepts
// from it may be in another network. So the job's network has nothing of the machine's, and no
// process runs until a job connects.
#include <fcntl.h>
#include <sys/socket.h>

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

// Starts `minke job-proxy` with the socket as standard input, without the launcher's environment.
Result<pid_t> start_proxy(const model::ProxySettings& settings, int socket) {
  std::vector<std::string> words =
      os::helper_command(os::Helper::kJobProxy, {"--program", settings.program()});
  for (const std::string& host : settings.allowed()) words.insert(words.end(), {"--allow", host});
  for (const uint32_t port : settings.connect_ports())
    words.insert(words.end(), {"--connect-port", std::to_string(port)});
  if (!settings.upstream().empty()) words.insert(words.end(), {"--upstream", settings.upstream()});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
  char* environment[] = {path, nullptr};

  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, socket, 0);
  ::posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
  const os::ChildSignals signals(POSIX_SPAWN_SETSID);
  pid_t pid = 0;
  const int error =
      ::posix_spawn(&pid, words[0].c_str(), &files, signals.get(), arguments.data(), environment);
  ::posix_spawn_file_actions_destroy(&files);
  if (error != 0) return failure_from_errno("job-proxy", error);
  return pid;
}

}  // namespace

Status Supervisor::make_network(const LaunchOrder& order, Job& job) {
  auto network = make_offline_network();
  if (!network) return failure("no network namespace: " + network.error().message, network.error().code);
  if (!order.proxy().allowed().empty()) {
    auto socket = listen_in(network->get(), static_cast<uint16_t>(order.proxy().port()));
    if (!socket) return failure("no way to the proxy: " + socket.error().message, socket.error().code);
    job.proxy_socket = std::move(*socket);
    job.proxy = order.proxy();
    wait_for_proxy_use(job);
  }
  job.network = std::move(*network);
  return {};
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

void Supervisor::wait_for_proxy_use(Job& job) {
  job.proxy_watch = loop_.on_readable(job.proxy_socket.get(), [this, key = job.key] {
    Job& used = jobs_.at(key);
    if (const auto pid = start_proxy(used.proxy, used.proxy_socket.get())) {
      used.proxy_process = *pid;
      proxies_[*pid] = key;
    } else {
      log_line("job " + std::to_string(key.job_id) + ": " + pid.error().message);
    }
    used.proxy_watch.reset();
  });
}

void Supervisor::proxy_ended(const JobKey& key) {
  const auto job = jobs_.find(key);
  if (job == jobs_.end()) return;
  job->second.proxy_process = 0;
  // Closes waiting connections, so that a proxy that always fails starts only once per attempt.
  while (os::UniqueFd(::accept4(job->second.proxy_socket.get(), nullptr, nullptr, SOCK_CLOEXEC))) {
  }
  wait_for_proxy_use(job->second);
}

}  // namespace minke::node
