#include "ml/known_models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ml/memory.h"

namespace minke::ml {
namespace {

struct Published {
  const char* name;
  uint64_t parameters;
};

// As the models' own files count them: the sum of their tensors, or torchvision's table.
constexpr Published kPublished[] = {
    {"meta-llama/Llama-3.2-1B-Instruct", 1'235'814'400},
    {"llama-3.2-3b", 3'212'749'824},
    {"meta-llama/Llama-2-7b-hf", 6'738'415'616},
    {"llama-7b", 6'738'415'616},
    {"meta-llama/Llama-2-13b-chat-hf", 13'015'864'320},
    {"13B", 13'015'864'320},
    {"llama-2-70b", 68'976'648'192},
    {"llama-33b", 32'528'943'616},
    {"llama-65b", 65'285'660'672},
    {"mistralai/Mistral-7B-Instruct-v0.3", 7'248'023'552},
    {"mixtral-8x7b", 46'702'792'704},
    {"Qwen/Qwen2.5-0.5B", 494'032'768},
    {"qwen2.5-1.5b", 1'543'714'304},
    {"qwen2.5-3b", 3'085'938'688},
    {"Qwen/Qwen2.5-7B-Instruct", 7'615'616'512},
    {"qwen2.5-14b", 14'770'033'664},
    {"qwen2.5-72b", 72'706'203'648},
    {"phi-3-mini", 3'821'079'552},
    {"openai-community/gpt2", 124'439'808},
    {"gpt2-medium", 354'823'168},
    {"gpt2-large", 774'030'080},
    {"GPT2-XL", 1'557'611'200},
    {"google-bert/bert-base-uncased", 109'482'240},
    {"bert-base-cased", 108'310'272},
    {"bert-large", 335'141'888},
    {"roberta-base", 124'645'632},
    {"FacebookAI/roberta-large", 355'359'744},
    {"distilbert-base-uncased", 66'362'880},
    {"resnet18", 11'689'512},
    {"ResNet-50", 25'557'032},
    {"resnet152", 60'192'808},
    {"google/vit-base-patch16-224", 86'567'656},
    {"vit-large", 304'326'632},
};

TEST(KnownModels, HaveThePublishedNumbersOfParameters) {
  for (const Published& one : kPublished) {
    const auto shape = well_known_model(one.name);
    ASSERT_TRUE(shape) << one.name;
    EXPECT_EQ(shape->parameters, one.parameters) << one.name;
  }
}

TEST(KnownModels, EachIsFoundByTheNameThatIsListed) {
  std::vector<std::string> titles;
  for (const std::string_view name : known_model_names()) {
    const auto shape = well_known_model(name);
    ASSERT_TRUE(shape) << name;
    EXPECT_THAT(titles, testing::Not(testing::Contains(shape->name))) << name;
    titles.push_back(shape->name);
    EXPECT_GT(inference_memory(*shape, Precision::kFp16, Precision::kFp16, 100, 1).total(), 0) << name;
    EXPECT_GT(training_memory(*shape, {}).activations, 0) << name;
  }
  for (const char* other : {"", "9B", "llama", "-", "/", "resnet51", "..."})
    EXPECT_FALSE(well_known_model(other)) << other;
}

TEST(KnownModels, WhatWritesNoTextKeepsNoKeysAndValues) {
  for (const char* name : {"bert-base", "resnet50", "vit-base"})
    EXPECT_EQ(kv_cache_bytes(*well_known_model(name), 512, 8, Precision::kFp16), 0) << name;
}

TEST(KnownModels, ImagesKeepWhatTheirConvolutionsGive) {
  // Two times 11.1 million numbers of 16 bit for each image.
  const auto memory = training_memory(*well_known_model("resnet50"), {.batch = 64});
  EXPECT_EQ(memory.activations, 64.0 * 2 * 2 * 11'113'984);
}

TEST(ModelOfSize, HasLlamasProportions) {
  const auto shape = model_of_size("13B");
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->parameters, 13'000'000'000u);
  EXPECT_EQ(shape->name, "A model of 13B");
  EXPECT_NEAR(shape->layers, 40, 4);
  EXPECT_NEAR(shape->hidden, 5120, 512);
  EXPECT_EQ(shape->hidden, shape->heads * shape->head_size);
  for (const char* size : {"1M", "350m", "2.7B", "100t"}) {
    const auto one = model_of_size(size);
    ASSERT_TRUE(one) << size;
    EXPECT_TRUE(one->layers > 0 && one->heads > 0 && one->kv_heads > 0 && one->parameters > 0) << size;
  }
  for (const char* wrong :
       {"", "B", "13", "-13B", "0B", "1e9B", "infB", "nanB", "0.9M", "101T", "13BB", "13 B", "1.2.3B"})
    EXPECT_FALSE(model_of_size(wrong)) << wrong;
}

}  // namespace
}  // namespace minke::ml
