// The layout of minke estimate; its figures are tested in ml/memory_test.cpp.
#include "view/memory_estimate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "ml/known_models.h"

namespace minke::view {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

EstimateTerms terms(const std::string& task) {
  EstimateTerms terms;
  terms.shape = *ml::well_known_model("8B");
  terms.source = "known by name";
  terms.task = task;
  terms.cluster = "narval";
  return terms;
}

TEST(MemoryEstimate, SaysWhatTheModelNeeds) {
  EXPECT_THAT(MemoryEstimate(terms("inference")).text(),
              HasSubstr(": 8,030,261,248 parameters (known by name)\n"
                        "32 layers, 32 heads of 128, 8 of them with keys and values\n"
                        "\n"
                        "Weights, GiB      FP32      FP16       FP8      INT4\n"
                        "                 29.92     14.96      7.48      3.74\n"
                        "\n"
                        "Inference with FP16 weights, 1 sequence of 8192 tokens, GiB\n"));
  EstimateTerms several = terms("inference");
  several.batch = 2;
  several.context = 1 << 20;
  several.shape.stored_bytes = uint64_t{1} << 30;
  const std::string text = MemoryEstimate(several).text();
  EXPECT_THAT(text, HasSubstr("\nAs stored: 1.00 GiB\n"));
  EXPECT_THAT(text, HasSubstr(" 2 sequences of 1048576 tokens a GPU"));
  EXPECT_THAT(text, HasSubstr("\nThe model is made for 131072 tokens at most.\n"));
}

TEST(MemoryEstimate, AsksForWhatTheTaskNeeds) {
  const std::string inference = MemoryEstimate(terms("inference")).text();
  const std::string full = MemoryEstimate(terms("full")).text();
  EXPECT_THAT(inference, HasSubstr("\nTo ask for, for inference\n\n# narval: "));
  EXPECT_THAT(inference, HasSubstr("\n#SBATCH --gpus-per-node=a100_3g.20gb:1\n"));
  EXPECT_THAT(full, HasSubstr("\n#SBATCH --gpus-per-node=a100:4\n"));
  EXPECT_THAT(full, Not(HasSubstr("# rorqual: ")));
}

TEST(MemoryEstimate, IsTheSameInJson) {
  EstimateTerms huge = terms("full");
  huge.shape = *ml::well_known_model("405B");
  huge.cluster.clear();
  const auto json = nlohmann::json::parse(MemoryEstimate(huge).json());
  EXPECT_EQ(json["training"].size(), 3u);
  EXPECT_EQ(json["inference"]["precision"], "FP16");
  EXPECT_EQ(json["clusters"].size(), ml::cluster_names().size());
  EXPECT_EQ(nlohmann::json::parse(MemoryEstimate(terms("qlora")).json())["clusters"]["narval"]["nodes"], 1);
}

}  // namespace
}  // namespace minke::view
