// Models that people name: the shapes of well-known families, and a guess for a size alone ("13B").
//
// Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ml/model_shape.h"

namespace minke::ml {

// "8B", "70b", "llama-3.1-8b", "meta-llama/Llama-3.1-8B-Instruct", "gpt2-xl",
// "google-bert/bert-large-uncased", "resnet50". Case, dashes, dots and what follows a family's name
// ("-Instruct", "-hf") do not matter.
std::optional<ModelShape> well_known_model(std::string_view name);

// "13B", "350M", "1.5T": a decoder of that size, with a shape in Llama's proportions. 1 M to 100 T; else
// nothing.
std::optional<ModelShape> model_of_size(std::string_view size);

// As one would write them, one of each model, in the order of the families.
std::vector<std::string_view> known_model_names();

}  // namespace minke::ml
