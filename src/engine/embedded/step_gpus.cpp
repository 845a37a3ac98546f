#include "engine/embedded/step_gpus.h"

#include <algorithm>

#include "text/cpu_bind.h"
#include "text/number.h"

namespace minke::engine {

std::vector<uint32_t> gpus_of_task(const rpc::StepSpec& spec, const std::vector<uint32_t>& gpus,
                                   uint32_t local_id) {
  uint64_t per_task = 0;  // consecutive ones for each task
  uint64_t sharing = 1;   // this many tasks get the same one
  for (const model::Gres& gres : spec.gpus_per_task()) per_task += gres.count();
  if (spec.ntasks_per_gpu() != 0) {
    per_task = 1;
    sharing = spec.ntasks_per_gpu();
  }
  std::string_view bind = spec.gpu_bind();
  for (const std::string_view word : {"verbose,", "v,", "quiet,", "q,"}) {
    if (bind.starts_with(word)) bind.remove_prefix(word.size());
  }
  if (bind == "none") return gpus;
  if (bind.starts_with("per_task:")) {
    per_task = text::parse_unsigned(bind.substr(9), 1024).value_or(per_task);
    sharing = 1;
  } else if (bind.starts_with("single:")) {
    per_task = 1;
    sharing = std::max<uint64_t>(1, text::parse_unsigned(bind.substr(7), 1u << 20).value_or(1));
  } else if (bind.starts_with("map_gpu:") || bind.starts_with("mask_gpu:")) {
    // The same lists as those of --cpu-bind, of places among the step's GPUs.
    const auto lists = text::parse_cpu_bind((bind.starts_with("map") ? "map_cpu:" : "mask_cpu:") +
                                            std::string(bind.substr(bind.find(':') + 1)));
    if (!lists || lists->cpus.empty()) return gpus;
    std::vector<uint32_t> own;
    for (const uint32_t place : lists->cpus[local_id % lists->cpus.size()]) {
      if (place < gpus.size()) own.push_back(gpus[place]);
    }
    return own;
  }
  if (per_task == 0 || gpus.empty()) return gpus;
  std::vector<uint32_t> own;
  for (uint64_t i = 0; i < per_task; ++i) {
    const uint64_t place = local_id / sharing * per_task + i;
    own.push_back(gpus[place % gpus.size()]);
  }
  return own;
}

std::string join_numbers(const std::vector<uint32_t>& numbers) {
  std::string text;
  for (const uint32_t number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

}  // namespace minke::engine
