#include "environment/step_gpus.h"

#include <algorithm>

#include "api/steps.pb.h"
#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"
#include "model/job_terms.pb.h"
#include "text/cpu_bind.h"
#include "text/gres_count.h"
#include "text/number.h"

namespace minke::environment {

std::vector<uint32_t> gpus_of_task(const api::StepSpec& spec, const std::vector<uint32_t>& gpus,
                                   uint32_t local_id) {
  uint64_t per_task = text::gpus_in(spec.gpus_per_task());  // consecutive ones for each task
  uint64_t sharing = 1;                                     // this many tasks get the same one
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
    // Reads the lists of --cpu-bind, but for places among the step's GPUs.
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

bool tells_gpu_binding(std::string_view gpu_bind) {
  return gpu_bind.starts_with("verbose,") || gpu_bind.starts_with("v,");
}

std::string gpu_binding_text(const std::vector<uint32_t>& own, const std::vector<uint32_t>& of_step,
                             const std::string& visible) {
  return "usable_gres=" + text::format_cpu_mask(own) + "; bit_alloc=" + text::format_cpu_mask(of_step) +
         "; local_inx=0; global_list=" + join_numbers(own) + "; local_list=" + visible;
}

std::vector<uint32_t> gpus_by_default(
    const model::JobSpec& spec, const google::protobuf::RepeatedPtrField<model::NodeAllocation>& nodes) {
  std::vector<uint32_t> counts(static_cast<size_t>(nodes.size()), 0);
  const uint64_t per_node =
      std::max(text::gpus_in(spec.gres_per_node()),
               text::gpus_in(spec.gpus_per_socket()) * std::max(1U, spec.sockets_per_node()));
  const uint64_t per_task = text::gpus_in(spec.gpus_per_task());
  uint64_t in_all = text::gpus_in(spec.gpus());
  for (int i = 0; i < nodes.size(); ++i) {
    uint64_t count = std::max(per_node, per_task * nodes[i].tasks());
    if (in_all != 0) {  // at least one is left for each later node
      const uint64_t after = static_cast<uint64_t>(nodes.size() - i - 1);
      const uint64_t here = text::gpus_in(nodes[i].gres());
      count = std::max(count, std::min(here, in_all - std::min(in_all, after)));
      in_all -= std::min(in_all, count);
    }
    counts[static_cast<size_t>(i)] = static_cast<uint32_t>(std::min<uint64_t>(count, UINT32_MAX));
  }
  return counts;
}

std::string join_numbers(const std::vector<uint32_t>& numbers) {
  std::string text;
  for (const uint32_t number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

}  // namespace minke::environment
