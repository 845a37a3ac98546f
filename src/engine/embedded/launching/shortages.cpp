#include "engine/embedded/launching/shortages.h"

#include <algorithm>
#include <vector>

#include "engine/embedded/core.h"
#include "model/job_state.pb.h"
#include "os/log.h"

namespace minke::engine {

namespace {

constexpr std::chrono::seconds kFirstDelay{2}, kLongestDelay{60};
// Slurm's reason for jobs whose nodes cannot take them now. The text after it is for people.
constexpr char kReasonPrefix[] = "ReqNodeNotAvail, ";

}  // namespace

Shortages::Shortages(Core& core) : core_(core), timer_(core.loop.make_timer([this] { look(); })) {}

bool Shortages::stops_all() const {
  return !core_.committer.problem().empty();
}

const std::string& Shortages::problem(uint32_t uid) const {
  static const std::string kNone;
  if (stops_all()) return core_.committer.problem();
  const auto found = users_.find(uid);
  return found == users_.end() || !found->second.holds ? kNone : found->second.problem;
}

std::string Shortages::reason(uint32_t uid) const {
  const std::string& found = problem(uid);
  return found.empty() ? "" : kReasonPrefix + found;
}

void Shortages::launch_lacked(Job& job, const std::string& problem) {
  const uint32_t uid = job.uid;
  OfUser& one = users_[uid];
  one.problem = problem;
  if (one.holds) return;
  one.holds = true;
  one.delay = std::clamp(one.delay * 2, kFirstDelay, kLongestDelay);
  one.next = std::chrono::steady_clock::now() + one.delay;
  os::log_warning("jobs of " + core_.state.user_name(uid) + " cannot be launched and wait: " + problem);
  update_jobs(uid);
  set_timer();
}

void Shortages::store_changed() {
  if (!stops_all()) core_.cluster_events.tell(&ClusterListener::store_works_again);
}

// Queued jobs leave the queue; jobs that waited for this come back.
void Shortages::update_jobs(uint32_t uid) {
  std::vector<uint32_t> ids;
  for (const auto& [id, job] : core_.state.jobs())
    if (job->uid == uid && job->state == model::JOB_PENDING && job->committed) ids.push_back(id);
  for (const uint32_t id : ids)
    if (Job* job = core_.state.find(id)) core_.job_events.tell(&JobListener::obstacle_changed, *job);
}

void Shortages::look() {
  const auto now = std::chrono::steady_clock::now();
  std::vector<uint32_t> again;
  for (auto one = users_.begin(); one != users_.end();) {
    if (one->second.next > now) {
      ++one;
    } else if (one->second.holds) {
      one->second.holds = false;
      one->second.next = now + 2 * one->second.delay;
      again.push_back(one->first);
      ++one;
    } else {
      one = users_.erase(one);
    }
  }
  for (const uint32_t uid : again) update_jobs(uid);
  set_timer();
}

void Shortages::set_timer() {
  if (users_.empty()) return timer_->cancel();
  const auto earliest = std::min_element(users_.begin(), users_.end(), [](const auto& a, const auto& b) {
                          return a.second.next < b.second.next;
                        })->second.next;
  const auto wait = earliest - std::chrono::steady_clock::now();
  timer_->set_after(
      std::max(std::chrono::milliseconds(1), std::chrono::ceil<std::chrono::milliseconds>(wait)));
}

}  // namespace minke::engine
