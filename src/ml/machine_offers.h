// The GPUs of the cluster in use, as what a job can ask for there (clusters/known_cluster.h), from its nodes.
//
// Offers refer to texts of this object: it stays where it is. Pure; one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "clusters/known_cluster.h"

namespace minke::model {
class NodeRecord;
}  // namespace minke::model

namespace minke::ml {

// GiB of one GPU by its type alone, as clusters name them: "a100", "h100_3g.40gb"; nothing if it is not
// known. Where a type is of several sizes, the smallest.
std::optional<double> memory_of_gpu_type(std::string_view type);

class MachineOffers {
 public:
  explicit MachineOffers(std::string name);
  MachineOffers(const MachineOffers&) = delete;
  MachineOffers& operator=(const MachineOffers&) = delete;

  void add(const model::NodeRecord& node);

  // "n1"; or the name of a cluster of several nodes.
  const std::string& name() const { return name_; }
  // The types of GPUs, the smallest first.
  const clusters::KnownCluster& offers() const { return offers_; }
  // Types whose memory is not known.
  const std::vector<std::string>& unknown() const { return unknown_; }
  uint64_t most_memory_mib() const { return most_memory_mib_; }  // main memory of the node with the most
  uint32_t most_cpus() const { return most_cpus_; }              // of that node

 private:
  void add_type(const model::NodeRecord& node, const std::string& type, uint32_t count, uint32_t gpus);

  std::string name_;
  std::deque<std::string> types_;
  clusters::KnownCluster offers_;
  std::vector<std::string> unknown_;
  uint64_t most_memory_mib_ = 0;
  uint32_t most_cpus_ = 0;
};

}  // namespace minke::ml
