#include "view/memory_estimate.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace minke::view {
namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;

std::string with_commas(uint64_t number) {
  std::string digits = std::to_string(number);
  for (size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string gib(double bytes) {
  return fmt::format("{:.2f}", bytes / kGib);
}

std::string sequences(uint64_t count) {
  return fmt::format("{} sequence{}", count, count == 1 ? "" : "s");
}

}  // namespace

MemoryEstimate::MemoryEstimate(EstimateTerms terms) : terms_(std::move(terms)) {
  inference_ = ml::inference_memory(terms_.shape, terms_.precision, terms_.cache_precision, terms_.context,
                                    terms_.batch);
  training_ = {{"full", ml::Method::kFull}, {"lora", ml::Method::kLora}, {"qlora", ml::Method::kQlora}};
  for (Training& one : training_)
    one.memory = ml::training_memory(terms_.shape, {.method = one.method,
                                                    .optimizer = terms_.optimizer,
                                                    .rank = terms_.rank,
                                                    .tokens = terms_.context,
                                                    .batch = terms_.batch});
  for (const std::string_view cluster : ml::cluster_names())
    if (terms_.cluster.empty() || cluster == terms_.cluster)
      clusters_.emplace_back(cluster, ml::place(cluster, need()));
}

ml::MemoryNeed MemoryEstimate::need() const {
  for (const Training& one : training_) {
    if (terms_.task != one.name) continue;
    // The GPUs share the weights; each has activations of its own.
    return {one.memory.weights + one.memory.trained + one.memory.room - kGib, one.memory.activations + kGib};
  }
  return {inference_.weights * 1.05 + inference_.cache, kGib};
}

void MemoryEstimate::append_weights(std::string& out) const {
  const ml::ModelShape& shape = terms_.shape;
  out += fmt::format("{}: {} parameters ({})\n", shape.name, with_commas(shape.parameters), terms_.source);
  out += fmt::format("{} layers, {} heads of {}, {} of them with keys and values\n\n", shape.layers,
                     shape.heads, shape.head_size, shape.kv_heads);
  out += "Weights, GiB      FP32      FP16       FP8      INT4\n                ";
  for (const auto one :
       {ml::Precision::kFp32, ml::Precision::kFp16, ml::Precision::kFp8, ml::Precision::kInt4})
    out += fmt::format("{:>6}    ", gib(ml::weight_bytes(static_cast<double>(shape.parameters), one)));
  while (out.ends_with(' ')) out.pop_back();
  if (shape.stored_bytes != 0)
    out += fmt::format("\nAs stored: {} GiB", gib(static_cast<double>(shape.stored_bytes)));
}

void MemoryEstimate::append_inference(std::string& out) const {
  out += fmt::format("\n\nInference with {} weights, {} of {} tokens, GiB\n",
                     ml::precision_name(terms_.precision), sequences(terms_.batch), terms_.context);
  out += fmt::format("  weights {}, keys and values {}, room for computing {}: {}\n", gib(inference_.weights),
                     gib(inference_.cache), gib(inference_.room), gib(inference_.total()));
}

void MemoryEstimate::append_training(std::string& out) const {
  out += fmt::format("\nTraining with {}, {} of {} tokens a GPU, activations computed again, GiB\n",
                     terms_.optimizer_name, sequences(terms_.batch), terms_.context);
  out += "           weights   trained  activations    total\n";
  for (const auto& [name, method, memory] : training_)
    out += fmt::format("  {:<6} {:>10} {:>9} {:>12} {:>8}\n", name, gib(memory.weights), gib(memory.trained),
                       gib(memory.activations), gib(memory.total()));
  if (terms_.shape.max_context != 0 && terms_.context > terms_.shape.max_context)
    out += fmt::format("\nThe model is made for {} tokens at most.\n", terms_.shape.max_context);
}

void MemoryEstimate::append_clusters(std::string& out) const {
  out += fmt::format("\nTo ask for, for {}\n", terms_.task);
  for (const auto& [cluster, placement] : clusters_) {
    if (!placement) {
      out += fmt::format("\n# {}: more than 64 of its nodes, or than one of its GPUs must hold\n", cluster);
      continue;
    }
    const std::string cost = placement->rgu_hours
                                 ? fmt::format("{:.2f} RGU-hours an hour", *placement->rgu_hours)
                                 : "no RGU is published";
    out += fmt::format("\n# {}: {:.0f} % of each GPU's {:.0f} GB; {}\n", cluster, placement->used_share * 100,
                       placement->offer->memory_gib, cost);
    for (const std::string& line : ml::sbatch_lines(*placement, terms_.time)) out += line + "\n";
  }
}

std::string MemoryEstimate::text() const {
  std::string out;
  append_weights(out);
  append_inference(out);
  append_training(out);
  append_clusters(out);
  return out;
}

std::string MemoryEstimate::json() const {
  using Json = nlohmann::ordered_json;
  Json out;
  out["model"] = terms_.shape.name;
  out["parameters"] = terms_.shape.parameters;
  out["stored_bytes"] = terms_.shape.stored_bytes;
  out["inference"] = {{"precision", ml::precision_name(terms_.precision)},
                      {"weights_bytes", inference_.weights},
                      {"kv_cache_bytes", inference_.cache},
                      {"total_bytes", inference_.total()}};
  for (const auto& [name, method, memory] : training_)
    out["training"][name] = {{"weights_bytes", memory.weights},
                             {"trained_bytes", memory.trained},
                             {"activations_bytes", memory.activations},
                             {"total_bytes", memory.total()}};
  for (const auto& [cluster, placement] : clusters_) {
    Json& entry = out["clusters"][std::string(cluster)];
    if (!placement) continue;  // null
    entry = {{"sbatch", ml::sbatch_lines(*placement, terms_.time)},
             {"nodes", placement->nodes},
             {"gpus_per_node", placement->gpus_per_node},
             {"gpu", placement->offer->specifier},
             {"rgu_hours_per_hour", placement->rgu_hours ? Json(*placement->rgu_hours) : Json()}};
  }
  return out.dump(2) + "\n";
}

}  // namespace minke::view
