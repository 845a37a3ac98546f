// The fields of a job that a client of slurmrestd submits or changes, as sbatch's options and scontrol's
// words.
//
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "portal/job_json.h"

namespace minke::portal {

// How a field's value becomes an option's.
enum class As : uint8_t { kText, kNumber, kMinutes, kMebibytes, kTres, kGpus, kOfGpu, kFlag, kMoment };
struct FieldOption {
  std::string_view field, option;
  As as = As::kText;
};
// The option's value; nothing where the field says that it is unset.
std::optional<std::string> option_value(const FieldOption& row, const Json& value);

// sbatch's options for the fields of a job's description. What cannot be asked of sbatch is left out, and
// named in `warnings`.
std::vector<std::string> submitted_options(const Json& job, std::vector<std::string>& warnings);

}  // namespace minke::portal
