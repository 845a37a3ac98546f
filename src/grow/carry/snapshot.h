// The directory that take_snapshot() makes: `record` and `queue`, what the old daemon tells of ended and of
// active jobs; `cluster.db`, a copy of its data base, for scripts, environments and accounts; and
// `snapshot.json`, which is written last: without it there is no snapshot. Files of later steps are beside
// them. All of it is root's alone. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/accounting.pb.h"
#include "base/result.h"
#include "grow/carry/carry.h"
#include "model/accounts.pb.h"
#include "store/job_row.h"
#include "store/store.h"

namespace minke::grow {

class Snapshot {
 public:
  static Result<Snapshot> open(const std::string& directory);

  const OldCluster& cluster() const { return cluster_; }
  const std::string& directory() const { return directory_; }
  int64_t time() const { return time_; }  // s since the epoch
  // What the old machine had: "cpu", "mem" (MiB), "node", "gres/gpu".
  const std::map<std::string, uint64_t>& machine() const { return machine_; }

  // Of this cluster only.
  std::vector<model::AccountRecord> accounts;
  std::vector<model::UserRecord> users;
  std::vector<model::AssociationRecord> associations;
  std::vector<model::QosRecord> qos;
  std::map<uint32_t, model::UsageRecord> usage, qos_usage;  // by association, without what is below it
  // Accounts and the like that are of other clusters, or that Slurm keeps elsewhere: in words.
  std::vector<std::string> left_out;

  struct ActiveJob {
    model::JobRecord record;  // with its spec, as listings show it
    store::ContentHash script, environment;
  };
  const std::vector<ActiveJob>& active_jobs() const { return active_jobs_; }
  Result<std::string> content(const store::ContentHash& hash) const;
  // Of what has ended of a job, or of an array.
  Result<store::Store::ArrayOutcome> outcome(uint32_t job_id) const;
  uint32_t highest_job_id() const { return loaded_.highest_job_id; }

  // All runs that have ended, ordered by job and run.
  using TakeJob = std::function<Status(const api::AccountedJob& job)>;
  Status ended_jobs(const TakeJob& take) const;

 private:
  Status read_records();
  Status read_queue();

  std::string directory_;
  OldCluster cluster_;
  int64_t time_ = 0;
  std::map<std::string, uint64_t> machine_;
  std::unique_ptr<store::Store> store_;
  store::Loaded loaded_;
  std::vector<ActiveJob> active_jobs_;
};

}  // namespace minke::grow
