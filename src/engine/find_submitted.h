// The job of a process that died before it wrote down the number. One thread; blocking.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "engine/engine.h"

namespace minke::engine {

// `key` (16 bytes) is that of its submission, `from` its time, in s since the epoch. 0: there is no
// such job, or the cluster knows keys itself; submit it with the same key then. On Slurm the key is in the
// job's comment, and answers may be as old as the identity's least_poll_seconds: ask that much later.
Result<uint32_t> find_submitted(Engine& cluster, const std::string& key, int64_t from);

}  // namespace minke::engine
