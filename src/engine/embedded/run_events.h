// What becomes of a job's run, told by those who carry it out: engine/embedded/launching/launching.h, which
// passes on what the launcher reports, and engine/embedded/launching/prologs.h. Shortages, steps and
// lifecycle listen, in this order: what a run leaves behind is noted before the run is over. State's thread.
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

  // Its prologs have succeeded, or it has none: nothing holds it back any more.
  virtual void prologs_over(Job&) {}
  // One has failed. `launched`: some of the job may run; `hold`: it is not to be tried again by itself.
  virtual void prolog_failed(Job&, bool /*launched*/, bool /*hold*/) {}
  // Nothing of it is left and its epilogs have run; how it ends was decided before they did.
  virtual void epilogs_over(Job&, model::JobState, model::StateReason, int32_t /*exit_code*/,
                            int64_t /*end_time*/) {}

  // Nothing of it has run: the machine lacks something (os/shortage.h), or something else is in the way.
  virtual void launch_lacked(Job&, const std::string& /*problem*/) {}
  virtual void launch_failed(Job&, const std::string& /*problem*/, int64_t /*time*/) {}
  // Its script has ended, and nothing of the job is left. `status`: as of wait(2), or text::kOutOfMemory.
  virtual void script_ended(Job&, const node::TaskEnd&, int32_t /*status*/, int64_t /*end_time*/) {}
  // Its launcher died, or its end was not stored: nobody knows how it ended.
  virtual void run_lost(Job&, const std::string& /*why*/, int64_t /*time*/) {}
  // Nothing of it is left, or ever was; how it ended is known already, or `exit_code` says it.
  virtual void nothing_left(Job&, int32_t /*exit_code*/) {}

  // Of a step.
  virtual void step_launched(const node::Launch&) {}
  virtual void step_task_ended(const node::Launch&) {}
  virtual void step_ended(const node::Launch&) {}
};

using RunEvents = Events<RunListener>;

}  // namespace minke::engine
