#include "helpers/adopt.h"

#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "api/measurements.pb.h"
#include "engine/open.h"
#include "node/launcher.h"
#include "node/process_tree.h"
#include "os/minke_home.h"

namespace minke::helpers {

namespace {

bool is_member(const passwd& user, const std::string& name) {
  if (name.empty()) return false;
  const group* found = ::getgrnam(name.c_str());
  if (found == nullptr) return false;
  const gid_t wanted = found->gr_gid;
  int count = 0;
  ::getgrouplist(user.pw_name, user.pw_gid, nullptr, &count);
  std::vector<gid_t> groups(static_cast<size_t>(count));
  return ::getgrouplist(user.pw_name, user.pw_gid, groups.data(), &count) >= 0 &&
         std::find(groups.begin(), groups.end(), wanted) != groups.end();
}

int refuse(const std::string& why) {
  std::printf("Access denied: %s\n", why.c_str());
  return 1;
}

// Where the hierarchy with the controller (version 1), or that of version 2 (empty), is mounted. `root` is
// the part of it that is mounted.
struct Mount {
  std::string root, at;
};
Mount mount_of(const std::string& controller) {
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    Mount mount;
    std::string word, type, options;
    words >> word >> word >> word >> mount.root >> mount.at;
    while (words >> word && word != "-") {
    }
    words >> type >> word >> options;
    const bool has = ("," + options + ",").find("," + controller + ",") != std::string::npos;
    if (controller.empty() ? type == "cgroup2" : type == "cgroup" && has) return mount;
  }
  return {};
}

// The launcher's groups are root's. A user who may make groups can give them the same names.
bool is_roots(const std::string& directory) {
  struct stat info {};
  return ::stat(directory.c_str(), &info) == 0 && info.st_uid == 0;
}

// Returns the directories of the job's control groups that this process is in: one for each hierarchy in
// which the launcher of this home made one. In version 2 a divided group has no processes of its own, so this
// makes a part of it for logins. Also empty if one of them is not the launcher's.
std::vector<std::string> groups_of(pid_t pid, const std::string& home_id) {
  const std::string base = "/minke+" + home_id + "/";
  std::vector<std::string> directories;
  std::ifstream lines("/proc/" + std::to_string(pid) + "/cgroup");
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1), at = line.find(base);
    if (at == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const Mount mount = mount_of(controllers.substr(0, controllers.find(',')));
    std::string group = line.substr(second + 1, line.find('/', at + base.size()) - second - 1);
    if (mount.root != "/" && group.starts_with(mount.root)) group.erase(0, mount.root.size());
    directories.push_back(mount.at + group);
    if (!is_roots(directories.back())) return {};
    if (!controllers.empty()) continue;
    directories.back() += "/login";
    ::mkdir(directories.back().c_str(), 0755);  // if it does not exist yet
  }
  return directories;
}

bool enter(const std::vector<std::string>& groups, pid_t pid) {
  return !groups.empty() && std::all_of(groups.begin(), groups.end(), [&](const std::string& group) {
    std::ofstream procs(group + "/cgroup.procs");
    return static_cast<bool>(procs << pid << std::flush);
  });
}

// Returns the processes of each of the user's running jobs, the latest job first. Only the user's own: any
// process may claim any job, also the user's own outside of jobs, which control groups reveal.
Result<std::vector<std::vector<pid_t>>> processes_of_jobs(uid_t user, const std::string& home_id) {
  const auto cluster = engine::open(engine::Start::kNever);
  if (!cluster) return failure(cluster.error());
  const auto measurements = (*cluster)->measurements();
  if (!measurements) return failure(measurements.error());
  api::QueryMeasurementsRequest request;
  request.mutable_filter()->add_uids(user);
  auto measured = (*measurements)->measured(request);
  if (!measured) return failure(measured.error());
  auto& jobs = *measured->mutable_jobs();
  std::sort(jobs.begin(), jobs.end(), [](const api::JobMeasurement& a, const api::JobMeasurement& b) {
    return std::pair(a.job().start_time(), a.job().job_id()) >
           std::pair(b.job().start_time(), b.job().job_id());
  });
  std::map<std::string, std::vector<pid_t>> by_marker;
  for (const node::Process& process : node::read_all_processes()) {
    struct stat info {};
    if (::stat(("/proc/" + std::to_string(process.pid)).c_str(), &info) != 0 || info.st_uid != user) continue;
    if (const auto marker = node::initial_variable(process.pid, node::kLaunchMarker))
      by_marker[*marker].push_back(process.pid);
  }
  std::vector<std::vector<pid_t>> processes;
  for (const api::JobMeasurement& job : jobs) {
    processes.push_back(by_marker[home_id + "/" + std::to_string(job.job().job_id()) + "." +
                                  std::to_string(job.job().restarts())]);
  }
  return processes;
}

}  // namespace

int adopt(const AdoptOptions& options) {
  const char* from_pam = std::getenv("PAM_USER");
  const std::string name = !options.user.empty() ? options.user : from_pam != nullptr ? from_pam : "";
  if (const char* type = std::getenv("PAM_TYPE"); type != nullptr && std::string(type) == "close_session")
    return 0;
  const passwd* found = ::getpwnam(name.c_str());
  if (found == nullptr) return refuse("there is no user '" + name + "'");
  const passwd user = *found;
  if (user.pw_uid == 0 || is_member(user, options.allow)) return 0;
  const auto home = os::minke_home();
  if (!home) return refuse(home.error().message);
  const std::string home_id = node::launcher_home_id(*home);
  const auto processes = processes_of_jobs(user.pw_uid, home_id);
  if (!processes) return refuse(processes.error().message);
  if (processes->empty()) return refuse(name + " has no running job on this machine");
  const pid_t pid = options.pid != 0 ? options.pid : ::getppid();
  for (const std::vector<pid_t>& job : *processes) {
    for (const pid_t process : job) {
      if (enter(groups_of(process, home_id), pid)) return 0;
    }
  }
  return refuse("the job of " + name + " is ending, or has no control group");
}

}  // namespace minke::helpers
