// What agents measured of jobs that have ended, on the disk of the head's agent: one row for each job and
// node, in one data base, whose oldest rows go where all of them get too large. What is lost with it can be
// measured no more, but Slurm's own record has the sums: so it is not synced at each change. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/measurements.pb.h"
#include "base/result.h"
#include "store/sqlite.h"

namespace minke::engine::slurm {

class EndedJobs {
 public:
  // Makes the directory. `most_bytes`: of all rows.
  static Result<std::unique_ptr<EndedJobs>> open(const std::string& directory,
                                                 uint64_t most_bytes = uint64_t{256} << 20);

  // In place of what was known of the same jobs on this node.
  Status keep(const std::string& node, const api::MeasurementsReply& jobs);
  // One for each node, which the job's node list names.
  Result<std::vector<api::JobMeasurement>> of(uint32_t job_id);

 private:
  EndedJobs(std::unique_ptr<store::Connection> connection, uint64_t most_bytes)
      : connection_(std::move(connection)), most_bytes_(most_bytes) {}
  Status prepare();
  Status keep_rows(const std::string& node, const api::MeasurementsReply& jobs);
  Status drop_oldest();

  std::unique_ptr<store::Connection> connection_;
  const uint64_t most_bytes_;
  std::mutex lock_;
  store::Statement put_, get_;
};

}  // namespace minke::engine::slurm
