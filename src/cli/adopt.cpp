#include "cli/adopt.h"

#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <vector>

#include "cli/client.h"
#include "node/control_groups.h"
#include "node/job_groups.h"
#include "node/launcher.h"
#include "node/process_tree.h"
#include "os/minke_home.h"

namespace minke::cli {

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

// The control group of the process among those that the launcher of this home made; empty: none of them.
std::string group_of(pid_t pid, const std::string& home_id) {
  const std::string base = "/minke+" + home_id + "/";
  std::ifstream lines("/proc/" + std::to_string(pid) + "/cgroup");
  for (std::string line; std::getline(lines, line);) {
    const size_t at = line.find(base);
    if (at == std::string::npos) continue;
    const size_t begin = at + base.size();
    return line.substr(begin, line.find('/', begin) - begin);
  }
  return "";
}

// The control groups of the user's running jobs, the one that began last first. Found by the jobs' processes:
// a group's name need not be the job's. Only the user's own: another's may claim to be of any job.
Result<std::vector<std::string>> groups_of_jobs(uid_t user, const std::string& home) {
  auto client = Client::connect(false);
  if (!client) return failure(client.error());
  rpc::ClientMessage request;
  request.mutable_query_measurements()->mutable_filter()->add_uids(user);
  auto answer = client->call(request);
  if (!answer) return failure(answer.error());
  auto& jobs = *answer->mutable_measurements()->mutable_jobs();
  std::sort(jobs.begin(), jobs.end(), [](const rpc::JobMeasurement& a, const rpc::JobMeasurement& b) {
    return a.job().start_time() > b.job().start_time();
  });
  const std::string home_id = node::launcher_home_id(home);
  std::map<std::string, std::string> groups;  // by marker
  for (const node::Process& process : node::read_all_processes()) {
    struct stat info {};
    if (::stat(("/proc/" + std::to_string(process.pid)).c_str(), &info) != 0 || info.st_uid != user) continue;
    const auto marker = node::initial_variable(process.pid, node::kLaunchMarker);
    if (!marker) continue;
    if (const std::string group = group_of(process.pid, home_id); !group.empty())
      groups.emplace(*marker, group);
  }
  std::vector<std::string> names;
  for (const rpc::JobMeasurement& job : jobs) {
    const auto found = groups.find(home_id + "/" + std::to_string(job.job().job_id()) + "." +
                                   std::to_string(job.job().restarts()));
    names.push_back(found != groups.end()
                        ? found->second
                        : node::JobGroups::name_of(node::JobKey{job.job().job_id(), job.job().restarts()}));
  }
  return names;
}

// In version 2 a group that is divided has no processes of its own: a part of it is for logins.
Status enter(node::ControlGroups& groups, const std::string& job, pid_t pid) {
  if (groups.version() == 1) return groups.enter(job, pid);
  const std::string logins = job + "/login";
  const Status made = groups.create(logins, {});
  if (!made && made.error().code != EEXIST) return made;
  return groups.enter(logins, pid);
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
  const auto names = groups_of_jobs(user.pw_uid, *home);
  if (!names) return refuse(names.error().message);
  if (names->empty()) return refuse(name + " has no running job on this machine");
  auto groups = node::ControlGroups::find(node::launcher_home_id(*home), true);
  if (!groups) return refuse(groups.error().message);
  const pid_t pid = options.pid != 0 ? options.pid : ::getppid();
  for (const std::string& group : *names) {
    if (enter(*groups, group, pid)) return 0;
  }
  return refuse("the job of " + name + " is ending, or has no control group");
}

}  // namespace minke::cli
