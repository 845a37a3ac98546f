// The functions of job_routes(): lists, one job, and what is done with one. See routes.h.
#pragma once

#include "portal/routes.h"

namespace minke::portal {

Result<Reply> list_jobs(Call& call);
Result<Reply> list_ended_jobs(Call& call);
Result<Reply> show_job(Call& call);
Result<Reply> show_job_tasks(Call& call);
Result<Reply> show_related(Call& call);
Result<Reply> show_script(Call& call);
Result<Reply> show_output(Call& call);
Result<Reply> show_why(Call& call);
Result<Reply> show_measurements(Call& call);
Result<Reply> show_metrics(Call& call);

Result<Reply> submit_job(Call& call);
Result<Reply> cancel_job(Call& call);
Result<Reply> hold_job(Call& call);
Result<Reply> release_job(Call& call);
Result<Reply> requeue_job(Call& call);
Result<Reply> limit_job(Call& call);

}  // namespace minke::portal
