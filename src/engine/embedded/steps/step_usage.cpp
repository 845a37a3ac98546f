#include "engine/embedded/steps/step_usage.h"

#include <utility>

#include "node/process_tree.h"

namespace minke::engine {

namespace {

constexpr int kProcessesAtOnce = 16;  // some tenths of a millisecond

}  // namespace

ProcessParents::ProcessParents() : unread_(node::list_pids()) {}

bool ProcessParents::read_some() {
  for (int i = 0; i < kProcessesAtOnce && !unread_.empty(); ++i) {
    if (const auto process = node::read_process(unread_.back()))
      children_[process->parent].push_back(process->pid);
    unread_.pop_back();
  }
  return !unread_.empty();
}

const std::vector<pid_t>& ProcessParents::children_of(pid_t parent) const {
  static const std::vector<pid_t> none;
  const auto found = children_.find(parent);
  return found == children_.end() ? none : found->second;
}

// False: it has ended.
bool StepUsageReader::begin_task() {
  const auto position = static_cast<size_t>(task_);
  const pid_t root = position < roots_.size() ? roots_[position] : 0;
  if (root <= 0) return false;
  open_ = {root};
  found_ = {root};
  sum_ = {};
  return true;
}

void StepUsageReader::end_task() {
  api::TaskUsage& task = *usage_.mutable_tasks(task_);
  task.set_rss_kib(sum_.rss_kib);
  task.set_virtual_kib(sum_.virtual_kib);
  task.set_user_microseconds(sum_.user_microseconds);
  task.set_system_microseconds(sum_.system_microseconds);
  task.set_major_faults(sum_.major_faults);
  task.set_read_bytes(sum_.read_bytes);
  task.set_write_bytes(sum_.write_bytes);
}

bool StepUsageReader::read_some(const ProcessParents& parents) {
  for (int i = 0; i < kProcessesAtOnce && task_ < usage_.tasks_size(); ++i) {
    if (open_.empty() && !begin_task()) {
      ++task_;
      continue;
    }
    const pid_t pid = open_.back();
    open_.pop_back();
    sum_ += node::read_process_usage(pid);
    usage_.mutable_tasks(task_)->add_pids(static_cast<uint32_t>(pid));
    // The processes were not read all at the same time: a number may have been given out again meanwhile.
    for (const pid_t child : parents.children_of(pid))
      if (found_.insert(child).second) open_.push_back(child);
    if (!open_.empty()) continue;
    end_task();
    ++task_;
  }
  return task_ < usage_.tasks_size();
}

}  // namespace minke::engine
