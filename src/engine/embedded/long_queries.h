// Answers that may be long, made in pieces (flow_control.h): the list of jobs for squeue and scontrol, and
// the accounting record for sacct and seff.
//
// A piece is what some hundred jobs make. So each job is shown as it was when its piece was made: one that
// ends meanwhile is shown once, and none is left out that is there from the beginning to the end. What has
// left memory is read from the store, and only as fast as the client reads what there was before.
//
// State's thread. Each belongs to its LongAnswer.
#pragma once

#include "engine/embedded/flow_control.h"
#include "engine/embedded/job_matcher.h"
#include "engine/embedded/queries.h"

namespace minke::api {
class QueryAccountingRequest;
class QueryJobsRequest;
}  // namespace minke::api

namespace minke::engine {

void list_jobs(Core& core, Queries& queries, const api::QueryJobsRequest& request, Viewer viewer,
               LongAnswer& answer);
void report_accounting(Core& core, Queries& queries, const api::QueryAccountingRequest& request,
                       Viewer viewer, LongAnswer& answer);

}  // namespace minke::engine
