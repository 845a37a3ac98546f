// "part 2 of 3": which part of a chain (minke chain) a job runs, at the beginning of its comment, where
// squeue and scontrol show it. What the user wrote there follows behind "; ".
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace minke::text {

// The comment with this part in it, in place of one that it tells already.
std::string with_chain_part(std::string_view comment, uint32_t part, uint32_t parts);

// "part 2 of 3", as the comment tells; empty where it tells none.
std::string_view chain_part_in(std::string_view comment);

}  // namespace minke::text
