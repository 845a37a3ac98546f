#include "engine/embedded/state/spec_change.h"

#include <memory>
#include <utility>

#include "engine/embedded/core.h"
#include "engine/embedded/scheduling/nodes.h"
#include "engine/embedded/state/kept_submission.h"
#include "model/job_spec.pb.h"
#include "store/job_row.h"

namespace minke::engine {

void change_spec(Core& core, Job& job, const model::JobSpec& spec) {
  Submission changed = make_submission(job.id, spec, core.nodes->default_partition().name());
  changed.script = job.submission->script;
  changed.environment = job.submission->environment;
  job.submission = keep_submission(core, job.uid, std::move(changed));
  if (is_split_record(job)) job.submission = keep_for_split_record(core, job.uid, std::move(job.submission));
  core.committer.spec_changed({job.id, spec});
}

}  // namespace minke::engine
