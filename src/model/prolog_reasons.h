// Why a job that has its nodes does not run yet. Beside the enumerators of job.proto, which has open
// enumerations: these two are never a job's for long, and are told from the others in few places.
#pragma once

#include "model/job.pb.h"

namespace minke::model {

// PrologSlurmctld runs: CONFIGURING, reason None.
inline constexpr auto kConfiguring = static_cast<StateReason>(35);
// Prolog runs, as Slurm's WAIT_PROLOG.
inline constexpr auto kWaitProlog = static_cast<StateReason>(36);

}  // namespace minke::model
