// Waiting: clients that wait for a job to start or to end (sbatch --wait, salloc, srun, scontrol wait_job).
// They are told of an end once it is durable. All waiters of a job share one record; each client's answer is
// made from it in the client's turn (dispatch_waits.cpp). State's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "engine/embedded/job_events.h"

namespace minke::model {
class JobRecord;
}  // namespace minke::model

namespace minke::engine {

struct Core;
struct Job;

class Waiting : public JobListener {
 public:
  explicit Waiting(Core& core) : core_(core) {}
  using Record = std::shared_ptr<const model::JobRecord>;  // with its spec
  using Tell = std::function<void(const Record& record)>;

  // `whose`: the key for forget(); null: a waiter that is never forgotten.
  void for_start(uint32_t job_id, Tell tell, const void* whose = nullptr);
  void for_end(uint32_t job_id, Tell tell, const void* whose = nullptr);
  void forget(uint32_t job_id, const void* whose);  // this waiter is gone
  void job_launched(Job& job) override;
  // An array ends with its last task. Its waiters get the record of that task, with the
  // highest exit code of all tasks.
  void job_ended(Job& job, bool ran) override;

 private:
  struct Waiter {
    Tell tell;
    const void* whose;
  };
  using Waiters = std::unordered_multimap<uint32_t, Waiter>;
  static void tell(Waiters& waiters, uint32_t job_id, const Record& record);
  Record record_of(const Job& job) const;
  bool array_is_over(uint32_t array_job_id) const;

  Core& core_;
  Waiters starts_, ends_;
  std::unordered_map<uint32_t, int32_t> highest_exit_;  // of arrays with waiters
};

}  // namespace minke::engine
