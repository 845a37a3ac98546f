#include "view/memory_estimate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "text/characters.h"
#include "text/printable.h"
#include "text/translate.h"

namespace minke::view {

using text::tr;
using text::tr_count;

namespace {

using ml::ModelKind;

constexpr double kGib = 1024.0 * 1024 * 1024;

std::string with_commas(uint64_t number) {
  std::string digits = std::to_string(number);
  for (size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string gib(double bytes) {
  return fmt::format("{:.2f}", bytes / kGib);
}

std::string number(uint64_t value) {
  return std::to_string(value);
}

std::string whole(double value) {
  return fmt::format("{:.0f}", value);
}

// What is worked on at once: "2 sequences of 8192 tokens", "64 images".
std::string batch_of(const EstimateTerms& terms) {
  if (terms.shape.kind == ModelKind::kImages) return tr_count("{} image", "{} images", terms.batch);
  return tr("{} of {} tokens",
            {tr_count("{} sequence", "{} sequences", terms.batch), std::to_string(terms.context)});
}

std::string cost_of(const ml::Placement& placement) {
  return placement.rgu_hours ? tr("{} RGU-hours an hour", {fmt::format("{:.2f}", *placement.rgu_hours)})
                             : tr("no RGU is published");
}

}  // namespace

MemoryEstimate::MemoryEstimate(EstimateTerms terms) : terms_(std::move(terms)) {
  inference_ = ml::inference_memory(terms_.shape, terms_.precision, terms_.cache_precision, terms_.context,
                                    terms_.batch);
  training_ = {{"full", ml::Method::kFull}};
  // Adapters of other models are not what these formulas count.
  if (terms_.shape.kind == ModelKind::kDecoder)
    training_.insert(training_.end(), {{"lora", ml::Method::kLora}, {"qlora", ml::Method::kQlora}});
  for (Training& one : training_)
    one.memory = ml::training_memory(terms_.shape, {.method = one.method,
                                                    .optimizer = terms_.optimizer,
                                                    .rank = terms_.rank,
                                                    .tokens = terms_.context,
                                                    .batch = terms_.batch});
  if (terms_.here && is_asked("here")) here_ = ml::place(terms_.here->offers(), need());
  for (const std::string_view cluster : ml::cluster_names())
    if (is_asked(cluster)) clusters_.emplace_back(cluster, ml::place(cluster, need()));
}

ml::MemoryNeed MemoryEstimate::need() const {
  for (const Training& one : training_) {
    if (terms_.task != one.name) continue;
    // The GPUs share the weights; each has activations of its own.
    return {one.memory.weights + one.memory.trained + one.memory.room - kGib, one.memory.activations + kGib};
  }
  return {inference_.weights * 1.05 + inference_.cache + inference_.images, kGib};
}

void MemoryEstimate::append_weights(std::string& out) const {
  const ml::ModelShape& shape = terms_.shape;
  out += tr("{}: {} parameters ({})", {shape.name, with_commas(shape.parameters), terms_.source}) + "\n";
  if (shape.kind == ModelKind::kImages) {
    out += tr("{} layers, images of 224 x 224", {number(shape.layers)}) + "\n\n";
  } else if (shape.kind == ModelKind::kEncoder) {
    out += tr("{} layers, {} heads of {}; it keeps no keys and values",
              {number(shape.layers), number(shape.heads), number(shape.head_size)}) +
           "\n\n";
  } else {
    out += tr("{} layers, {} heads of {}, {} of them with keys and values",
              {number(shape.layers), number(shape.heads), number(shape.head_size), number(shape.kv_heads)}) +
           "\n\n";
  }
  out += text::padded(tr("Weights, GiB"), 12) + "      FP32      FP16       FP8      INT4\n                ";
  for (const auto one :
       {ml::Precision::kFp32, ml::Precision::kFp16, ml::Precision::kFp8, ml::Precision::kInt4})
    out += fmt::format("{:>6}    ", gib(ml::weight_bytes(static_cast<double>(shape.parameters), one)));
  while (out.ends_with(' ')) out.pop_back();
  if (shape.stored_bytes != 0)
    out += "\n" + tr("As stored: {} GiB", {gib(static_cast<double>(shape.stored_bytes))});
}

void MemoryEstimate::append_inference(std::string& out) const {
  const bool images = terms_.shape.kind == ModelKind::kImages;
  out += "\n\n" +
         tr("Inference with {} weights, {}, GiB", {ml::precision_name(terms_.precision), batch_of(terms_)}) +
         "\n";
  out += "  " +
         tr("weights {}, {} {}, room for computing {}: {}",
            {gib(inference_.weights), images ? tr("what is computed of the images") : tr("keys and values"),
             gib(images ? inference_.images : inference_.cache), gib(inference_.room),
             gib(inference_.total())}) +
         "\n";
}

void MemoryEstimate::append_training(std::string& out) const {
  out += "\n" +
         tr("Training with {}, {} a GPU, activations {}, GiB",
            {terms_.optimizer_name, batch_of(terms_),
             terms_.shape.kind == ModelKind::kImages ? tr("of 16 bit") : tr("computed again")}) +
         "\n";
  out += fmt::format("  {:<6} {:>10} {:>9} {:>12} {:>8}\n", "", tr("weights"), tr("trained"),
                     tr("activations"), tr("total"));
  for (const auto& [name, method, memory] : training_)
    out += fmt::format("  {:<6} {:>10} {:>9} {:>12} {:>8}\n", name, gib(memory.weights), gib(memory.trained),
                       gib(memory.activations), gib(memory.total()));
  if (terms_.shape.max_context != 0 && terms_.context > terms_.shape.max_context)
    out += "\n" + tr("The model is made for {} tokens at most.", {number(terms_.shape.max_context)}) + "\n";
}

std::vector<std::string> MemoryEstimate::lines_on_processors() const {
  constexpr double kUsable = 0.9;  // of main memory: the system needs some
  if (!terms_.here || !terms_.here->offers().gpus.empty() || terms_.task != "inference") return {};
  const double needed = std::ceil((need().shared + need().on_each) / kGib);
  if (needed > kUsable * static_cast<double>(terms_.here->most_memory_mib()) / 1024) return {};
  return {fmt::format("#SBATCH --cpus-per-task={}", terms_.here->most_cpus()),
          fmt::format("#SBATCH --mem={:.0f}G", needed), "#SBATCH --time=" + terms_.time};
}

void MemoryEstimate::append_here(std::string& out) const {
  const ml::MachineOffers& here = *terms_.here;
  const std::string name = text::printable(here.name());
  std::vector<std::string> lines;
  if (here_) {
    out += "\n" +
           tr("# here, {}: {} % of each GPU's {} GB",
              {name, whole(here_->used_share * 100), whole(here_->offer->memory_gib)}) +
           "\n";
    lines = ml::sbatch_lines(*here_, terms_.time);
  } else if (!here.offers().gpus.empty()) {
    out += "\n" + tr("# here, {}: it needs more memory than the GPUs have", {name}) + "\n";
  } else if (!here.unknown().empty()) {
    out += "\n" +
           tr("# here, {}: how much memory its GPUs have is not known: {}",
              {name, text::printable(fmt::format("{}", fmt::join(here.unknown(), ", ")))}) +
           "\n";
  } else if (lines = lines_on_processors(); !lines.empty()) {
    out += "\n" + tr("# here, {}: there are no GPUs; on processors, slowly", {name}) + "\n";
  } else {
    out += "\n" + tr("# here, {}: there are no GPUs", {name}) + "\n";
  }
  for (const std::string& line : lines) out += text::printable(line) + "\n";
}

void MemoryEstimate::append_clusters(std::string& out) const {
  out += "\n" + tr("To ask for, for {}", {terms_.task}) + "\n";
  if (terms_.here && is_asked("here")) append_here(out);
  for (const auto& [cluster, placement] : clusters_) {
    if (!placement) {
      out +=
          "\n" + tr("# {}: more than 64 of its nodes, or than one of its GPUs must hold", {cluster}) + "\n";
      continue;
    }
    out +=
        "\n" +
        tr("# {}: {} % of each GPU's {} GB; {}", {cluster, whole(placement->used_share * 100),
                                                  whole(placement->offer->memory_gib), cost_of(*placement)}) +
        "\n";
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
  if (here_)
    out["here"] = {{"name", text::printable(terms_.here->name())},
                   {"sbatch", ml::sbatch_lines(*here_, terms_.time)},
                   {"nodes", here_->nodes},
                   {"gpus_per_node", here_->gpus_per_node},
                   {"gpu", here_->offer->specifier}};
  else if (const auto lines = lines_on_processors(); !lines.empty())
    out["here"] = {{"name", text::printable(terms_.here->name())}, {"sbatch", lines}};
  else
    out["here"] = Json();
  for (const auto& [cluster, placement] : clusters_) {
    Json& entry = out["clusters"][std::string(cluster)];
    if (!placement) continue;  // null
    entry = {{"sbatch", ml::sbatch_lines(*placement, terms_.time)},
             {"nodes", placement->nodes},
             {"gpus_per_node", placement->gpus_per_node},
             {"gpu", placement->offer->specifier},
             {"rgu_hours_per_hour", placement->rgu_hours ? Json(*placement->rgu_hours) : Json()}};
  }
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace minke::view
