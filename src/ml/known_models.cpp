#include "ml/known_models.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

#include "text/number.h"

namespace minke::ml {

namespace {

// A decoder in Llama's layout. The figures are those of its config.json at Hugging Face.
struct Decoder {
  std::string_view name;     // as one writes it; compared without dashes and dots
  std::string_view aliases;  // others, without dashes and dots, between blanks
  const char* title;
  double billions;
  uint32_t layers, hidden, heads, kv_heads, head_size, intermediate, vocabulary, max_context;
  bool tied = false;
  bool attention_biases = false;  // where queries, keys and values are made
  uint32_t experts = 1;
};

constexpr Decoder kDecoders[] = {
    {"llama-3.1-8b", "8b llama38b llama8b", "Llama 3.1 8B", 8, 32, 4096, 32, 8, 128, 14336, 128256, 131072},
    {"llama-3.1-70b", "70b llama370b llama3370b llama70b", "Llama 3.1 70B", 70, 80, 8192, 64, 8, 128, 28672,
     128256, 131072},
    {"llama-3.1-405b", "405b llama3405b llama405b", "Llama 3.1 405B", 405, 126, 16384, 128, 8, 128, 53248,
     128256, 131072},
    {"llama-3.2-1b", "llama31b llama1b", "Llama 3.2 1B", 1, 16, 2048, 32, 8, 64, 8192, 128256, 131072, true},
    {"llama-3.2-3b", "3b llama3b", "Llama 3.2 3B", 3, 28, 3072, 24, 8, 128, 8192, 128256, 131072, true},
    {"llama-2-7b", "7b", "Llama 2 7B", 7, 32, 4096, 32, 32, 128, 11008, 32000, 4096},
    {"llama-2-13b", "13b", "Llama 2 13B", 13, 40, 5120, 40, 40, 128, 13824, 32000, 4096},
    {"llama-2-70b", "", "Llama 2 70B", 70, 80, 8192, 64, 8, 128, 28672, 32000, 4096},
    {"llama-7b", "", "Llama 7B", 7, 32, 4096, 32, 32, 128, 11008, 32000, 2048},
    {"llama-13b", "", "Llama 13B", 13, 40, 5120, 40, 40, 128, 13824, 32000, 2048},
    {"llama-33b", "33b llama30b", "Llama 33B", 33, 60, 6656, 52, 52, 128, 17920, 32000, 2048},
    {"llama-65b", "65b", "Llama 65B", 65, 80, 8192, 64, 64, 128, 22016, 32000, 2048},
    {"mistral-7b", "", "Mistral 7B", 7, 32, 4096, 32, 8, 128, 14336, 32768, 32768},
    {"mixtral-8x7b", "8x7b", "Mixtral 8x7B", 47, 32, 4096, 32, 8, 128, 14336, 32000, 32768, false, false, 8},
    {"qwen2.5-0.5b", "", "Qwen2.5 0.5B", 0.5, 24, 896, 14, 2, 64, 4864, 151936, 32768, true, true},
    {"qwen2.5-1.5b", "", "Qwen2.5 1.5B", 1.5, 28, 1536, 12, 2, 128, 8960, 151936, 32768, true, true},
    {"qwen2.5-3b", "", "Qwen2.5 3B", 3, 36, 2048, 16, 2, 128, 11008, 151936, 32768, true, true},
    {"qwen2.5-7b", "", "Qwen2.5 7B", 7, 28, 3584, 28, 4, 128, 18944, 152064, 32768, false, true},
    {"qwen2.5-14b", "14b", "Qwen2.5 14B", 14, 48, 5120, 40, 8, 128, 13824, 152064, 32768, false, true},
    {"qwen2.5-32b", "32b", "Qwen2.5 32B", 32, 64, 5120, 40, 8, 128, 27648, 152064, 32768, false, true},
    {"qwen2.5-72b", "72b", "Qwen2.5 72B", 72, 80, 8192, 64, 8, 128, 29568, 152064, 32768, false, true},
    {"phi-3-mini", "phi3mini4k phi3mini128k", "Phi-3 mini", 3.8, 32, 3072, 32, 32, 96, 8192, 32064, 4096},
};

// GPT-2's layout: biases everywhere, learnt positions, two matrices in the feed-forward part (Radford et al.
// 2019; the figures are those of config.json).
struct Gpt2 {
  std::string_view name, aliases;
  const char* title;
  double billions;
  uint32_t layers, hidden, heads;
};
constexpr Gpt2 kGpt2[] = {
    {"gpt2", "gpt2small", "GPT-2", 0.124, 12, 768, 12},
    {"gpt2-medium", "", "GPT-2 medium", 0.355, 24, 1024, 16},
    {"gpt2-large", "", "GPT-2 large", 0.774, 36, 1280, 20},
    {"gpt2-xl", "", "GPT-2 XL", 1.5, 48, 1600, 25},
};

// BERT's layout (Devlin et al. 2019), without a head for a task.
struct Encoder {
  std::string_view name, aliases;
  const char* title;
  uint32_t layers, hidden, heads, vocabulary, positions, token_types, max_context;
  bool pooler;
};
constexpr Encoder kEncoders[] = {
    {"bert-base", "bert", "BERT base", 12, 768, 12, 30522, 512, 2, 512, true},
    {"bert-large", "", "BERT large", 24, 1024, 16, 30522, 512, 2, 512, true},
    {"bert-base-cased", "", "BERT base, cased", 12, 768, 12, 28996, 512, 2, 512, true},
    {"bert-large-cased", "", "BERT large, cased", 24, 1024, 16, 28996, 512, 2, 512, true},
    {"roberta-base", "roberta", "RoBERTa base", 12, 768, 12, 50265, 514, 1, 512, true},
    {"roberta-large", "", "RoBERTa large", 24, 1024, 16, 50265, 514, 1, 512, true},
    {"distilbert-base", "distilbert", "DistilBERT base", 6, 768, 12, 30522, 512, 0, 512, false},
};

// Networks for images of 224 x 224 and 1000 classes. Parameters are as torchvision counts them; `outputs` are
// the numbers that the convolutions give for one image (He et al. 2016), from the sizes of their layers.
struct ResNet {
  std::string_view name, aliases;
  const char* title;
  uint32_t layers;
  uint64_t parameters, outputs;
};
constexpr ResNet kResNets[] = {
    {"resnet18", "", "ResNet-18", 18, 11'689'512, 2'483'712},
    {"resnet34", "", "ResNet-34", 34, 21'797'672, 3'738'112},
    {"resnet50", "resnet", "ResNet-50", 50, 25'557'032, 11'113'984},
    {"resnet101", "", "ResNet-101", 101, 44'549'160, 16'231'936},
    {"resnet152", "", "ResNet-152", 152, 60'192'808, 22'554'112},
};
constexpr double kFirstLayer = 64.0 * 112 * 112;  // of all of them: the largest

// Vision transformers with patches of 16 x 16 (Dosovitskiy et al. 2021).
struct VisionTransformer {
  std::string_view name, aliases;
  const char* title;
  uint32_t layers, hidden, heads;
};
constexpr VisionTransformer kVisionTransformers[] = {
    {"vit-base", "vit vitb16 vitbasepatch16224", "ViT-B/16", 12, 768, 12},
    {"vit-large", "vitl16 vitlargepatch16224", "ViT-L/16", 24, 1024, 16},
};
constexpr uint32_t kPatches = 197;  // 14 x 14, and one for the class

constexpr std::string_view kGemma1b = "gemma-3-1b";

std::string without_marks(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c != '-' && c != '_' && c != ' ' && c != '.') plain += text::to_lower(c);
  }
  return plain;
}

// "Llama-3.1-8B-Instruct" as "llama318b".
std::string without_endings(std::string plain) {
  for (const std::string_view suffix : {"hf", "v01", "v02", "v03", "instruct", "chat", "it", "uncased"}) {
    if (plain.size() > suffix.size() && plain.ends_with(suffix)) plain.resize(plain.size() - suffix.size());
  }
  if (plain.starts_with("meta")) plain.erase(0, 4);
  return plain;
}

bool is_called(const auto& row, const std::string& plain) {
  if (without_marks(row.name) == plain) return true;
  const auto aliases = text::split(row.aliases, ' ');  // one empty text where there are none
  return std::find(aliases.begin(), aliases.end(), plain) != aliases.end();
}

ModelShape shape_of(const Decoder& row) {
  ModelShape shape;
  shape.name = row.title;
  shape.nominal_billions = row.billions;
  shape.layers = row.layers;
  shape.hidden = row.hidden;
  shape.heads = row.heads;
  shape.kv_heads = row.kv_heads;
  shape.head_size = row.head_size;
  shape.intermediate = row.intermediate;
  shape.vocabulary = row.vocabulary;
  shape.max_context = row.max_context;
  shape.tied_embeddings = row.tied;
  shape.experts = row.experts;
  const uint64_t biases =
      row.attention_biases ? uint64_t{row.layers} * (row.heads + 2 * row.kv_heads) * row.head_size : 0;
  shape.parameters = count_parameters(shape) + biases;
  return shape;
}

// Of one layer with biases: attention 4 h² + 4 h, feed-forward 8 h² + 5 h, two norms of 2 h.
uint64_t biased_layer(uint64_t hidden) {
  return 12 * hidden * hidden + 13 * hidden;
}

ModelShape transformer(const char* title, uint32_t layers, uint32_t hidden, uint32_t heads) {
  ModelShape shape;
  shape.name = title;
  shape.layers = layers;
  shape.hidden = hidden;
  shape.heads = shape.kv_heads = heads;
  shape.head_size = hidden / heads;
  shape.intermediate = 4 * hidden;
  shape.feed_forward_matrices = 2;
  shape.tied_embeddings = true;
  return shape;
}

ModelShape shape_of(const Gpt2& row) {
  ModelShape shape = transformer(row.title, row.layers, row.hidden, row.heads);
  shape.nominal_billions = row.billions;
  shape.vocabulary = 50257;
  shape.max_context = 1024;
  shape.parameters = row.layers * biased_layer(row.hidden) +
                     uint64_t{row.hidden} * (shape.vocabulary + shape.max_context) + 2 * row.hidden;
  return shape;
}

ModelShape shape_of(const Encoder& row) {
  ModelShape shape = transformer(row.title, row.layers, row.hidden, row.heads);
  shape.kind = ModelKind::kEncoder;
  shape.vocabulary = row.vocabulary;
  shape.max_context = row.max_context;
  const uint64_t hidden = row.hidden;
  shape.parameters = row.layers * biased_layer(hidden) +
                     hidden * (row.vocabulary + row.positions + row.token_types) + 2 * hidden +
                     (row.pooler ? hidden * hidden + hidden : 0);
  return shape;
}

ModelShape shape_of(const ResNet& row) {
  ModelShape shape;
  shape.name = row.title;
  shape.kind = ModelKind::kImages;
  shape.layers = row.layers;
  shape.parameters = row.parameters;
  shape.image_activations = 2.0 * static_cast<double>(row.outputs);
  shape.image_peak = 2 * kFirstLayer;
  return shape;
}

ModelShape shape_of(const VisionTransformer& row) {
  ModelShape shape = transformer(row.title, row.layers, row.hidden, row.heads);
  shape.kind = ModelKind::kImages;
  const uint64_t hidden = row.hidden, patch = uint64_t{3} * 16 * 16, classes = 1000;
  shape.parameters = row.layers * biased_layer(hidden) + patch * hidden + hidden + hidden * (kPatches + 1) +
                     2 * hidden + classes * hidden + classes;
  shape.image_activations = kActivationsPerLayer * kPatches * row.hidden * row.layers;
  shape.image_peak = 6.0 * kPatches * row.hidden;  // in and out, and what is four times as wide between
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

template <typename Rows>
std::optional<ModelShape> find_in(const Rows& rows, const std::string& plain) {
  for (const auto& row : rows)
    if (is_called(row, plain)) return shape_of(row);
  return std::nullopt;
}

std::optional<ModelShape> find_everywhere(const std::string& plain) {
  if (plain.empty()) return std::nullopt;
  if (plain == "1b" || plain == without_marks(kGemma1b)) return gemma_1b();
  if (auto found = find_in(kDecoders, plain)) return found;
  if (auto found = find_in(kGpt2, plain)) return found;
  if (auto found = find_in(kEncoders, plain)) return found;
  if (auto found = find_in(kResNets, plain)) return found;
  return find_in(kVisionTransformers, plain);
}

}  // namespace

std::optional<ModelShape> well_known_model(std::string_view name) {
  const std::string plain = without_marks(name.substr(name.rfind('/') + 1));
  if (auto found = find_everywhere(plain)) return found;
  return find_everywhere(without_endings(plain));
}

std::optional<ModelShape> model_of_size(std::string_view size) {
  constexpr double kLeast = 1e6, kMost = 1e14;
  constexpr double kHead = 128, kWidthALayer = 128;  // Llama's layers are as many as its width by this
  if (size.size() < 2 || size.size() > 12) return std::nullopt;
  const char unit = text::to_lower(size.back());
  const double factor = unit == 't' ? 1e12 : unit == 'b' ? 1e9 : unit == 'm' ? 1e6 : 0;
  const char* const end = size.data() + size.size() - 1;
  double number = 0;
  const auto read = std::from_chars(size.data(), end, number, std::chars_format::fixed);
  if (factor == 0 || read.ec != std::errc() || read.ptr != end) return std::nullopt;
  const double parameters = number * factor;
  if (!(parameters >= kLeast && parameters <= kMost)) return std::nullopt;
  // A layer has some 12 h² parameters.
  const double heads = std::max(1.0, std::round(std::cbrt(parameters * kWidthALayer / 12) / kHead));
  ModelShape shape;
  shape.name = "A model of " + std::string(size.substr(0, size.size() - 1)) + text::to_upper(unit);
  shape.nominal_billions = parameters / 1e9;
  shape.parameters = static_cast<uint64_t>(std::round(parameters));
  shape.heads = static_cast<uint32_t>(heads);
  shape.kv_heads = std::min<uint32_t>(shape.heads, 8);
  shape.head_size = static_cast<uint32_t>(kHead);
  shape.hidden = shape.heads * shape.head_size;
  const double width = shape.hidden;
  shape.layers = static_cast<uint32_t>(std::max(1.0, std::round(parameters / (12 * width * width))));
  shape.intermediate = shape.hidden * 7 / 2;
  shape.vocabulary = 128256;
  shape.tied_embeddings = true;
  return shape;
}

std::vector<std::string_view> known_model_names() {
  std::vector<std::string_view> names;
  const auto add = [&names](const auto& rows) {
    for (const auto& row : rows) names.push_back(row.name);
  };
  add(kDecoders);
  names.push_back(kGemma1b);
  add(kGpt2);
  add(kEncoders);
  add(kResNets);
  add(kVisionTransformers);
  return names;
}

}  // namespace minke::ml
