#include "engine/embedded/accounts/quotas.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <sstream>

#include "engine/embedded/accounts/users.h"
#include "engine/embedded/core.h"
#include "model/job_state.pb.h"
#include "model/lasting_state.pb.h"
#include "os/detached.h"
#include "os/helper_program.h"
#include "os/log.h"
#include "os/read_lines.h"
#include "store/loaded_rows.h"
#include "store/tables.h"

namespace minke::engine {

namespace {

constexpr size_t kMostAtOnce = 64;
// Counting takes at most 1/20 of the time; a tier over its limit is counted again at this interval or later.
constexpr int64_t kTimesItsOwn = 20, kLeastSeconds = 30;

}  // namespace

struct Quotas::Counting {
  os::UniqueFd output;
  std::unique_ptr<os::EventLoop::Watch> watch;
  std::vector<std::string> paths;
  std::string unread;
};

bool held_by_quota(const Job& job) {
  return job.state == model::JOB_PENDING && job.priority != 0 && job.reason == model::WAIT_HELD &&
         job.details && job.details->reason_detail.starts_with(kQuotaExceeded);
}

Quotas::Quotas(Core& core)
    : core_(core), timer_(core.loop.make_timer([this] {
        armed_ = false;
        look_again();
      })) {}

Quotas::~Quotas() = default;

void Quotas::restore(store::LoadedRows& rows) {
  for (const model::QuotaCount& stored : rows.read(store::kQuotas)) {
    counts_[stored.path()] = {.use = {.space = stored.space(),
                                      .files = stored.files(),
                                      .space_over = stored.space_over(),
                                      .files_over = stored.files_over()},
                              .time = stored.time()};
  }
}

void Quotas::keep(const std::string& path, const Count& count) {
  model::QuotaCount stored;
  stored.set_path(path);
  stored.set_space(count.use.space);
  stored.set_files(count.use.files);
  stored.set_time(count.time);
  stored.set_space_over(count.use.space_over);
  stored.set_files_over(count.use.files_over);
  core_.committer.row_changed(store::kQuotas.row(stored));
}

const std::vector<Quotas::Place>& Quotas::places_of(uint32_t uid, uint32_t gid) {
  const auto [found, is_new] = places_.try_emplace({uid, gid});
  if (!is_new) return found->second;
  const char* own_home = core_.config.shared ? nullptr : std::getenv("HOME");
  const std::string home = own_home != nullptr ? own_home : home_directory_of(uid);
  for (const storage::Tier& tier : core_.config.storage.tiers(core_.config.home)) {
    if (tier.space == 0 && tier.files == 0) continue;
    const auto path = storage::tier_path(tier, core_.state.user_name(uid), core_.state.group_name(gid), home);
    if (path && *path != "/") found->second.push_back({tier, *path});
  }
  return found->second;
}

std::string Quotas::problem_in(const Place& place, const Count& count) const {
  return quota_problem(place.tier, place.path, count.use, int64_t{core_.config.storage.grace_minutes} * 60,
                       core_.now());
}

bool Quotas::is_due(const Count& count) const {
  if (count.asked) return false;
  const int64_t age = core_.now() - count.time;
  const int64_t interval = core_.config.storage.count_seconds;
  const int64_t least =
      std::max(kLeastSeconds, static_cast<int64_t>(count.milliseconds) * kTimesItsOwn / 1000);
  const bool soon = count.changed || count.use.space_over != 0 || count.use.files_over != 0;
  return count.time == 0 || age >= (soon ? std::min(interval, least) : std::max(interval, least / 2));
}

std::string Quotas::problem(uint32_t uid, uint32_t gid) {
  if (core_.config.storage.profile.empty() || !core_.config.storage.hold_jobs) return "";
  std::string problem;
  for (const Place& place : places_of(uid, gid)) {
    Count& count = counts_[place.path];
    if (is_due(count)) {
      count.asked = true;
      wanted_.push_back(place.path);
      if (!counting_ && !std::exchange(count_posted_, true)) core_.loop.post([this] { this->count(); });
    }
    if (problem.empty()) problem = problem_in(place, count);
  }
  if (problem.empty()) {
    held_.erase({uid, gid});
  } else {
    held_.insert({uid, gid});
  }
  set_timer();
  return problem;
}

void Quotas::job_ended(Job& job, bool ran) {
  if (!ran) return;
  const auto found = places_.find({job.uid, job.gid});
  if (found == places_.end()) return;
  for (const Place& place : found->second) counts_[place.path].changed = true;
}

void Quotas::configuration_changed() {
  places_.clear();
  look_again();
}

void Quotas::count() {
  count_posted_ = false;
  if (counting_ || wanted_.empty()) return;
  auto counting = std::make_unique<Counting>();
  while (!wanted_.empty() && counting->paths.size() < kMostAtOnce) {
    counting->paths.push_back(std::move(wanted_.back()));
    wanted_.pop_back();
  }
  std::string bytes;
  for (const std::string& path : counting->paths) bytes.append(path).push_back('\0');
  const os::UniqueFd input(::memfd_create("minke-count", MFD_CLOEXEC));
  Result<os::UniqueFd> output = failure("it cannot be told what to count");
  if (input && ::write(input.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) &&
      ::lseek(input.get(), 0, SEEK_SET) == 0)
    output = os::start_detached({.argv = os::helper_command(os::Helper::kStorageCount, {core_.config.home}),
                                 .log_path = core_.config.home + "/storage.log",
                                 .without_variables = {"SLURM_*"},
                                 .input = input.get()});
  if (!output) {
    os::log_warning("storage is not counted: " + output.error().message);
    for (const std::string& path : counting->paths) {
      counts_[path].asked = false;
      counts_[path].time = core_.now();
    }
    return;
  }
  counting->output = std::move(*output);
  ::fcntl(counting->output.get(), F_SETFL, O_NONBLOCK);
  counting->watch = core_.loop.on_readable(counting->output.get(), [this] { on_result(); });
  counting_ = std::move(counting);
}

void Quotas::on_result() {
  if (!os::read_lines(counting_->output.get(), counting_->unread,
                      [this](const std::string& line) { take(line); }))
    return;
  for (const std::string& path : counting_->paths) {
    Count& count = counts_[path];
    if (!std::exchange(count.asked, false)) continue;
    count.time = core_.now();  // it could not be counted: nothing new is known
    count.changed = false;
  }
  counting_.reset();
  look_again();
  count();
}

// "INDEX SPACE FILES MILLISECONDS"
void Quotas::take(const std::string& line) {
  std::istringstream fields(line);
  size_t index = 0;
  uint64_t space = 0, files = 0, milliseconds = 0;
  if (!(fields >> index >> space >> files >> milliseconds) || index >= counting_->paths.size()) return;
  const std::string& path = counting_->paths[index];
  Count& count = counts_[path];
  storage::Tier limits;
  for (const auto& [user, places] : places_) {
    for (const Place& place : places) {
      if (place.path == path) limits = place.tier;
    }
  }
  count = {.use = counted_use(limits, space, files, count.use, core_.now()),
           .time = core_.now(),
           .milliseconds = milliseconds};
  keep(path, count);
}

void Quotas::look_again() {
  std::map<std::pair<uint32_t, uint32_t>, bool> held;
  std::vector<uint32_t> other;
  for (const auto& [id, job] : core_.state.jobs()) {
    if (job->state != model::JOB_PENDING) continue;
    const auto [known, is_new] = held.try_emplace({job->uid, job->gid});
    if (is_new) known->second = !problem(job->uid, job->gid).empty();
    if (known->second != held_by_quota(*job) && (job->queued || held_by_quota(*job))) other.push_back(id);
  }
  for (const uint32_t id : other) {
    if (Job* job = core_.state.find(id)) core_.job_events.tell(&JobListener::obstacle_changed, *job);
  }
  if (held.empty()) {
    timer_->cancel();
    armed_ = false;
  }
}

// Only problem() sets it, because it is called again and again while jobs wait.
void Quotas::set_timer() {
  if (std::exchange(armed_, true)) return;
  const int64_t seconds = held_.empty()
                              ? core_.config.storage.count_seconds
                              : std::min<int64_t>(core_.config.storage.count_seconds, kLeastSeconds);
  timer_->set_after(std::chrono::seconds(std::max<int64_t>(1, seconds)));
}

}  // namespace minke::engine
