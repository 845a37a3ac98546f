// Reads the output of `sacct --parsable2` (-P) or -p, with its header: the jobs of a real Slurm cluster.
//
// Columns are found by their names, in any order; required are JobID or JobIDRaw, Submit, Elapsed
// or ElapsedRaw, and AllocTRES, ReqTRES, AllocCPUS, NCPUS or ReqCPUS. Optional are Eligible,
// Timelimit or TimelimitRaw, AllocNodes or NNodes, ReqMem, User, Group, Account, Partition, QOS.
// Steps are skipped; jobs that never ran are left out. Times are local, as sacct prints them. Pure
// but for the time zone.
#pragma once

#include <string_view>

#include "base/result.h"
#include "sim/trace.h"

namespace minke::sim {

// Whether a text looks like such output: its first line has columns between bars.
bool looks_like_sacct(std::string_view text);

// An error names the line.
Result<Trace> read_sacct(std::string_view text);

}  // namespace minke::sim
