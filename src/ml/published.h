// The published tables of memory for Llama 3.1 that researchers plan by, cell by cell, and how well the
// formulas of memory.h agree. Pure; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace minke::ml {

enum class Agreement {
  kSame,        // to the last digit printed
  kTie,         // the exact value ends in a 5 that the table rounds the other way
  kOtherInput,  // the same formula with another input than the model's own; see the note
  kNoFormula,   // the formula that gives other cells of the column does not give this one
};

struct PublishedCell {
  std::string_view table;    // "inference", "kv-cache", "training"
  std::string_view model;    // "8B"
  std::string_view column;   // "FP16", "16k", "LoRA"
  std::string_view printed;  // "1.95 GB"
  Agreement agreement;
  std::string_view note;  // what was counted, or why it differs; may be empty
};
std::span<const PublishedCell> published_cells();

// Returns the formulas' value for that cell in its own unit and with as many digits; for kOtherInput with the
// table's input, for kNoFormula our own value.
std::string computed(const PublishedCell& cell);
// The same with the model's own input; only kOtherInput differs from computed().
std::string computed_with_own_input(const PublishedCell& cell);

}  // namespace minke::ml
