// The parts of what is brought, for some jobs alone (bring_left()). One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "grow/carry/carry.h"
#include "grow/carry/snapshot.h"
#include "grow/carry/waiting_jobs.h"

namespace minke::grow {

Result<Brought> bring_record_of(const std::string& directory, const NewSlurm& slurm,
                                const std::function<bool(const model::JobRecord& job)>& chosen);
// What has been used since `before`, another snapshot of the same cluster; null: all.
Result<Brought> bring_usage_since(const std::string& directory, const Snapshot* before,
                                  const NewSlurm& slurm);
Result<Brought> bring_waiting_of(const std::string& directory, const NewSlurm& slurm,
                                 const std::function<bool(const WaitingJob& job)>& chosen,
                                 const IsAlone& alone = nullptr);

}  // namespace minke::grow
