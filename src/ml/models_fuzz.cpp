// Any config.json and any safetensors header: a description or an error, and memory that is a number.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ml/cluster_profile.h"
#include "ml/known_models.h"
#include "ml/memory.h"
#include "ml/safetensors.h"

using namespace minke::ml;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto shape = read_model_config(text)) {
    shape->parameters = count_parameters(*shape);
    MINKE_CHECK(shape->heads > 0 && shape->layers > 0 && shape->windowed_layers <= shape->layers);
    const auto memory = inference_memory(*shape, Precision::kFp16, Precision::kFp8, 1000, 2);
    MINKE_CHECK(std::isfinite(memory.total()) && memory.total() > 0);
    for (const Method method : {Method::kFull, Method::kLora, Method::kQlora})
      MINKE_CHECK(training_memory(*shape, {.method = method}).total() > 0);
    (void)place("narval", {memory.total(), 0});
  }
  if (const auto weights = read_safetensors_header(text, size_t{1} << 40)) MINKE_CHECK(weights->tensors > 0);
  (void)safetensors_header_length(text);
  (void)well_known_model(text);
  return 0;
}
