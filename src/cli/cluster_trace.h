// The record of ended jobs of the cluster in use, as a trace to replay: minke simulate cluster. One thread;
// blocking.
#pragma once

#include <string>

#include "base/result.h"
#include "sim/trace.h"

namespace minke::cli {

// Of the jobs submitted since `since`, in the words of sacct -S, that the cluster shows to this user; its
// processors are those of the nodes. Tells on standard error how many jobs it is about.
Result<sim::Trace> cluster_trace(const std::string& since);

}  // namespace minke::cli
