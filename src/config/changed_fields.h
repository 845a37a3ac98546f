// What the files changed of a record that operators changed as well: field by field, the file counts where it
// says something else than before, and the operator where it does not. Pure.
#pragma once

#include "model/cluster.pb.h"

namespace minke::config {

// `before` and `now`: what the files said of it, and say; `present`: as it stands.
model::PartitionRecord with_changes(const model::PartitionRecord& before, const model::PartitionRecord& now,
                                    const model::PartitionRecord& present);

}  // namespace minke::config
