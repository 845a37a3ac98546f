// The queue as it was a moment ago, which all pages share: a short record of each job. It is fetched where
// somebody asks and the last one is too old; many who ask at once cause one request. Any thread; blocking.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"

namespace minke::api {
class JobsReply;
}  // namespace minke::api

namespace minke::engine {
class Engine;
}  // namespace minke::engine

namespace minke::model {
class JobRecord;
}  // namespace minke::model

namespace minke::portal {

struct QueueNow {
  ~QueueNow();
  std::vector<api::JobsReply> replies;
  std::vector<const model::JobRecord*> jobs;  // of `replies`, by their ids
  int64_t now = 0;                            // the cluster's time, s since the epoch
  bool is_of_slurm = false;                   // each question to a real Slurm costs it a command
  std::chrono::steady_clock::time_point fetched;
  std::chrono::milliseconds cost{0};  // that the cluster and the way took
};

class Queue {
 public:
  // Returns one that is at most so old; or older, where fetching takes long: the cluster is not asked for
  // more than a twentieth of the time.
  Result<std::shared_ptr<const QueueNow>> get(engine::Engine& cluster, std::chrono::milliseconds age);
  // After a change of one's own: the next one is new.
  void outdate();
  // Gives its memory back, if nobody has asked lately. Returns whether something is left.
  bool forget_unused();

 private:
  std::mutex mutex_;
  std::shared_ptr<const QueueNow> last_;
  std::chrono::steady_clock::time_point asked_;
};

}  // namespace minke::portal
