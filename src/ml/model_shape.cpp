#include "ml/model_shape.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "text/number.h"

namespace minke::ml {

namespace {

using Json = nlohmann::json;

constexpr double kMaxParameters = 1e15;

ModelShape llama(std::string name, double billions, uint32_t layers, uint32_t hidden, uint32_t heads,
                 uint32_t intermediate) {
  ModelShape shape;
  shape.name = std::move(name);
  shape.nominal_billions = billions;
  shape.layers = layers;
  shape.hidden = hidden;
  shape.heads = heads;
  shape.kv_heads = 8;
  shape.head_size = 128;
  shape.intermediate = intermediate;
  shape.vocabulary = 128256;
  shape.max_context = 131072;
  shape.parameters = count_parameters(shape);
  return shape;
}

// Llama's layout, but with biases where queries, keys and values are made.
ModelShape qwen_32b() {
  ModelShape shape = llama("Qwen2.5 32B", 32, 64, 5120, 40, 27648);
  shape.vocabulary = 152064;
  shape.max_context = 32768;
  const uint64_t biases = uint64_t{shape.layers} * (shape.heads + 2 * shape.kv_heads) * shape.head_size;
  shape.parameters = count_parameters(shape) + biases;
  return shape;
}

ModelShape gemma_1b() {
  ModelShape shape;
  shape.name = "Gemma 3 1B";
  shape.nominal_billions = 1;
  shape.layers = 26;
  shape.hidden = 1152;
  shape.heads = 4;
  shape.kv_heads = 1;
  shape.head_size = 256;
  shape.intermediate = 6912;
  shape.vocabulary = 262144;
  shape.tied_embeddings = true;
  shape.norms = 4;
  shape.head_norms = true;
  shape.window = 512;
  shape.windowed_layers = 22;  // all but each sixth
  shape.max_context = 32768;
  shape.parameters = count_parameters(shape);
  return shape;
}

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
  const double feed_forward = 3 * hidden * s.intermediate * s.experts + router;
  const double norms = hidden * s.norms + (s.head_norms ? 2 * head : 0);
  const double embeddings = hidden * s.vocabulary * (s.tied_embeddings ? 1 : 2);
  const double all = s.layers * (attention + feed_forward + norms) + embeddings + hidden;
  return all < kMaxParameters ? static_cast<uint64_t>(all) : 0;
}

std::optional<ModelShape> well_known_model(std::string_view name) {
  std::string plain;
  for (const char c : name.substr(name.rfind('/') + 1)) {
    if (c != '-' && c != '_' && c != ' ' && c != '.') plain += text::to_lower(c);
  }
  for (const std::string_view suffix : {"instruct", "it", "hf"}) {
    if (plain.size() > suffix.size() && plain.ends_with(suffix)) plain.resize(plain.size() - suffix.size());
  }
  if (plain.starts_with("meta")) plain.erase(0, 4);
  for (const std::string_view family : {"llama31", "llama3"}) {
    if (plain.starts_with(family)) plain.erase(0, family.size());
  }
  if (plain == "8b") return llama("Llama 3.1 8B", 8, 32, 4096, 32, 14336);
  if (plain == "70b") return llama("Llama 3.1 70B", 70, 80, 8192, 64, 28672);
  if (plain == "405b") return llama("Llama 3.1 405B", 405, 126, 16384, 128, 53248);
  if (plain == "32b" || plain == "qwen2532b") return qwen_32b();
  if (plain == "gemma31b" || plain == "1b") return gemma_1b();
  return std::nullopt;
}

}  // namespace minke::ml
