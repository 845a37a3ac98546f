// The structure of a language model, as far as its memory depends on it: read from a Hugging Face
// config.json, or known by name.
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace minke::ml {

struct ModelShape {
  std::string name;
  double nominal_billions = 0;  // what its name says: 8 of "8B"; 0: unknown
  uint64_t parameters = 0;      // 0: not known
  uint64_t stored_bytes = 0;    // of its weights as they are stored; 0: not known
  uint32_t layers = 0;
  uint32_t hidden = 0;
  uint32_t heads = 0;
  uint32_t kv_heads = 0;  // heads with keys and values of their own
  uint32_t head_size = 0;
  uint32_t intermediate = 0;  // inner width of the feed-forward part
  uint32_t experts = 1;       // feed-forward parts a layer
  uint32_t vocabulary = 0;
  bool tied_embeddings = false;  // input and output share one table
  uint32_t norms = 2;            // vectors of `hidden` numbers a layer
  bool head_norms = false;       // and two of `head_size`
  uint32_t window = 0;           // of the layers that look back only so far
  uint32_t windowed_layers = 0;
  uint32_t latent = 0;  // numbers a token and layer in place of keys and values (multi-head latent attention)
  uint32_t max_context = 0;
};

// Reads the contents of a config.json. An error names the key that is missing or impossible.
Result<ModelShape> read_model_config(std::string_view json);

// Counts a decoder in Llama's layout (gated feed-forward, no biases), like most; 0 if sizes are missing.
uint64_t count_parameters(const ModelShape& shape);

// "8B", "70b", "405B", "llama-3.1-8b", "meta-llama/Llama-3.1-8B-Instruct", "32B", "Qwen/Qwen2.5-32B",
// "google/gemma-3-1b-it".
std::optional<ModelShape> well_known_model(std::string_view name);

}  // namespace minke::ml
