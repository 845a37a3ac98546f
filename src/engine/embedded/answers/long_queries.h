// Answers that may be long, made in pieces (flow_control.h): the lists of jobs and steps for squeue and
// scontrol, of priorities for sprio, of nodes and partitions for sinfo, what steps use for sstat, and the
// accounting record for sacct and seff.
//
// A piece is what some hundred records make. So each is shown as it was when its piece was made: a job that
// ends meanwhile is shown once, and none is left out that is there from the beginning to the end. What has
// left memory is read from the store, and only as fast as the client reads what there was before.
//
// State's thread. Each belongs to its LongAnswer.
#pragma once

#include "engine/embedded/answers/queries.h"
#include "engine/embedded/server/flow_control.h"
#include "engine/embedded/state/job_matcher.h"

namespace minke::api {
class QueryAccountingRequest;
class QueryJobsRequest;
class QueryPrioritiesRequest;
class QueryStepUsageRequest;
class QueryStepsRequest;
}  // namespace minke::api

namespace minke::engine {

void list_jobs(Core& core, Queries& queries, const api::QueryJobsRequest& request, Viewer viewer,
               LongAnswer& answer);
void list_steps(Core& core, Queries& queries, const api::QueryStepsRequest& request, Viewer viewer,
                LongAnswer& answer);
void list_step_usage(Core& core, Queries& queries, const api::QueryStepUsageRequest& request, Viewer viewer,
                     LongAnswer& answer);
void list_priorities(Core& core, const api::QueryPrioritiesRequest& request, Viewer viewer,
                     LongAnswer& answer);
void list_nodes(Core& core, LongAnswer& answer);
void list_partitions(Core& core, LongAnswer& answer);
void report_accounting(Core& core, Queries& queries, const api::QueryAccountingRequest& request,
                       Viewer viewer, LongAnswer& answer);

}  // namespace minke::engine
