// The parameters of slurm.conf that stand alone: which of them say something here, and what.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "config/configuration.h"

namespace minke::config {

// Whether it says something here: false for what Slurm knows, and nothing here answers to. Fails on names
// that Slurm does not know either, and on values that cannot be.
Result<bool> set_parameter(Configuration& config, const std::string& name, const std::string& value);

// Gives the partitions of minke.toml what holds for all that do not say themselves.
void inherit_partition_defaults(Configuration& config);

// The modes of a PreemptMode without GANG, which says how those that are suspended take turns.
std::string preempt_mode_without_gang(std::string_view value);

}  // namespace minke::config
