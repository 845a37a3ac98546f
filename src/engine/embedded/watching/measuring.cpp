#include "engine/embedded/watching/measuring.h"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "engine/embedded/core.h"
#include "engine/embedded/launching/confining.h"
#include "engine/embedded/launching/launching.h"
#include "engine/embedded/scheduling/nodes.h"
#include "engine/embedded/steps/steps.h"
#include "model/measurement.pb.h"
#include "node/gpu_probe.h"
#include "node/gpus.pb.h"
#include "node/launch.pb.h"
#include "os/log.h"
#include "store/job_row.h"
#include "store/store.h"

namespace minke::engine {

using namespace model;

namespace {

constexpr std::chrono::seconds kGpuPatience{5};
constexpr size_t kSamplesBetweenStores = 30;

size_t cpus_of(const Job& job) {
  size_t cpus = 0;
  if (job.details)
    for (const NodeAllocation& node : job.details->nodes) cpus += node.cpus();
  return cpus;
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

struct Measuring::Round {
  node::Inventory launcher;
  std::vector<node::SampledJob> jobs;
  bool with_gpus = false;
  node::GpuQuestion question;
  // When it was asked; in the answer of the thread, when jobs were read.
  int64_t time = 0;
  double seconds = 0;
  // The answer of the thread.
  std::vector<node::JobUse> uses;
  node::MachineUse machine;
  node::GpuReport gpus;
};

// The thread. It starts with the first question and is joined at the end.
class Measuring::Reader {
 public:
  Reader(os::EventLoop& loop, node::GpuOptions driver, std::function<void(const Round&)> done)
      : loop_(loop), gpus_(std::move(driver)), done_(std::move(done)), thread_([this] { work(); }) {}
  ~Reader() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    asked_.notify_one();
    thread_.join();
  }

  void ask(Round round) {
    {
      const std::lock_guard lock(mutex_);
      round_ = std::move(round);
    }
    asked_.notify_one();
  }

 private:
  void work() {
    for (;;) {
      Round round;
      {
        std::unique_lock lock(mutex_);
        asked_.wait(lock, [this] { return stop_ || round_; });
        if (stop_) return;
        round = std::move(*round_);
        round_.reset();
      }
      read(round);
      loop_.post([done = done_, alive = std::weak_ptr<bool>(alive_), round = std::move(round)] {
        if (!alive.expired()) done(round);
      });
    }
  }

  void read(Round& round) {
    if (!sampler_ || instance_ != round.launcher.instance()) {
      sampler_.emplace(round.launcher);
      instance_ = round.launcher.instance();
    }
    round.uses = sampler_->read(round.jobs);
    round.machine = sampler_->read_machine();
    const double asked = std::exchange(round.seconds, seconds_now());
    round.time += std::lround(round.seconds - asked);  // on a busy machine it may have been a while ago
    if (!round.with_gpus) return gpus_.stop();
    if (auto report = gpus_.ask(kGpuPatience, round.question)) {
      round.gpus = std::move(*report);
    } else {
      round.gpus.set_problem(report.error().message);
    }
  }

  os::EventLoop& loop_;
  node::GpuProbe gpus_;
  std::function<void(const Round&)> done_;
  std::optional<node::JobSampler> sampler_;
  std::string instance_;  // the launcher that it knows
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::mutex mutex_;
  std::condition_variable asked_;
  std::optional<Round> round_;
  bool stop_ = false;
  std::thread thread_;
};

Measuring::Measuring(Core& core)
    : core_(core),
      timer_(core.loop.make_timer([this] {
        armed_ = false;
        ask();
      })),
      keeper_(core) {}

Measuring::~Measuring() = default;

void Measuring::job_started(Job& job, Start start) {
  if (start == Start::kFresh) track(job);  // adopt() is called for the others, as for all running jobs
}

void Measuring::track(const Job& job) {
  if (core_.config.measuring_interval == 0) return;
  Track& track = tracks_[job.id];
  track.run = job.restarts;
  if (std::exchange(armed_, true)) return;
  timer_->set_after(std::chrono::seconds(core_.config.measuring_interval));
}

void Measuring::adopt(const Job& job) {
  if (core_.config.measuring_interval == 0) return;
  track(job);
  const auto stored = core_.store.series(job.id, job.restarts);
  model::Series series;
  if (!stored || !*stored || !series.ParseFromString(**stored)) return;
  Track& track = tracks_[job.id];
  track.series = Series::of(series);
  track.joules = static_cast<double>(track.series.last().energy_joules());
}

void Measuring::ask() {
  if (tracks_.empty() && when_received_.empty()) return;
  if (!armed_ && core_.config.measuring_interval != 0 && !tracks_.empty()) {
    armed_ = true;
    timer_->set_after(std::chrono::seconds(core_.config.measuring_interval));
  }
  if (std::exchange(asking_, true)) return;
  Round round;
  round.launcher = core_.launching->machine();
  round.time = core_.now();
  round.seconds = seconds_now();
  for (auto& [id, track] : tracks_) {
    const Job* job = core_.state.find(id);
    if (job == nullptr || !job->details) continue;
    node::SampledJob& sampled = round.jobs.emplace_back();
    sampled.job_id = id;
    sampled.run = track.run;
    if (track.seen == 0 && track.series.gpus().empty()) {
      std::vector<std::string> gpus;
      for (const GpuDevice& device : gpu_devices_of(core_, *job)) gpus.push_back(device.uuid());
      if (!gpus.empty()) track.series = Series(std::move(gpus));
    }
    for (const std::string& uuid : track.series.gpus()) {
      round.question.add_used(uuid);
      if (track.seen == 0) round.question.add_begun(uuid);
    }
    sampled.roots = core_.steps->pids_of(id);
    sampled.roots.push_back(job->details->batch_pid);
  }
  for (const NodeRecord& node : core_.nodes->nodes()) round.with_gpus |= !node.gpu_devices().empty();
  if (!reader_)
    reader_ = std::make_unique<Reader>(core_.loop, core_.config.gpus.driver,
                                       [this](const Round& answered) { received(answered); });
  reader_->ask(std::move(round));
}

void Measuring::lost_gpus(std::map<std::string, std::string> lost) {
  for (const auto& [id, track] : tracks_) {
    const Job* job = core_.state.find(id);
    for (const std::string& uuid : track.series.gpus()) {
      const auto found = lost.find(uuid);
      if (job == nullptr || found == lost.end() || core_.nodes->lost_gpus().contains(uuid)) continue;
      core_.launching->say(*job,
                           "JOB " + std::to_string(id) + " HAS LOST A GPU: " + uuid + ": " + found->second);
    }
  }
  core_.nodes->set_lost_gpus(std::move(lost));
}

std::map<std::string, double> Measuring::gpu_joules(const Round& round) {
  std::map<std::string, double> joules;
  const double seconds = last_seconds_ == 0 ? 0 : round.seconds - last_seconds_;
  for (const node::GpuReading& reading : round.gpus.readings()) {
    uint64_t& before = gpu_millijoules_[reading.uuid()];
    const uint64_t now = reading.energy_millijoules();
    // If the driver does not count energy: the current power times the interval.
    joules[reading.uuid()] = now != 0 && before != 0 && now >= before
                                 ? static_cast<double>(now - before) / 1000
                                 : reading.now().milliwatts() / 1000.0 * seconds;
    before = now;
  }
  return joules;
}

// Takes the driver's reading of each GPU, and finds GPUs that it has lost.
void Measuring::take_gpus(const Round& round) {
  std::string problem = round.gpus.problem();
  // One unanswered question does not mean that the GPUs are idle: the
  // last readings are used once more.
  const bool answered = problem.empty();
  if (answered || !gpus_answered_) gpus_.clear();
  gpus_answered_ = answered;
  std::map<std::string, std::string> lost;
  for (const node::GpuReading& reading : round.gpus.readings()) {
    gpus_[reading.uuid()] = reading.now();
    if (reading.problem().empty() || reading.uuid().empty()) continue;
    problem += (problem.empty() ? "" : ", ") + reading.uuid() + ": " + reading.problem();
    lost.emplace(reading.uuid(), reading.problem());
  }
  for (const NodeRecord& node : core_.nodes->nodes()) {
    for (const GpuDevice& device : node.gpu_devices()) {
      if (!gpus_.contains(device.uuid())) lost.emplace(device.uuid(), "the driver does not know it any more");
    }
  }
  // A driver that does not answer at all says nothing of single GPUs.
  if (round.with_gpus && answered) lost_gpus(std::move(lost));
  if (problem != gpu_problem_ && !problem.empty()) os::log_warning("GPUs: " + problem);
  gpu_problem_ = problem;
}

Measuring::Spent Measuring::spent_since(const Round& round) {
  Spent spent;
  spent.seconds = last_seconds_ == 0 ? 0 : round.seconds - last_seconds_;
  spent.gpu_joules = gpu_joules(round);
  spent.cpu_milliseconds = round.machine.cpu_milliseconds - machine_.cpu_milliseconds;
  spent.cpu_joules =
      static_cast<double>(round.machine.energy_microjoules - machine_.energy_microjoules) / 1e6;
  spent.host = rise_between(machine_, round.machine);
  return spent;
}

void Measuring::add_sample(const Job& job, Track& track, const node::JobUse& use, const Spent& spent,
                           const Round& round) {
  Sample sample;
  sample.set_time(round.time);
  sample.set_cpu_milliseconds(use.cpu_milliseconds);
  sample.set_memory_kib(use.memory_kib);
  sample.set_read_kib(use.read_bytes / 1024);
  sample.set_write_kib(use.write_bytes / 1024);
  sample.set_processes(use.processes);
  sample.set_threads(use.threads);
  sample.set_running_threads(use.running_threads);
  sample.set_cache_kib(use.cache_kib);
  sample.set_shared_kib(use.shared_kib);
  add_host(spent.host, use, core_.config.bind_cpus ? cpus_of(job) : 0, track.series, sample);
  for (const std::string& uuid : track.series.gpus()) {
    const auto gpu = gpus_.find(uuid);
    *sample.add_gpus() = gpu == gpus_.end() ? Sample::Gpu() : gpu->second;
    if (const auto joules = spent.gpu_joules.find(uuid);
        joules != spent.gpu_joules.end() && spent.seconds > 0)
      track.joules += joules->second;
  }
  // The processors' energy in proportion to the job's part of the total busy time.
  const uint64_t before = track.series.last().cpu_milliseconds();
  if (spent.seconds > 0 && spent.cpu_milliseconds > 0 && use.cpu_milliseconds > before)
    track.joules += spent.cpu_joules * std::min(1.0, static_cast<double>(use.cpu_milliseconds - before) /
                                                         static_cast<double>(spent.cpu_milliseconds));
  sample.set_energy_joules(static_cast<uint64_t>(track.joules));
  track.series.add(std::move(sample), round.seconds);
}

void Measuring::received(const Round& round) {
  asking_ = false;
  const Spent spent = spent_since(round);
  take_gpus(round);
  if (spent.seconds > 0) {
    machine_cores_ = static_cast<double>(spent.cpu_milliseconds) / 1000 / spent.seconds;
    machine_watts_ = spent.cpu_joules / spent.seconds;
  }
  machine_ = round.machine;
  last_seconds_ = round.seconds;
  for (size_t i = 0; i < round.jobs.size() && i < round.uses.size(); ++i) {
    const auto found = tracks_.find(round.jobs[i].job_id);
    const Job* const job = core_.state.find(round.jobs[i].job_id);
    if (job == nullptr || found == tracks_.end() || found->second.run != round.jobs[i].run)
      continue;  // it has ended
    Track& track = found->second;
    add_sample(*job, track, round.uses[i], spent, round);
    if (++track.seen - track.stored >= kSamplesBetweenStores) store(round.jobs[i].job_id, track);
  }
  for (auto& work : std::exchange(when_received_, {})) work();
}

void Measuring::store(uint32_t job_id, Track& track) {
  if (track.stored == track.seen) return;
  track.stored = track.seen;
  core_.committer.series_changed({job_id, track.run, track.series.stored().SerializeAsString()});
}

void Measuring::store_all() {
  for (auto& [id, track] : tracks_) store(id, track);
}

void Measuring::job_freed(Job& job, int64_t) {
  const auto found = tracks_.find(job.id);
  if (found == tracks_.end()) return;
  Track& track = found->second;
  if (track.run == job.restarts && !track.series.samples().empty()) {
    track.series.summarize(job.start_time - 1, core_.now(), track.series.gpus(), job.need_details().usage);
    store(job.id, track);
  }
  tracks_.erase(found);
  if (tracks_.empty()) {
    timer_->cancel();
    armed_ = false;
    last_seconds_ = 0;
  }
}

void Measuring::add_usage(const Job& job, StepRecord& step, const std::vector<GpuDevice>& gpus) const {
  const auto found = tracks_.find(job.id);
  if (found == tracks_.end()) return;
  std::vector<std::string> uuids;
  for (const GpuDevice& device : gpus) uuids.push_back(device.uuid());
  const int64_t until = step.end_time() != 0 ? step.end_time() : core_.now();
  found->second.series.summarize(step.start_time() - 1, until, uuids, *step.mutable_usage());
}

}  // namespace minke::engine
