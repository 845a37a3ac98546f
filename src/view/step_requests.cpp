#include "view/step_requests.h"

#include <fmt/core.h>

#include <algorithm>

#include "model/job_spec.pb.h"
#include "model/step_record.pb.h"
#include "text/gres_count.h"
#include "view/text.h"

namespace minke::view {
namespace {

using model::JobSpec;

// CPUs of each task: as many as requested, or as its GPUs bring.
uint32_t cpus_of_task(const JobSpec& spec) {
  if (spec.has_cpus_per_task() || !spec.has_cpus_per_gpu()) return std::max(1U, spec.cpus_per_task());
  const auto gpus = static_cast<uint32_t>(text::gpus_in(spec.gpus_per_task()));
  return std::max(1U, gpus * spec.cpus_per_gpu());
}

}  // namespace

std::vector<RequestWord> requests_by_gpu(const JobSpec& spec, int release) {
  std::vector<RequestWord> words;
  const auto add = [&](std::string_view name, uint64_t count) {
    words.push_back({name, tres_in_words("gres:gpu:" + std::to_string(count), release)});
  };
  if (spec.has_cpus_per_gpu()) add("CpusPerTres", spec.cpus_per_gpu());
  if (spec.has_mem_per_gpu_mib()) add("MemPerTres", spec.mem_per_gpu_mib());
  if (spec.has_ntasks_per_gpu()) words.push_back({"NtasksPerTRES", std::to_string(spec.ntasks_per_gpu())});
  if (std::string bind = tres_bind_text(spec, release); !bind.empty())
    words.push_back({"TresBind", std::move(bind)});
  if (!spec.gpu_freq().empty()) words.push_back({"TresFreq", "gpu:" + spec.gpu_freq()});
  return words;
}

std::vector<RequestWord> step_requests(const model::StepRecord& step, const JobSpec& spec, int release) {
  std::string own;
  append_gres_request(own, step.tres_gres(), "");
  const bool of_job = !spec.gpus().empty() || !spec.gres_per_node().empty() ||
                      !spec.gpus_per_socket().empty() || !spec.gpus_per_task().empty();
  const bool normal = step.kind() == model::STEP_NORMAL;
  std::vector<RequestWord> words;
  if (normal && of_job) {
    words = requests_by_gpu(spec, release);
    // srun does not repeat what sbatch and salloc were given as --gres alone.
    const bool by_srun = spec.interactive() || !spec.gpus().empty() || !spec.gpus_per_task().empty() ||
                         !spec.gpus_per_socket().empty() || !spec.gpus_per_node().empty() ||
                         spec.has_cpus_per_gpu() || spec.has_mem_per_gpu_mib();
    if (by_srun) {
      const std::string gpus = spec.gpus().empty() || own.empty() ? "" : "," + own;
      words.push_back(
          {"TresPerStep",
           tres_in_words(fmt::format("cpu:{}{}", step.num_tasks() * cpus_of_task(spec), gpus), release)});
    }
    const auto add = [&](std::string_view name, const std::string& given,
                         const google::protobuf::RepeatedPtrField<model::Gres>& list) {
      std::string text;
      append_tres_per(text, given, list, "");
      if (!text.empty()) words.push_back({name, tres_in_words(std::move(text), release)});
    };
    add("TresPerNode", spec.tres_per_node(), spec.gres_per_node());
    add("TresPerSocket", spec.tres_per_socket(), spec.gpus_per_socket());
  } else if (!own.empty()) {
    words.push_back({"TresPerNode", tres_in_words(std::move(own), release)});
  }
  // Until 23.02 the CPUs of a task were not handed on to steps.
  if (normal && (of_job || release >= kSlurm24)) {
    if (std::string text = tres_per_task_text(spec, release); !text.empty())
      words.push_back({"TresPerTask", std::move(text)});
  }
  return words;
}

}  // namespace minke::view
