#include "cli/cluster_commands.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "api/actions.pb.h"
#include "api/daemon.pb.h"
#include "cli/complain.h"
#include "cli/guard.h"
#include "cli/links.h"
#include "engine/embedded/client.h"
#include "engine/open.h"
#include "os/minke_home.h"
#include "text/printable.h"
#include "text/timestamp.h"

namespace minke::cli {
namespace {

Result<api::StatusReply> ask_status(engine::Engine& cluster) {
  const auto administration = cluster.administration();
  if (!administration) return failure(administration.error());
  return (*administration)->status();
}

}  // namespace

int up(bool shared, bool prepare_only) {
  std::string shared_home;
  if (shared) {
    const char* given = std::getenv("MINKE_HOME");
    shared_home = given != nullptr && *given != '\0' ? given : os::kSharedHome;
    if (const Status marked = os::mark_shared(shared_home); !marked) return complain(marked.error());
  }
  auto home = os::minke_home();
  if (!home) return complain(home.error());
  const bool is_shared = os::is_shared(*home);
  if (is_shared && ::geteuid() != 0) return complain(Error{EPERM, "only root starts a shared cluster"});
  if (auto linked = make_links(*home); !linked) return complain(linked.error());
  if (is_shared) guard_again(*home);
  if (prepare_only) return 0;
  if (is_shared) {
    if (const Status started = engine::embedded::start_daemon(*home); !started)
      return complain(started.error());
  }
  // Minke's own, whatever other cluster there is.
  const auto cluster = engine::embedded::Client::connect();
  if (!cluster) return complain(cluster.error());
  auto status = ask_status(**cluster);
  if (!status) return complain(status.error());
  std::printf("cluster %s is up (pid %u, %s)\n", status->cluster_name().c_str(), status->pid(),
              home->c_str());
  if (::isatty(STDOUT_FILENO)) std::printf("To use it in this shell: eval \"$(minke env)\"\n");
  return 0;
}

int down(api::ShutdownRequest::Mode mode) {
  const auto cluster = engine::open(engine::Start::kNever);
  if (!cluster) {
    if (cluster.error().code != ECONNREFUSED) return complain(cluster.error());
    std::printf("the cluster is down already\n");
    return 0;
  }
  const auto administration = (*cluster)->administration();
  if (!administration) return complain(administration.error());
  api::ShutdownRequest request;
  request.set_mode(mode);
  const auto answer = (*administration)->shut_down(request);
  if (!answer) return complain(answer.error());
  // The daemon closes the connection once it has stopped.
  const auto daemon = (*cluster)->steps_with_descriptors();
  api::StatusRequest none;
  while (daemon && (*daemon)->channel().receive(none)) {
  }
  std::printf("the cluster is down\n");
  return 0;
}

int status(bool json) {
  const auto cluster = engine::open(engine::Start::kNever);
  if (!cluster && cluster.error().code != ECONNREFUSED) return complain(cluster.error());
  if (!cluster) {
    std::puts(json ? "{\"running\": false}" : "down: no daemon runs (minke up starts it)");
    return json ? 0 : 3;
  }
  auto reply = ask_status(**cluster);
  if (!reply) return complain(reply.error());
  if (json) {
    const nlohmann::ordered_json object = {
        {"running", true},
        {"version", reply->version()},
        {"cluster_name", reply->cluster_name()},
        {"pid", reply->pid()},
        {"launcher_pid", reply->launcher_pid()},
        {"start_time", reply->start_time()},
        {"home", reply->home()},
        {"config_path", reply->config_path()},
        {"jobs_pending", reply->jobs_pending()},
        {"jobs_running", reply->jobs_running()},
        {"wake_ups", reply->wake_ups()},
        {"rss_kib", reply->rss_kib()},
        {"problems", std::vector<std::string>(reply->problems().begin(), reply->problems().end())},
    };
    std::puts(object.dump().c_str());
    return 0;
  }
  std::printf("cluster        %s\n", reply->cluster_name().c_str());
  std::printf("daemon         pid %u, version %s, since %s, %.1f MiB\n", reply->pid(),
              reply->version().c_str(), text::format_time(reply->start_time()).c_str(),
              static_cast<double>(reply->rss_kib()) / 1024);
  std::printf("launcher       pid %u\n", reply->launcher_pid());
  std::printf("home           %s\n", reply->home().c_str());
  std::printf("configuration  %s\n", reply->config_path().empty() ? "(none: this machine, one partition)"
                                                                  : reply->config_path().c_str());
  std::printf("jobs           %llu running, %llu pending\n",
              static_cast<unsigned long long>(reply->jobs_running()),
              static_cast<unsigned long long>(reply->jobs_pending()));
  for (const std::string& problem : reply->problems())
    std::printf("PROBLEM        %s\n", text::printable(problem).c_str());
  return reply->problems().empty() ? 0 : 1;
}

int log(bool follow, int lines) {
  auto home = os::minke_home();
  if (!home) return complain(home.error());
  const std::string path = os::log_path(*home);
  const std::string count = std::to_string(lines);
  // tail(1) does this well, including rotation.
  std::vector<const char*> arguments = {"tail", "-n", count.c_str()};
  if (follow) arguments.push_back("-F");
  arguments.push_back("--");
  arguments.push_back(path.c_str());
  arguments.push_back(nullptr);
  if (::access(path.c_str(), R_OK) != 0) {
    if (errno == ENOENT) return complain(Error{0, "there is no log yet: " + path});
    return complain(os::is_shared(*home)
                        ? Error{EACCES, "the log of a shared cluster is root's to read: " + path}
                        : failure_from_errno(path, errno).value());
  }
  ::execvp("tail", const_cast<char* const*>(arguments.data()));
  return complain(failure_from_errno("tail", errno).value());
}

}  // namespace minke::cli
