// RunListener: events of a job's run. Launching, which passes on the launcher's reports, and Prologs send
// them. Shortages, Steps and Lifecycle listen, in this order, so that the remains of a run are recorded
// before the run is over. State's thread.
#pragma once

#include <cstdint>
#include <string>

#include "engine/embedded/events.h"

namespace minke::model {
enum JobState : int;
enum StateReason : int;
}  // namespace minke::model

namespace minke::node {
class Launch;
class TaskEnd;
}  // namespace minke::node

namespace minke::engine {

struct Job;

class RunListener {
 public:
  virtual ~RunListener() = default;

  // The prologs have succeeded, or there are none: nothing delays the job any more.
  virtual void prologs_over(Job&) {}
  // A prolog has failed. `launched`: some of the job may run; `hold`: it must not be tried again by itself.
  virtual void prolog_failed(Job&, bool /*launched*/, bool /*hold*/) {}
  // Nothing of the job is left and its epilogs have run. How it ends was decided before them.
  virtual void epilogs_over(Job&, model::JobState, model::StateReason, int32_t /*exit_code*/,
                            int64_t /*end_time*/) {}

  // Nothing of it has run: the machine lacks something (os/shortage.h), or something else prevents it.
  virtual void launch_lacked(Job&, const std::string& /*problem*/) {}
  virtual void launch_failed(Job&, const std::string& /*problem*/, int64_t /*time*/) {}
  // The script has ended, and nothing of the job is left. `status`: of wait(2), or text::kOutOfMemory.
  virtual void script_ended(Job&, const node::TaskEnd&, int32_t /*status*/, int64_t /*end_time*/) {}
  // The launcher died, or did not store the end: nobody knows how the run ended.
  virtual void run_lost(Job&, const std::string& /*why*/, int64_t /*time*/) {}
  // No process of it is left or ever existed. How it ended is known already, or is `exit_code`.
  virtual void nothing_left(Job&, int32_t /*exit_code*/) {}

  // Events of a step.
  virtual void step_launched(const node::Launch&) {}
  virtual void step_task_ended(const node::Launch&) {}
  virtual void step_ended(const node::Launch&) {}
};

using RunEvents = Events<RunListener>;

}  // namespace minke::engine
