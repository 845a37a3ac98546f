// The structure of a model, as far as its memory depends on it: read from a Hugging Face config.json, or
// known by name (known_models.h).
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace minke::ml {

enum class ModelKind {
  kDecoder,  // writes text, one token after the other: keeps keys and values
  kEncoder,  // reads whole texts, as BERT does
  kImages,   // sorts images: the fields about tokens mean nothing
};

// Numbers that one layer of a transformer keeps for each token and unit of width, with fused attention.
inline constexpr double kActivationsPerLayer = 34 / 2.0;

struct ModelShape {
  ModelKind kind = ModelKind::kDecoder;
  std::string name;
  double nominal_billions = 0;  // what its name says: 8 of "8B"; 0: unknown
  uint64_t parameters = 0;      // 0: not known
  uint64_t stored_bytes = 0;    // of its weights as they are stored; 0: not known
  uint32_t layers = 0;
  uint32_t hidden = 0;
  uint32_t heads = 0;
  uint32_t kv_heads = 0;  // heads with keys and values of their own
  uint32_t head_size = 0;
  uint32_t intermediate = 0;           // inner width of the feed-forward part
  uint32_t feed_forward_matrices = 3;  // 2: not gated
  uint32_t experts = 1;                // feed-forward parts a layer
  uint32_t vocabulary = 0;
  bool tied_embeddings = false;  // input and output share one table
  uint32_t norms = 2;            // vectors of `hidden` numbers a layer
  bool head_norms = false;       // and two of `head_size`
  uint32_t window = 0;           // of the layers that look back only so far
  uint32_t windowed_layers = 0;
  uint32_t latent = 0;  // numbers a token and layer in place of keys and values (multi-head latent attention)
  uint32_t max_context = 0;
  double image_activations = 0;  // numbers that training keeps for each image
  double image_peak = 0;         // numbers for each image that are needed at once without training
};

// Reads the contents of a config.json. An error names the key that is missing or impossible.
Result<ModelShape> read_model_config(std::string_view json);

// Counts a decoder in Llama's layout (gated feed-forward, no biases), like most; 0 if sizes are missing.
uint64_t count_parameters(const ModelShape& shape);

}  // namespace minke::ml
