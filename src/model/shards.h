// Numbers shards (parts of a GPU that are allocated separately) in a GresAllocation of the name
// "shard": number i of GPU g has the index g * kShardsOfGpu + i. So the index gives the GPU without
// its node. Any thread.
#pragma once

#include <cstdint>

namespace minke::model {

constexpr std::uint32_t kShardsOfGpu = 64;  // at most

}  // namespace minke::model
