// Queries about running steps: their records, processes, devices and usage.
#include "engine/embedded/steps/steps.h"

#include "api/attach.pb.h"
#include "api/step_usage.pb.h"
#include "api/steps.pb.h"
#include "engine/embedded/accounts/rights.h"
#include "engine/embedded/core.h"
#include "engine/embedded/launching/confining.h"
#include "engine/embedded/scheduling/nodes.h"
#include "engine/embedded/steps/step_usage.h"
#include "engine/embedded/watching/measuring.h"
#include "model/error.h"
#include "submit/text_limits.h"

namespace minke::engine {

using namespace model;

std::vector<StepRecord> Steps::of_job(uint32_t job_id, uint32_t from, size_t most) const {
  std::vector<StepRecord> records;
  const auto steps = jobs_.find(job_id);
  if (steps == jobs_.end()) return records;
  const auto& running = steps->second.running;
  for (auto step = running.lower_bound(from); step != running.end() && records.size() < most; ++step)
    records.push_back(step->second.tag.record());
  return records;
}

// The step's own GPUs, else those of its job.
std::vector<GpuDevice> Steps::gpu_devices_of(const Job& job, const Step& step) const {
  if (step.tag.gpus().empty()) return engine::gpu_devices_of(core_, job);
  std::vector<GpuDevice> devices;
  for (const auto& [name, held] : step.tag.gpus()) {
    const NodeRecord* node = core_.nodes->find_node(name);
    for (const uint32_t index : held.indices()) {
      if (node != nullptr && index < static_cast<uint32_t>(node->gpu_devices_size()))
        devices.push_back(node->gpu_devices(static_cast<int>(index)));
    }
  }
  return devices;
}

std::vector<pid_t> Steps::pids_of(uint32_t job_id) const {
  std::vector<pid_t> pids;
  if (const auto steps = jobs_.find(job_id); steps != jobs_.end()) {
    for (const auto& [id, step] : steps->second.running)
      pids.insert(pids.end(), step.pids.begin(), step.pids.end());
  }
  return pids;
}

std::vector<StepUsageReader> Steps::usage_of(const Job& job, uint32_t from, size_t most) const {
  std::vector<StepUsageReader> readers;
  const auto steps = jobs_.find(job.id);
  if (steps == jobs_.end()) return readers;
  const auto& running = steps->second.running;
  for (auto at = running.lower_bound(from); at != running.end() && most-- > 0; ++at) {
    const Step& step = at->second;
    api::StepUsage usage;
    *usage.mutable_step() = step.tag.record();
    usage.set_job_submit_time(job.submit_time);
    core_.measuring->add_usage(job, *usage.mutable_step(), gpu_devices_of(job, step));
    for (int rank = 0; rank < step.tag.node_of_task_size(); ++rank) {
      api::TaskUsage& task = *usage.add_tasks();
      task.set_rank(static_cast<uint32_t>(rank));
      task.set_node(step.tag.node_of_task(rank));
    }
    readers.emplace_back(std::move(usage), step.pids);
  }
  return readers;
}

Status Steps::attach(const api::AttachStepRequest& request, uint32_t uid) {
  const Job* job = core_.state.find(request.job_id());
  if (job == nullptr) return failure("", kInvalidJobId);
  if (const Status access = core_.rights->access(uid, job->uid); !access) return access;
  const auto steps = jobs_.find(request.job_id());
  if (steps == jobs_.end()) return failure("", kInvalidJobId);
  const auto step = steps->second.running.find(request.step_id());
  if (step == steps->second.running.end()) return failure("", kInvalidJobId);
  if (const Status fit = submit::check_text("the socket's path", request.socket(), submit::kMostPathBytes);
      !fit)
    return fit;
  if (!step->second.report) return failure("the step's srun cannot be reached just now", kNodesBusy);
  api::StepEvent event;
  event.mutable_attach()->set_socket(request.socket());
  step->second.report(event);
  return {};
}

bool Steps::runs(uint32_t job_id, uint32_t step_id) const {
  const auto steps = jobs_.find(job_id);
  return steps != jobs_.end() && steps->second.running.contains(step_id);
}

bool Steps::has_running(uint32_t job_id) const {
  const auto steps = jobs_.find(job_id);
  return steps != jobs_.end() && !steps->second.running.empty();
}

}  // namespace minke::engine
