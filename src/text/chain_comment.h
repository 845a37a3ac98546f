// "part 2 of 3": which part of a chain (minke chain) a job runs, at the beginning of its comment, where
// squeue and scontrol show it. What the user wrote there follows behind "; ". And how many parts there are.
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace minke::text {

// The parts that `left` s of work take if each runs for `each` s; 1 at least. What is left when one has been
// warned, `warn` s before its end, makes no part of its own.
uint32_t chain_parts(int64_t left, int64_t each, int64_t warn);

// The comment with this part in it, in place of one that it tells already.
std::string with_chain_part(std::string_view comment, uint32_t part, uint32_t parts);

// "part 2 of 3", as the comment tells; empty where it tells none.
std::string_view chain_part_in(std::string_view comment);

}  // namespace minke::text
