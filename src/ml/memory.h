// The GPU memory that a model needs: weights, cached keys and values, and training. All in bytes.
//
// The formulas are the usual ones; each says what it counts. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ml/model_shape.h"

namespace minke::ml {

enum class Precision { kFp32, kFp16, kFp8, kInt4 };
std::optional<Precision> parse_precision(std::string_view text);  // fp32, fp16, bf16, fp8, int8, int4, nf4
std::string_view precision_name(Precision precision);             // FP32, FP16, FP8, INT4
double bytes_per_number(Precision precision);

double weight_bytes(double parameters, Precision precision);

// Keys and values of `tokens` tokens in each of `batch` sequences: 2 x layers x heads with keys and values x
// head size numbers for each token. Layers with a window keep no more than that.
double kv_cache_bytes(const ModelShape& shape, uint64_t tokens, uint64_t batch, Precision precision);

// Weights, cache or what is computed of images, and room for CUDA itself and the rest: 1 GiB and 5 % of the
// weights.
struct InferenceMemory {
  double weights = 0, cache = 0, images = 0, room = 0;
  double total() const { return weights + cache + images + room; }
};
InferenceMemory inference_memory(const ModelShape& shape, Precision weights, Precision cache, uint64_t tokens,
                                 uint64_t batch);

enum class Method { kFull, kLora, kQlora };
enum class Optimizer {
  kAdamMixed,  // 16-bit weights and gradients, 32-bit copy and two 32-bit moments: 16 bytes a parameter
  kAdam16,     // everything in 16 bit: 8 bytes
  kAdam8,      // 16-bit weights and gradients, two 8-bit moments: 6 bytes
};
std::optional<Optimizer> parse_optimizer(std::string_view text);  // adamw, adamw-16bit, adamw-8bit
double optimizer_bytes(Optimizer optimizer);  // for each trained parameter, including weight and gradient

struct Training {
  Method method = Method::kFull;
  Optimizer optimizer = Optimizer::kAdamMixed;
  uint32_t rank = 16;         // of LoRA, on every linear layer
  uint64_t tokens = 2048;     // a sequence
  uint64_t batch = 1;         // sequences at once, on one GPU
  bool checkpointing = true;  // activations are computed again on the way back
};
struct TrainingMemory {
  double weights = 0;  // that are not trained
  double trained = 0;  // weights, gradients and optimizer
  double activations =
      0;  // with the scores over the vocabulary; of images all, in 16 bit, not computed again
  double room = 0;
  double total() const { return weights + trained + activations + room; }
};
TrainingMemory training_memory(const ModelShape& shape, const Training& training);

// Parameters of LoRA's two factors beside every linear layer.
double lora_parameters(const ModelShape& shape, uint32_t rank);

}  // namespace minke::ml
