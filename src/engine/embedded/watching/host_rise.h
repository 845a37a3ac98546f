// HostRise: what a machine's own counters, which know no jobs, rose by between two readings, and how that
// becomes part of a job's samples: the network of the whole machine, and the busy time of the processors that
// the job is bound to. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "node/job_sampler.h"

namespace minke::model {
class Sample;
}  // namespace minke::model

namespace minke::engine {

class Series;

struct HostRise {
  uint64_t received_kib = 0, sent_kib = 0;
  std::map<uint32_t, uint64_t> processor_milliseconds;  // by number
};

// A counter that fell began anew: nothing is known of it. `before` may be empty, before the first reading.
HostRise rise_between(const node::MachineUse& before, const node::MachineUse& now);

// Fills in the host's part of the job's next sample, as totals since its first one. `held`: how many CPUs the
// job has; processes that may run on more are not bound, and then no processor is told.
void add_host(const HostRise& rise, const node::JobUse& use, size_t held, Series& series,
              model::Sample& sample);

}  // namespace minke::engine
