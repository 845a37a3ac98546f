// The fields of a partition as slurm.conf and `scontrol update partition` set them. Pure.
#pragma once

#include <vector>

#include "base/result.h"
#include "model/cluster.pb.h"

namespace minke::api {
class Field;
}  // namespace minke::api

namespace minke::config {

// Applies one NAME=VALUE of `scontrol update partition`, or of a line of slurm.conf; refuses what is not
// supported here, with a reason. `nodes` has all nodes. Pure.
Status apply_partition_field(model::PartitionRecord& partition, const api::Field& field,
                             const std::vector<model::NodeRecord>& nodes);

}  // namespace minke::config
