// GRES that jobs do not use up: a node that offers "nic:no_consume:2" lets every job have up to 2 of them. As
// in Slurm, the word stands where a type would. Any thread.
#pragma once

#include <string_view>

namespace minke::model {

constexpr std::string_view kNoConsume = "no_consume";

}  // namespace minke::model
