// minke estimate: the GPU memory that a model needs to run and to be trained, and the request for the cluster
// in use and for each well-known one. ml/memory.h has the formulas; this formats their results. Pure; any
// thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ml/cluster_profile.h"
#include "ml/machine_offers.h"
#include "ml/memory.h"
#include "ml/model_shape.h"

namespace minke::view {

struct EstimateTerms {
  ml::ModelShape shape;
  std::string source;              // where the model's size comes from
  std::string task = "inference";  // inference, full, lora, qlora: the purpose of the #SBATCH lines
  ml::Precision precision = ml::Precision::kFp16;
  ml::Precision cache_precision = ml::Precision::kFp16;
  std::string optimizer_name = "adamw";
  ml::Optimizer optimizer = ml::Optimizer::kAdamMixed;
  uint64_t context = 8192;  // tokens
  uint64_t batch = 1;
  uint32_t rank = 16;
  std::string time = "3:00:00";
  std::string cluster;  // only this one; "here": only the cluster in use; empty: all
  std::shared_ptr<const ml::MachineOffers> here;  // the cluster in use; null: it is not known
};

class MemoryEstimate {
 public:
  explicit MemoryEstimate(EstimateTerms terms);
  std::string text() const;
  std::string json() const;

 private:
  struct Training {
    const char* name;
    ml::Method method;
    ml::TrainingMemory memory = {};
  };

  ml::MemoryNeed need() const;  // of the task
  void append_weights(std::string& out) const;
  void append_inference(std::string& out) const;
  void append_training(std::string& out) const;
  void append_clusters(std::string& out) const;
  void append_here(std::string& out) const;
  // Lines for processors alone, where a machine without GPUs has the memory that inference needs; else empty.
  std::vector<std::string> lines_on_processors() const;
  bool is_asked(std::string_view cluster) const {
    return terms_.cluster.empty() || terms_.cluster == cluster;
  }

  const EstimateTerms terms_;
  ml::InferenceMemory inference_;
  std::vector<Training> training_;
  std::optional<ml::Placement> here_;
  std::vector<std::pair<std::string_view, std::optional<ml::Placement>>> clusters_;
};

}  // namespace minke::view
