// The parameters of slurm.conf that stand alone: which of them have an effect here, and which.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "config/configuration.h"

namespace minke::config {

// Returns whether it has an effect here: false for parameters of Slurm that nothing here uses. Fails on names
// that Slurm does not know either, and on impossible values.
Result<bool> set_parameter(Configuration& config, const std::string& name, const std::string& value);

// Applies the defaults of all partitions to those of minke.toml.
void inherit_partition_defaults(Configuration& config);
// SelectTypeParameters of a cluster whose memory is handed out: partitions without a default give whole
// nodes' memory.
Status set_select_parameters(Configuration& config, const std::string& value);
void give_whole_memory(Configuration& config);

// Removes GANG from a PreemptMode: GANG says how suspended jobs take turns.
std::string preempt_mode_without_gang(std::string_view value);

}  // namespace minke::config
