// A job of `squeue --json` as a record of ours. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace minke::model {
class JobRecord;
}  // namespace minke::model

namespace minke::engine::slurm {

// What this job's JSON does not tell stays absent. Job id 0: it is no job.
model::JobRecord job_of(const nlohmann::json& from);

}  // namespace minke::engine::slurm
