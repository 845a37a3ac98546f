// The nodes and partitions of the configuration: [[node]] and [[partition]].
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "config/configuration.h"
#include "config/toml.h"
#include "model/job_terms.pb.h"

namespace minke::model {
class NodeRecord;
}  // namespace minke::model

namespace minke::config {

// Both add to `config`. Errors name `path` and the line. `machine` has the defaults.
Status read_node(const toml::table& from, const std::string& path, const model::NodeRecord& machine,
                 Configuration& config);
Status read_partition(const toml::table& from, const std::string& path, Configuration& config);

// Where a share of the node comes with each GPU (share_per_gpu): the smallest of the partition's nodes, once
// it is known how many GPUs they have.
void set_shares_of_gpus(Configuration& config);

// Gives the node shards of its GPUs: of all virtual ones; for real ones those of one, until the number of
// GPUs is known. Fails if that is too many.
Status add_shards(model::NodeRecord& node, uint32_t each);

// Adds GPUs and shards that are only counted. Fails if they exceed what a node can have.
Status add_virtual_gres(model::NodeRecord& node, const std::vector<model::Gres>& offered);

// Adds GRES of other names, which are only counted as well. Fails if they exceed what a node can have.
Status add_counted_gres(model::NodeRecord& node, const std::vector<model::Gres>& offered);

// Whether it is neither a GPU nor a part of one.
bool is_only_counted(const model::Gres& gres);

// Takes all other GRES away from the node.
void keep_counted_gres(model::NodeRecord& node);

// Whether the scheduler can lay out its nodes and partitions; the error says in which file what is wrong.
Status check_machine(const Configuration& config);

}  // namespace minke::config
