// How a shard (a part of a GPU that is given out by itself) is numbered in a GresAllocation of the name
// "shard": number i of GPU g has the index g * kShardsOfGpu + i. So the GPU is known without its node. Any
// thread.
#pragma once

#include <cstdint>

namespace minke::model {

constexpr std::uint32_t kShardsOfGpu = 64;  // at most; as many devices as a node can have of one GRES name

}  // namespace minke::model
