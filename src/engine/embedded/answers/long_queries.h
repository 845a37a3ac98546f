// Long answers, made in pieces (flow_control.h): jobs and steps for squeue and scontrol,
// priorities for sprio, nodes and partitions for sinfo, the current use of steps for sstat,
// processes for scontrol listpids, and the accounting records for sacct and seff.
//
// A piece has some hundred records, each as it was when its piece was made. A job that ends meanwhile is
// shown once. A job that exists during the whole answer is never left out. Jobs that have left memory are
// read from the store, only as fast as the client reads.
//
// State's thread. Each object belongs to its LongAnswer.
#pragma once

#include "engine/embedded/answers/queries.h"
#include "engine/embedded/server/flow_control.h"
#include "engine/embedded/state/job_matcher.h"

namespace minke::api {
class QueryAccountingRequest;
class QueryJobsRequest;
class QueryPidsRequest;
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
void list_processes(Core& core, const api::QueryPidsRequest& request, Viewer viewer, LongAnswer& answer);
void list_priorities(Core& core, const api::QueryPrioritiesRequest& request, Viewer viewer,
                     LongAnswer& answer);
void list_nodes(Core& core, LongAnswer& answer);
void list_partitions(Core& core, LongAnswer& answer);
void report_accounting(Core& core, Queries& queries, const api::QueryAccountingRequest& request,
                       Viewer viewer, LongAnswer& answer);

}  // namespace minke::engine
