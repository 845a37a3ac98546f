#include "ml/model_shape.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

namespace minke::ml {

namespace {

using Json = nlohmann::json;

constexpr double kMaxParameters = 1e15;

// Returns a whole number of at least `least` under the first of the keys that exists; 0 if none does.
Result<uint32_t> number(const Json& config, std::initializer_list<const char*> keys, uint32_t most) {
  for (const char* key : keys) {
    const auto found = config.find(key);
    if (found == config.end() || found->is_null()) continue;
    if (!found->is_number_unsigned() || found->get<uint64_t>() > most)
      return failure(std::string(key) + " is no number up to " + std::to_string(most));
    return found->get<uint32_t>();
  }
  return 0;
}

uint32_t windowed_layers(const Json& config, const ModelShape& shape) {
  if (const auto types = config.find("layer_types"); types != config.end() && types->is_array()) {
    return static_cast<uint32_t>(std::count_if(types->begin(), types->end(),
                                               [](const Json& one) { return one == "sliding_attention"; }));
  }
  if (const auto pattern = number(config, {"sliding_window_pattern"}, 1000); pattern && *pattern > 1)
    return shape.layers - shape.layers / *pattern;
  if (const auto used = config.find("use_sliding_window"); used != config.end() && *used == false) return 0;
  return shape.layers;
}

Status read_sizes(const Json& config, ModelShape& shape) {
  struct Size {
    uint32_t ModelShape::*member;
    std::initializer_list<const char*> keys;
    uint32_t most;
    bool needed;
  };
  const Size sizes[] = {
      {&ModelShape::layers, {"num_hidden_layers", "n_layer", "num_layers"}, 10000, true},
      {&ModelShape::hidden, {"hidden_size", "n_embd", "d_model"}, 10000000, true},
      {&ModelShape::heads, {"num_attention_heads", "n_head"}, 100000, true},
      {&ModelShape::kv_heads, {"num_key_value_heads"}, 100000, false},
      {&ModelShape::head_size, {"head_dim"}, 100000, false},
      {&ModelShape::intermediate, {"intermediate_size", "n_inner", "d_ff"}, 10000000, false},
      {&ModelShape::vocabulary, {"vocab_size"}, 100000000, true},
      {&ModelShape::max_context, {"max_position_embeddings", "n_positions"}, 1000000000, false},
      {&ModelShape::window, {"sliding_window"}, 1000000000, false},
  };
  for (const Size& size : sizes) {
    const auto value = number(config, size.keys, size.most);
    if (!value) return failure("config.json: " + value.error().message);
    if (size.needed && *value == 0) return failure("config.json has no " + std::string(*size.keys.begin()));
    shape.*size.member = *value;
  }
  return {};
}

// Derives what the file may omit about attention.
Status settle_heads(ModelShape& shape) {
  if (shape.kv_heads == 0) shape.kv_heads = shape.heads;
  if (shape.head_size == 0) {
    if (shape.hidden % shape.heads != 0)
      return failure(
          "config.json: hidden_size is no multiple of num_attention_heads, and there is no head_dim");
    shape.head_size = shape.hidden / shape.heads;
  }
  if (shape.kv_heads > shape.heads)
    return failure("config.json: more num_key_value_heads than num_attention_heads");
  return {};
}

}  // namespace

Result<ModelShape> read_model_config(std::string_view json) {
  const Json whole = Json::parse(json, nullptr, false);
  if (!whole.is_object()) return failure("config.json is no JSON object");
  // A model that also reads pictures describes its language part separately.
  const auto part = whole.find("text_config");
  const Json& config = part != whole.end() && part->is_object() ? *part : whole;

  ModelShape shape;
  if (Status read = read_sizes(config, shape); !read) return failure(read.error());
  if (Status settled = settle_heads(shape); !settled) return failure(settled.error());
  const auto experts = number(config, {"num_local_experts", "n_routed_experts", "num_experts"}, 100000);
  if (!experts) return failure("config.json: " + experts.error().message);
  shape.experts = std::max(1u, *experts);
  if (shape.window != 0) shape.windowed_layers = std::min(shape.layers, windowed_layers(config, shape));
  const auto rank = number(config, {"kv_lora_rank"}, 1000000);
  const auto rope = number(config, {"qk_rope_head_dim"}, 1000000);
  if (rank && rope && *rank != 0) shape.latent = *rank + *rope;
  for (const Json* from : {&whole, &config}) {
    const auto tied = from->find("tie_word_embeddings");
    if (tied != from->end() && tied->is_boolean()) shape.tied_embeddings = tied->get<bool>();
  }
  if (const auto name = whole.find("_name_or_path"); name != whole.end() && name->is_string())
    shape.name = name->get<std::string>();
  return shape;
}

uint64_t count_parameters(const ModelShape& s) {
  if (s.layers == 0 || s.hidden == 0 || s.intermediate == 0 || s.latent != 0) return 0;
  const double hidden = s.hidden, head = s.head_size;
  const double attention = 2 * hidden * s.heads * head + 2 * hidden * s.kv_heads * head;
  const double router = s.experts > 1 ? hidden * s.experts : 0;
  const double feed_forward =
      double{1} * s.feed_forward_matrices * hidden * s.intermediate * s.experts + router;
  const double norms = hidden * s.norms + (s.head_norms ? 2 * head : 0);
  const double embeddings = hidden * s.vocabulary * (s.tied_embeddings ? 1 : 2);
  const double all = s.layers * (attention + feed_forward + norms) + embeddings + hidden;
  return all < kMaxParameters ? static_cast<uint64_t>(all) : 0;
}

}  // namespace minke::ml
