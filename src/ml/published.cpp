#include "ml/published.h"

#include <array>
#include <cmath>
#include <cstdio>

#include "base/result.h"
#include "ml/known_models.h"
#include "ml/memory.h"

namespace minke::ml {

namespace {

constexpr double kGb = 1e9;
constexpr double kGib = 1024.0 * 1024 * 1024;

constexpr std::string_view kHeads =
    "the table counts 16 heads with keys and values, as the first configuration of the 405B model did; it "
    "has 8";
constexpr std::string_view kEightBytes = "8 bytes a parameter, in GB of 2^30 bytes";
constexpr std::string_view kEightBytesTb = "8 bytes a parameter, in TB of 10^12 bytes";
constexpr std::string_view kHundreds =
    "8 bytes a parameter, in GB of 2^30 bytes: the table has it in hundreds alone";
constexpr std::string_view kLoraWeights =
    "weights of 16 bit, and adapters of rank 16 with 8 bytes a parameter";
constexpr std::string_view kQloraWeights = "the same with weights of 4 bit and embeddings of 16";
constexpr std::string_view kMore =
    "what gives the column's 8B; the table has more here, by no rule that fits both 70B and 405B";

constexpr std::array<PublishedCell, 27> kCells = {{
    {"inference", "8B", "FP16", "16 GB", Agreement::kSame, ""},
    {"inference", "8B", "FP8", "8 GB", Agreement::kSame, ""},
    {"inference", "8B", "INT4", "4 GB", Agreement::kSame, ""},
    {"inference", "70B", "FP16", "140 GB", Agreement::kSame, ""},
    {"inference", "70B", "FP8", "70 GB", Agreement::kSame, ""},
    {"inference", "70B", "INT4", "35 GB", Agreement::kSame, ""},
    {"inference", "405B", "FP16", "810 GB", Agreement::kSame, ""},
    {"inference", "405B", "FP8", "405 GB", Agreement::kSame, ""},
    {"inference", "405B", "INT4", "203 GB", Agreement::kSame, ""},
    {"kv-cache", "8B", "1k", "0.125 GB", Agreement::kSame, ""},
    {"kv-cache", "8B", "16k", "1.95 GB", Agreement::kSame, ""},
    {"kv-cache", "8B", "128k", "15.62 GB", Agreement::kTie,
     "exactly 15.625: the table rounds it down, and its other ties (202.5 and 0.3125) up"},
    {"kv-cache", "70B", "1k", "0.313 GB", Agreement::kSame, ""},
    {"kv-cache", "70B", "16k", "4.88 GB", Agreement::kSame, ""},
    {"kv-cache", "70B", "128k", "39.06 GB", Agreement::kSame, ""},
    {"kv-cache", "405B", "1k", "0.984 GB", Agreement::kOtherInput, kHeads},
    {"kv-cache", "405B", "16k", "15.38 GB", Agreement::kOtherInput, kHeads},
    {"kv-cache", "405B", "128k", "123.05 GB", Agreement::kOtherInput, kHeads},
    {"training", "8B", "full", "60 GB", Agreement::kSame, kEightBytes},
    {"training", "8B", "LoRA", "16 GB", Agreement::kSame, kLoraWeights},
    {"training", "8B", "QLoRA", "6 GB", Agreement::kSame, kQloraWeights},
    {"training", "70B", "full", "500 GB", Agreement::kNoFormula, kHundreds},
    {"training", "70B", "LoRA", "160 GB", Agreement::kNoFormula, kMore},
    {"training", "70B", "QLoRA", "48 GB", Agreement::kNoFormula, kMore},
    {"training", "405B", "full", "3.25 TB", Agreement::kSame, kEightBytesTb},
    {"training", "405B", "LoRA", "950 GB", Agreement::kNoFormula, kMore},
    {"training", "405B", "QLoRA", "250 GB", Agreement::kNoFormula, kMore},
}};

// Rounds half up, like two of the tables' three ties. The small addend is far below any printed digit.
std::string rounded(double value, int digits, const char* unit) {
  const double scale = std::pow(10.0, digits);
  char text[64];
  std::snprintf(text, sizeof text, "%.*f %s", digits, std::floor(value * scale + 0.5 + 1e-9) / scale, unit);
  return text;
}

std::string value_of(const PublishedCell& cell, bool as_the_table) {
  const auto shape = well_known_model(cell.model);
  MINKE_CHECK(shape);
  if (cell.table == "inference")  // by the size in the model's name, in GB of 10^9 bytes
    return rounded(weight_bytes(shape->nominal_billions * 1e9, *parse_precision(cell.column)) / kGb, 0, "GB");
  if (cell.table == "kv-cache") {
    // "1k" is 1,024 tokens, "16k" and "128k" are thousands, and GB are of 2^30 bytes.
    const uint64_t tokens = cell.column == "1k" ? 1024 : cell.column == "16k" ? 16000 : 128000;
    ModelShape used = *shape;
    if (as_the_table && cell.agreement == Agreement::kOtherInput) used.kv_heads = 16;
    return rounded(kv_cache_bytes(used, tokens, 1, Precision::kFp16) / kGib, cell.column == "1k" ? 3 : 2,
                   "GB");
  }
  // Only the memory for the parameters: the table has no context.
  Training training;
  training.optimizer = Optimizer::kAdam16;
  training.method = cell.column == "full"   ? Method::kFull
                    : cell.column == "LoRA" ? Method::kLora
                                            : Method::kQlora;
  const TrainingMemory memory = training_memory(*shape, training);
  const double bytes = memory.weights + memory.trained;
  if (cell.printed.ends_with("TB")) return rounded(bytes / 1e12, 2, "TB");
  return rounded(bytes / (training.method == Method::kFull ? kGib : kGb), 0, "GB");
}

}  // namespace

std::span<const PublishedCell> published_cells() {
  return kCells;
}

std::string computed(const PublishedCell& cell) {
  return value_of(cell, true);
}

std::string computed_with_own_input(const PublishedCell& cell) {
  return value_of(cell, false);
}

}  // namespace minke::ml
