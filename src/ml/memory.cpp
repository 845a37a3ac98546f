#include "ml/memory.h"

#include <algorithm>

#include "text/number.h"

namespace minke::ml {

namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;
// NF4 with double quantisation: 4 bits, and 8 for each block of 64 numbers, and 32 for each 256 of those.
constexpr double kNf4Bytes = (4 + 8.0 / 64 + 32.0 / (64 * 256)) / 8;

double room(double weights) {
  return kGib + 0.05 * weights;
}

double embedding_parameters(const ModelShape& shape) {
  return double{1} * shape.hidden * shape.vocabulary * (shape.tied_embeddings ? 1 : 2);
}

}  // namespace

std::optional<Precision> parse_precision(std::string_view text) {
  const std::string word = text::lower_case(text);
  if (word == "fp32" || word == "float32") return Precision::kFp32;
  if (word == "fp16" || word == "bf16" || word == "float16" || word == "bfloat16") return Precision::kFp16;
  if (word == "fp8" || word == "int8") return Precision::kFp8;
  if (word == "int4" || word == "nf4" || word == "fp4") return Precision::kInt4;
  return std::nullopt;
}

std::string_view precision_name(Precision precision) {
  switch (precision) {
    case Precision::kFp32:
      return "FP32";
    case Precision::kFp16:
      return "FP16";
    case Precision::kFp8:
      return "FP8";
    case Precision::kInt4:
      return "INT4";
  }
  return "?";
}

double bytes_per_number(Precision precision) {
  switch (precision) {
    case Precision::kFp32:
      return 4;
    case Precision::kFp16:
      return 2;
    case Precision::kFp8:
      return 1;
    case Precision::kInt4:
      return 0.5;
  }
  return 0;
}

double weight_bytes(double parameters, Precision precision) {
  return parameters * bytes_per_number(precision);
}

double kv_cache_bytes(const ModelShape& shape, uint64_t tokens, uint64_t batch, Precision precision) {
  if (shape.kind != ModelKind::kDecoder) return 0;
  const double a_token =
      shape.latent != 0 ? double{1} * shape.latent : 2.0 * shape.kv_heads * shape.head_size;
  const double whole = static_cast<double>(tokens);
  const double windowed = shape.window == 0 ? whole : std::min(whole, double{1} * shape.window);
  const double layers = shape.layers - std::min(shape.windowed_layers, shape.layers);
  const double numbers = a_token * (layers * whole + shape.windowed_layers * windowed);
  return numbers * static_cast<double>(batch) * bytes_per_number(precision);
}

InferenceMemory inference_memory(const ModelShape& shape, Precision weights, Precision cache, uint64_t tokens,
                                 uint64_t batch) {
  InferenceMemory memory;
  memory.weights = weight_bytes(static_cast<double>(shape.parameters), weights);
  memory.cache = kv_cache_bytes(shape, tokens, batch, cache);
  memory.images = shape.image_peak * static_cast<double>(batch) * bytes_per_number(weights);
  memory.room = room(memory.weights);
  return memory;
}

std::optional<Optimizer> parse_optimizer(std::string_view text) {
  if (text == "adamw") return Optimizer::kAdamMixed;
  if (text == "adamw-16bit") return Optimizer::kAdam16;
  if (text == "adamw-8bit") return Optimizer::kAdam8;
  return std::nullopt;
}

double optimizer_bytes(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::kAdamMixed:
      return 2 + 2 + 4 + 4 + 4;
    case Optimizer::kAdam16:
      return 2 + 2 + 2 + 2;
    case Optimizer::kAdam8:
      return 2 + 2 + 1 + 1;
  }
  return 0;
}

double lora_parameters(const ModelShape& s, uint32_t rank) {
  const double hidden = s.hidden, all_heads = double{1} * s.heads * s.head_size,
               kv = double{1} * s.kv_heads * s.head_size;
  const double attention = 2 * (hidden + all_heads) + 2 * (hidden + kv);  // q, o; k, v
  const double feed_forward = s.feed_forward_matrices * (hidden + s.intermediate) * s.experts;
  return rank * s.layers * (attention + feed_forward);
}

TrainingMemory training_memory(const ModelShape& shape, const Training& training) {
  const auto parameters = static_cast<double>(shape.parameters);
  TrainingMemory memory;
  switch (training.method) {
    case Method::kFull:
      memory.trained = parameters * optimizer_bytes(training.optimizer);
      break;
    case Method::kLora:
      memory.weights = weight_bytes(parameters, Precision::kFp16);
      memory.trained = lora_parameters(shape, training.rank) * optimizer_bytes(training.optimizer);
      break;
    case Method::kQlora: {
      const double embeddings = std::min(parameters, embedding_parameters(shape));  // stay in 16 bit
      memory.weights = embeddings * 2 + (parameters - embeddings) * kNf4Bytes;
      memory.trained = lora_parameters(shape, training.rank) * optimizer_bytes(training.optimizer);
      break;
    }
  }
  memory.room = room(memory.weights + (training.method == Method::kFull ? parameters * 2 : 0));
  if (shape.kind == ModelKind::kImages) {
    memory.activations = 2 * shape.image_activations * static_cast<double>(training.batch);
    return memory;
  }
  const double tokens = static_cast<double>(training.tokens) * static_cast<double>(training.batch);
  const double one_layer = kActivationsPerLayer * 2 * tokens * shape.hidden;
  const double borders = 2 * tokens * shape.hidden * shape.layers;
  memory.activations = training.checkpointing ? borders + one_layer : one_layer * shape.layers;
  memory.activations += tokens * shape.vocabulary * 8;  // scores and their gradients, in 32 bit
  return memory;
}

}  // namespace minke::ml
