// The directory below which jobs have theirs ($SLURM_TMPDIR), and what limited ones are made from: an image,
// which is mounted once as a test, so that a cluster that cannot do so does not start.
//
// At the daemon's start. Blocking.
#pragma once

#include "base/result.h"

namespace minke::config {
struct Configuration;
}  // namespace minke::config

namespace minke::engine {

Status prepare_tmp_root(const config::Configuration& config);

}  // namespace minke::engine
