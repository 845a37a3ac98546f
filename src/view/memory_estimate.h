// minke estimate: the GPU memory that a language model needs to run and to be trained, and the request for
// each well-known cluster. ml/memory.h has the formulas; this formats their results. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ml/cluster_profile.h"
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
  std::string cluster;  // only this one; empty: all
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

  const EstimateTerms terms_;
  ml::InferenceMemory inference_;
  std::vector<Training> training_;
  std::vector<std::pair<std::string_view, std::optional<ml::Placement>>> clusters_;
};

}  // namespace minke::view
