// Generic resources (GRES) and trackable resources (TRES) in text.
//
// Pure; may be called from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/allocation.pb.h"
#include "model/job_terms.pb.h"

namespace minke::text {

// Which words are the type of a resource, where no count stands behind them.
enum class GresTypes {
  kNames,  // letters and digits, as of "a100"
  kAny,    // whatever is before the count, or is none, as for current releases: "+1" is a type, which no node
           // has
};

// --gres and the Gres of a node: "gpu", "gpu:2", "gpu:a100:2", "gres:gpu:2", "gres/gpu:a100=2", lists of
// these, "none". A count is 1 where none is given and may end in k or m (x 1024). Entries of the same name
// and type are added up, those with count 0 left out. Fails with Slurm's "Invalid generic resource (gres)
// specification".
Result<std::vector<model::Gres>> parse_gres_list(std::string_view text, GresTypes types = GresTypes::kNames);

// --gpus, --gpus-per-node, --gpus-per-task: "2", "a100:2", "a100:1,v100:1". As above, of the name "gpu".
Result<std::vector<model::Gres>> parse_gpu_list(std::string_view text, GresTypes types = GresTypes::kNames);

std::string format_gres_list(std::span<const model::Gres> gres);   // "gpu:a100:2,shard:4"; "" for none
std::string format_gres_offer(std::span<const model::Gres> gres);  // of a node: "gpu:a100:2,io:10K"
// As requested, squeue's %b and TresPerNode: "gres:gpu:a100:2"; "" for none.
std::string format_tres_per(std::span<const model::Gres> gres);
// "gpu:a100:2(IDX:0-1)", "nic(CNT:2)"; of several entries a list; "" for none.
std::string format_gres_allocation(std::span<const model::GresAllocation> gres);

// "0-1,3" of device numbers in any order.
std::string format_indices(std::span<const uint32_t> indices);

struct TresAmounts {
  uint64_t cpus = 0;
  uint64_t memory_mib = 0;
  uint64_t nodes = 0;
  std::optional<uint64_t> billing;
  std::vector<model::Gres> gres;
  std::vector<model::Gres> licenses;
};
// What Slurm's commands print: "cpu=2,mem=1.50G,node=1,gres/gpu=2,gres/gpu:a100=2". What is no amount is
// passed over; the plain name of gres that are there with their types counts what is left.
TresAmounts parse_tres(std::string_view text);
enum class TresOrder {
  kById,    // scontrol, squeue: cpu=1,mem=4G,node=1,billing=1,gres/gpu=1,gres/gpu:a100=1
  kByName,  // sacct: billing=1,cpu=1,gres/gpu:a100=1,gres/gpu=1,mem=4G,node=1
};
// Omits amounts of 0, and untracked gres. A typed gres counts under its type and under its plain name.
std::string format_tres(const TresAmounts& amounts, TresOrder order);

}  // namespace minke::text
