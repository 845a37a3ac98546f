#include "engine/embedded/steps/step_usage.h"

#include "api/step_usage.pb.h"
#include "node/process_usage.h"

namespace minke::engine {

void UsageReader::read(pid_t root, api::TaskUsage& task) const {
  if (root <= 0) return;
  node::ProcessUsage sum = node::read_process_usage(root);
  task.add_pids(static_cast<uint32_t>(root));
  for (const node::Process& process : node::descendants(processes_, {root})) {
    sum += node::read_process_usage(process.pid);
    task.add_pids(static_cast<uint32_t>(process.pid));
  }
  task.set_rss_kib(sum.rss_kib);
  task.set_virtual_kib(sum.virtual_kib);
  task.set_user_microseconds(sum.user_microseconds);
  task.set_system_microseconds(sum.system_microseconds);
  task.set_major_faults(sum.major_faults);
  task.set_read_bytes(sum.read_bytes);
  task.set_write_bytes(sum.write_bytes);
}

}  // namespace minke::engine
