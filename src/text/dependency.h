// Dependencies of jobs: "afterok:1:2,afterany:3_4" and "after:5+10?singleton".
//
// Terms are joined by "," (all must hold) or by "?" (one is enough; one "?" makes it so for all, as in
// Slurm). Pure; may be called from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/job_terms.pb.h"

namespace minke::text {

struct DependencyList {
  std::vector<model::Dependency> terms;
  bool any = false;
};

// A bare number is afterany, "12_*" is job 12, an array (whole_array), "+minutes" may follow any job. "" is
// the empty list. Fails with Slurm's "Job dependency problem".
Result<DependencyList> parse_dependencies(std::string_view text);

// squeue's %E: "afterok:1(unfulfilled),after:5_*+10(unfulfilled)". Fulfilled
// terms are left out, as in Slurm; "" if none is left. Whole arrays are
// written with "_*".
std::string format_dependencies(const DependencyList& list);

// Writes the list as typed, without states: parse_dependencies reads it back. `with_arrays`: with the "_*" of
// whole arrays.
std::string format_dependency_request(const DependencyList& list, bool with_arrays = false);

}  // namespace minke::text
