// What an agent has measured of the jobs on its node: a bounded series of each, of those that run and, for an
// hour, of those that have ended. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "api/measurements.pb.h"
#include "engine/embedded/watching/series.h"
#include "engine/slurm/node_jobs.h"
#include "node/gpus.pb.h"

namespace minke::engine::slurm {

// Behind which ended jobs somebody goes on who has had those before: when it ended, and its number.
struct EndedAfter {
  int64_t time = 0;
  uint32_t job_id = 0;
  auto operator<=>(const EndedAfter&) const = default;
};

// Which jobs are asked for; neither: those that run, and as many of the others as there is room for.
struct AskedJobs {
  std::optional<uint32_t> job_id;  // this one alone
  std::optional<EndedAfter> ended_after;
};
// "job=7", "ended=1700000000,7"; none: it is neither.
std::optional<AskedJobs> asked_jobs(const std::string& word);
std::string words_of(const AskedJobs& asked);  // the other way round; empty: neither

class MeasuredJobs {
 public:
  // Which GPUs these jobs use, as far as it is known by now.
  node::GpuQuestion question_for(const std::vector<NodeJob>& jobs) const;
  void round(const std::vector<NodeJob>& jobs, const node::GpuReport& gpus, const node::MachineUse& machine);
  // What this user may see, `all`: everything.
  api::MeasurementsReply answer(uint32_t uid, bool all, bool with_series, const AskedJobs& asked) const;

 private:
  struct Job {
    std::optional<uint32_t> uid;
    Series series;
    std::vector<std::string> gpus;
    int64_t seen = 0;
  };
  void drop_old(int64_t now);
  std::vector<uint32_t> in_order(const AskedJobs& asked) const;
  static void describe(uint32_t id, const Job& job, bool running, bool with_series, api::JobMeasurement& out);

  mutable std::mutex lock_;
  std::map<uint32_t, Job> jobs_;
  int64_t last_round_ = 0;
  node::MachineUse machine_;  // at the last round
};

}  // namespace minke::engine::slurm
