// Transitions that follow from the launcher's state: starts by an earlier
// daemon, and runs that were lost.
#include <utility>
#include <vector>

#include "engine/embedded/core.h"
#include "engine/embedded/launching/launching.h"
#include "engine/embedded/life_cycle/lifecycle.h"
#include "model/job_record.pb.h"
#include "os/log.h"

namespace minke::engine {

using namespace model;

namespace {

bool has_prologs(const config::PrologConfiguration& config) {
  return !config.prolog.empty() || !config.epilog.empty() || !config.prolog_slurmctld.empty() ||
         !config.epilog_slurmctld.empty();
}

}  // namespace

void Lifecycle::adopt_start(Job& job, const JobRecord& record) {
  MINKE_CHECK(job.state == JOB_PENDING);
  Details& details = job.need_details();
  details.nodes = record.nodes();
  for (int i = 0; i < details.nodes.size(); ++i)
    if (details.nodes[i].node() == record.batch_host()) details.script_node = i;
  details.partition = record.partition();
  details.billing = record.billing();
  job.time_limit_minutes = record.time_limit_minutes();
  enter_running(job, record.start_time(), JobListener::Start::kAdopted);
}

void Lifecycle::wait_again(Job& job) {
  // Actions besides the launch must be undone: prologs, and the start of other
  // components. A requeue does that.
  if (job.het_job_id != 0 || has_prologs(core_.config.prologs)) {
    job.need_details().requeue_when_ended = true;
    return finish(job, JOB_REQUEUED, FAIL_LAUNCH, 0, core_.now());
  }
  core_.alarms.cancel(job.id);
  core_.job_events.tell(&JobListener::job_freed, job, job.start_time);
  job.state = JOB_PENDING;
  job.reason = WAIT_NO_REASON;
  job.start_time = 0;
  if (job.array_job_id != 0) --core_.state.find_array(job.array_job_id)->running;
  core_.job_events.tell(&JobListener::job_waits_again, job);
  std::vector<Dependency> dependencies = std::move(job.details->dependencies);
  const uint32_t next_step_id =
      job.details->next_step_id;  // the run keeps its number, so its steps keep theirs
  job.details.reset();
  if (!dependencies.empty()) job.need_details().dependencies = std::move(dependencies);
  if (next_step_id != 0) job.need_details().next_step_id = next_step_id;
  core_.committer.job_changed(job.id);
  set_alarm(job);
  if (job.array_job_id != 0) core_.job_events.tell(&JobListener::array_task_over, job.array_job_id);
  core_.job_events.tell(&JobListener::obstacle_changed, job);
}

void Lifecycle::lost(Job& job, const std::string& detail) {
  Details& details = job.need_details();
  if (!job.completing) {
    details.reason_detail = detail;
    details.requeue_when_ended = job.has_script() && job.requeue_allowed;
    if (job.state == JOB_SUSPENDED) count_suspension(job);
    job.state = details.ending_as = JOB_NODE_FAIL;
    job.reason = details.ending_reason = FAIL_DOWN_NODE;
    job.completing = true;
    core_.committer.job_changed(job.id);
  }
  core_.launching->end_allocation(job);
}

}  // namespace minke::engine
