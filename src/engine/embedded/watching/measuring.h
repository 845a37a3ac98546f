// What running jobs and their GPUs use, sampled every now and then, kept as a series for each run.
//
// A thread reads control groups, /proc and the GPUs' driver, which may take their time; it sleeps while
// nobody asks it. The timer that asks runs only while jobs run. Everything else is the state's thread's.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/embedded/job_events.h"
#include "engine/embedded/state/job_matcher.h"
#include "engine/embedded/watching/metric_keeper.h"
#include "engine/embedded/watching/series.h"
#include "model/cluster.pb.h"
#include "model/measurement.pb.h"
#include "node/job_sampler.h"
#include "os/event_loop.h"

namespace minke::api {
class JobFilter;
class MeasurementsReply;
class QueryMeasurementsRequest;
}  // namespace minke::api

namespace minke::model {
class StepRecord;
}  // namespace minke::model

namespace minke::rpc {
class ServerMessage;
}  // namespace minke::rpc

namespace minke::engine {

struct Core;

class Measuring : public JobListener {
 public:
  explicit Measuring(Core& core);
  ~Measuring() override;

  void job_started(Job& job, Start start) override;
  // One that runs since before this daemon: what was stored of it goes on.
  void adopt(const Job& job);
  // Adds what was measured of it to its usage, and stores its series. Before its record is written.
  void job_freed(Job& job, int64_t end_time) override;
  // After a job's last run: what it wrote of its own progress goes into its record, too.
  void job_ended(Job& job, bool) override { keeper_.job_ended(job); }
  // Adds what was measured while the step ran, until its end or now. `gpus`: by node, of the step.
  void add_usage(const Job& job, model::StepRecord& step, const std::vector<model::GpuDevice>& gpus) const;
  // Stores the series as they are: the daemon is about to stop.
  void store_all();

  using Part = std::function<void(rpc::ServerMessage& message, bool last)>;
  void query(const api::QueryMeasurementsRequest& request, Viewer viewer, const Part& part);

  // Why the GPUs cannot be asked now; empty: they can, or there are none.
  const std::string& gpu_problem() const { return gpu_problem_; }

 private:
  void track(const Job& job);
  static constexpr double kFresh = 0.5;  // seconds for which a sample is as good as a new one
  struct Track {
    uint32_t run = 0;
    Series series;
    double joules = 0;
    size_t stored = 0;  // samples seen when it was stored last
    size_t seen = 0;
  };
  struct Round;  // one time that the thread is asked
  class Reader;

  void ask();
  void received(const Round& round);
  struct Spent {  // since the round before
    double seconds = 0;
    uint64_t cpu_milliseconds = 0;  // of the whole machine
    double cpu_joules = 0;
    std::map<std::string, double> gpu_joules;  // by UUID
  };
  Spent spent_since(const Round& round);
  void take_gpus(const Round& round);
  void add_sample(Track& track, const node::JobUse& use, const Spent& spent, const Round& round);
  void lost_gpus(std::map<std::string, std::string> lost);
  std::map<std::string, double> gpu_joules(const Round& round);  // since the round before, by UUID
  void store(uint32_t job_id, Track& track);
  void answer(const api::QueryMeasurementsRequest& request, Viewer viewer, const Part& part);
  void add_running(const api::QueryMeasurementsRequest& request, Viewer viewer,
                   api::MeasurementsReply& reply);
  void add_ended(const api::QueryMeasurementsRequest& request, Viewer viewer, api::MeasurementsReply& reply);
  void add_counts(const api::JobFilter& filter, Viewer viewer, api::MeasurementsReply& reply);

  Core& core_;
  std::map<uint32_t, Track> tracks_;  // by job
  std::unique_ptr<os::EventLoop::Timer> timer_;
  bool armed_ = false, asking_ = false;
  std::vector<std::function<void()>> when_received_;
  // Of the last round.
  double last_seconds_ = 0;
  node::MachineUse machine_;
  double machine_cores_ = 0, machine_watts_ = 0;
  bool gpus_answered_ = false;  // the last time
  std::map<std::string, model::Sample::Gpu> gpus_;
  std::map<std::string, uint64_t> gpu_millijoules_;
  std::string gpu_problem_;
  MetricKeeper keeper_;
  std::unique_ptr<Reader> reader_;  // the last: its thread ends first
};

}  // namespace minke::engine
