// The jobs of a submission, by the mark in their comment. Whoever asks twice asks when the answers that the
// engine keeps may be older than the submission. One thread; blocking.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "base/result.h"
#include "engine/engine.h"

namespace minke::engine::slurm {

// This user's, of an array its own number: those that slurmctld knows now; where there are none, those that
// the record has since `from`, in s since the epoch, by a clock that may differ by five minutes. That the
// record cannot be asked is no error: slurmctld keeps what has ended for some minutes.
Result<std::set<uint32_t>> find_marked(Engine& cluster, const std::string& mark, int64_t from);

}  // namespace minke::engine::slurm
