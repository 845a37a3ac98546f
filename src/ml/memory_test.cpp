#include "ml/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ml/cluster_profile.h"
#include "ml/known_models.h"
#include "ml/published.h"
#include "ml/safetensors.h"

namespace minke::ml {
namespace {

using testing::HasSubstr;

constexpr double kGib = 1024.0 * 1024 * 1024;

class Published : public testing::TestWithParam<PublishedCell> {};

TEST_P(Published, CellIsReproducedOrSaidNotToBe) {
  const PublishedCell& cell = GetParam();
  switch (cell.agreement) {
    case Agreement::kSame:
      EXPECT_EQ(computed(cell), cell.printed);
      break;
    case Agreement::kTie:
      EXPECT_EQ(cell.printed, "15.62 GB");
      EXPECT_EQ(computed(cell), "15.63 GB");
      EXPECT_NE(cell.note, "");
      break;
    case Agreement::kOtherInput:
      EXPECT_EQ(computed(cell), cell.printed);
      EXPECT_NE(computed_with_own_input(cell), cell.printed);
      EXPECT_NE(cell.note, "");
      break;
    case Agreement::kNoFormula:
      EXPECT_NE(computed(cell), cell.printed);
      EXPECT_NE(cell.note, "");
      break;
  }
}
std::string test_name(const testing::TestParamInfo<PublishedCell>& info) {
  std::string name;
  for (const std::string_view part : {info.param.table, info.param.model, info.param.column}) {
    for (const char c : part) {
      if (std::isalnum(static_cast<unsigned char>(c))) name += c;
    }
    name += '_';
  }
  name.pop_back();
  return name;
}
INSTANTIATE_TEST_SUITE_P(Cells, Published,
                         testing::ValuesIn(published_cells().begin(), published_cells().end()), test_name);

TEST(Published, NoFactorGivesTheRestOfATrainingColumn) {
  // The table exceeds the formula by this much for 70B and 405B: with the same factor, or the same number of
  // bytes for each parameter, they would agree within the rounding to two digits.
  const auto more = [](const char* model, const char* column, double printed) {
    for (const PublishedCell& cell : published_cells()) {
      if (cell.model == model && cell.column == column) return printed - std::stod(computed(cell));
    }
    return 0.0;
  };
  EXPECT_GT(more("405B", "LoRA", 950) / 405, 1.2 * more("70B", "LoRA", 160) / 70);
  EXPECT_GT(more("70B", "QLoRA", 48) / 70, 1.2 * more("405B", "QLoRA", 250) / 405);
}

TEST(ModelShape, WellKnownOnesHaveTheirExactSize) {
  EXPECT_EQ(well_known_model("8B")->parameters, 8'030'261'248u);
  EXPECT_EQ(well_known_model("meta-llama/Llama-3.1-70B-Instruct")->parameters, 70'553'706'496u);
  EXPECT_EQ(well_known_model("llama-3.1-405b")->parameters, 405'853'388'800u);
  EXPECT_EQ(well_known_model("Qwen/Qwen2.5-32B-Instruct")->parameters, 32'763'876'352u);
  EXPECT_EQ(well_known_model("google/gemma-3-1b-it")->parameters, 999'885'952u);
  EXPECT_FALSE(well_known_model("9B"));
  EXPECT_FALSE(well_known_model(""));
}

TEST(ModelShape, ConfigurationsAreRead) {
  const auto shape =
      read_model_config(R"({"num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
      "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256, "tie_word_embeddings": false})");
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->head_size, 128u);
  EXPECT_EQ(count_parameters(*shape), 8'030'261'248u);
  const auto gpt2 = read_model_config(R"({"n_layer": 12, "n_embd": 768, "n_head": 12, "vocab_size": 50257})");
  ASSERT_TRUE(gpt2);
  EXPECT_EQ(gpt2->kv_heads, 12u);
  EXPECT_EQ(count_parameters(*gpt2), 0u);  // its layout differs: only its weights tell
  const auto gemma =
      read_model_config(R"({"text_config": {"num_hidden_layers": 26, "hidden_size": 1152, "head_dim": 256,
      "num_attention_heads": 4, "num_key_value_heads": 1, "vocab_size": 262144, "sliding_window": 512,
      "sliding_window_pattern": 6}})");
  ASSERT_TRUE(gemma);
  EXPECT_EQ(gemma->windowed_layers, 22u);
}

TEST(ModelShape, WrongConfigurationsAreNamed) {
  const auto error = [](const char* text) { return read_model_config(text).error().message; };
  EXPECT_THAT(error("[]"), HasSubstr("no JSON object"));
  EXPECT_THAT(error("{"), HasSubstr("no JSON object"));
  EXPECT_THAT(error("{}"), HasSubstr("num_hidden_layers"));
  EXPECT_THAT(error(R"({"num_hidden_layers": -3})"), HasSubstr("num_hidden_layers"));
  EXPECT_THAT(
      error(R"({"num_hidden_layers": 2, "hidden_size": 10, "num_attention_heads": 3, "vocab_size": 5})"),
      HasSubstr("head_dim"));
  EXPECT_THAT(error(R"({"num_hidden_layers": 4000000000, "hidden_size": 10})"),
              HasSubstr("num_hidden_layers"));
}

TEST(Memory, CacheOfWindowsAndOfLatentAttention) {
  ModelShape shape = *well_known_model("google/gemma-3-1b-it");
  // 4 layers keep everything, 22 only 512 tokens: 2 x 1 x 256 numbers of 2 bytes each.
  EXPECT_EQ(kv_cache_bytes(shape, 8192, 1, Precision::kFp16), 1024.0 * (4 * 8192 + 22 * 512));
  EXPECT_EQ(kv_cache_bytes(shape, 100, 3, Precision::kFp8), 512.0 * 26 * 100 * 3);
  shape = {};
  shape.layers = 61;
  shape.latent = 576;
  EXPECT_EQ(kv_cache_bytes(shape, 1000, 1, Precision::kFp16), 576.0 * 61 * 1000 * 2);
}

TEST(Memory, Training) {
  const ModelShape shape = *well_known_model("8B");
  Training training;
  EXPECT_NEAR(training_memory(shape, training).trained, 8030261248.0 * 16, 1);
  training.method = Method::kLora;
  // Rank 16 on all linear layers of Llama 3.1 8B: 41,943,040 parameters, as PEFT counts them.
  EXPECT_EQ(lora_parameters(shape, 16), 41'943'040);
  EXPECT_NEAR(training_memory(shape, training).weights, 8030261248.0 * 2, 1);
  training.method = Method::kQlora;
  EXPECT_LT(training_memory(shape, training).weights, 6.0 * kGib);
  EXPECT_GT(training_memory(shape, training).weights, 5.0 * kGib);
  training.checkpointing = false;
  EXPECT_GT(training_memory(shape, training).activations, 5 * kGib);
}

TEST(Placement, AsResearchersHaveFound) {
  // "8B and 70B on Narval at FP16 with 1 A100 and 4 A100s."
  const auto need = [](const char* name) {
    const auto memory =
        inference_memory(*well_known_model(name), Precision::kFp16, Precision::kFp16, 8192, 1);
    return MemoryNeed{memory.weights * 1.05 + memory.cache, kGib};
  };
  const auto small = place("narval", need("8B"));
  ASSERT_TRUE(small);
  EXPECT_EQ(small->gpus_per_node, 1u);
  EXPECT_DOUBLE_EQ(*small->rgu_hours, 2.0);  // half an A100 with 20 GB suffices
  const auto large = place("narval", need("70B"));
  ASSERT_TRUE(large);
  EXPECT_EQ(large->offer->specifier, "a100");
  EXPECT_EQ(large->gpus_per_node, 4u);
  EXPECT_DOUBLE_EQ(*large->rgu_hours, 16.0);
  EXPECT_EQ(sbatch_lines(*large, "3:00:00"),
            (std::vector<std::string>{"#SBATCH --nodes=1", "#SBATCH --gpus-per-node=a100:4",
                                      "#SBATCH --ntasks-per-node=1", "#SBATCH --cpus-per-task=48",
                                      "#SBATCH --mem=496G", "#SBATCH --time=3:00:00"}));
  const auto middle = place("narval", need("32B"));
  ASSERT_TRUE(middle);
  EXPECT_EQ(middle->gpus_per_node, 2u);
  const auto huge = place("nibi", need("405B"));
  ASSERT_TRUE(huge);
  EXPECT_EQ(huge->nodes, 2u);
  EXPECT_EQ(huge->gpus_per_node, 8u);
  EXPECT_EQ(place("trillium", {100 * kGib, 0})->gpus_per_node, 4u);  // one or four
  EXPECT_FALSE(place("tamia", {10 * kGib, 0})->rgu_hours);
  EXPECT_EQ(place("tamia", {10 * kGib, 0})->gpus_per_node, 4u);  // whole nodes
  EXPECT_FALSE(place("narval", {1, 50 * kGib}));                 // more on each GPU than one has
  EXPECT_FALSE(place("nowhere", {1, 1}));
}

TEST(Safetensors, HeadersAreRead) {
  const std::string header = R"({"__metadata__":{"format":"pt"},
      "a":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]},"b":{"dtype":"F32","shape":[],"data_offsets":[12,16]}})";
  const auto weights = read_safetensors_header(header, 8 + header.size() + 16);
  ASSERT_TRUE(weights);
  EXPECT_EQ(weights->parameters, 7u);
  EXPECT_EQ(weights->bytes, 16u);
  EXPECT_FALSE(weights->packed);
  EXPECT_THAT(read_safetensors_header(header, 8 + header.size() + 15).error().message, HasSubstr("cut off"));
  EXPECT_EQ(*safetensors_header_length(std::string("\x10\0\0\0\0\0\0\0", 8)), 16u);
  EXPECT_FALSE(safetensors_header_length(std::string(8, '\xff')));
  EXPECT_FALSE(safetensors_header_length("short"));
}

TEST(Safetensors, WrongHeadersAreRefused) {
  const auto error = [](const char* text) { return read_safetensors_header(text, 1 << 20).error().message; };
  EXPECT_THAT(error("[]"), HasSubstr("no JSON object"));
  EXPECT_THAT(error("{}"), HasSubstr("no tensor"));
  EXPECT_THAT(error(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})"), HasSubstr("shape says"));
  EXPECT_THAT(error(R"({"a":{"dtype":"Q9","shape":[2],"data_offsets":[0,4]}})"), HasSubstr("type"));
  EXPECT_THAT(error(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}})"),
              HasSubstr("large"));
  EXPECT_THAT(error(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})"), HasSubstr("shape says"));
}

}  // namespace
}  // namespace minke::ml
