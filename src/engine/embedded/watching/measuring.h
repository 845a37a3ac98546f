// Measuring: samples what running jobs and their GPUs use, and keeps a series for each run.
//
// A separate thread reads control groups, /proc and the GPU driver, which may be slow; it sleeps between
// questions. The timer runs only while jobs run. Everything else belongs to the state's thread.
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
#include "engine/embedded/watching/host_rise.h"
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
  // Continues the stored series of a job that an earlier daemon started.
  void adopt(const Job& job);
  // Adds the measurements to the job's usage and stores its series. Runs before its record is written.
  void job_freed(Job& job, int64_t end_time) override;
  // After a job's last run, the training metrics that it wrote go into its record too.
  void job_ended(Job& job, bool) override { keeper_.job_ended(job); }
  // Adds the measurements during the step, until its end or now. `gpus`: the step's GPUs by node.
  void add_usage(const Job& job, model::StepRecord& step, const std::vector<model::GpuDevice>& gpus) const;
  // Stores all series, because the daemon is about to stop.
  void store_all();

  using Part = std::function<void(rpc::ServerMessage& message, bool last)>;
  void query(const api::QueryMeasurementsRequest& request, Viewer viewer, const Part& part);

  // Why the GPUs cannot be queried now; empty: they can, or there are none.
  const std::string& gpu_problem() const { return gpu_problem_; }

 private:
  void track(const Job& job);
  static constexpr double kFresh = 0.5;  // seconds for which a sample counts as current
  struct Track {
    uint32_t run = 0;
    Series series;
    double joules = 0;
    size_t stored = 0;  // samples seen at the last store()
    size_t seen = 0;
  };
  struct Round;  // one question to the thread
  class Reader;

  void ask();
  void received(const Round& round);
  struct Spent {  // since the last round
    double seconds = 0;
    uint64_t cpu_milliseconds = 0;  // of the whole machine
    double cpu_joules = 0;
    std::map<std::string, double> gpu_joules;  // by UUID
    HostRise host;
  };
  Spent spent_since(const Round& round);
  void take_gpus(const Round& round);
  void add_sample(const Job& job, Track& track, const node::JobUse& use, const Spent& spent,
                  const Round& round);
  void lost_gpus(std::map<std::string, std::string> lost);
  std::map<std::string, double> gpu_joules(const Round& round);  // since the last round, by UUID
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
  // Values of the last round.
  double last_seconds_ = 0;
  node::MachineUse machine_;
  double machine_cores_ = 0, machine_watts_ = 0;
  bool gpus_answered_ = false;  // in the last round
  std::map<std::string, model::Sample::Gpu> gpus_;
  std::map<std::string, uint64_t> gpu_millijoules_;
  std::string gpu_problem_;
  MetricKeeper keeper_;
  std::unique_ptr<Reader> reader_;  // the last member: its thread ends first
};

}  // namespace minke::engine
