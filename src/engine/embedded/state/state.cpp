#include "engine/embedded/state/state.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/request_guard.h"
#include "base/result.h"
#include "engine/embedded/accounts/users.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "model/job_terms.pb.h"
#include "store/job_row.h"
#include "text/hostlist.h"

namespace minke::engine {

Job* State::find(uint32_t job_id) {
  const auto found = jobs_.find(job_id);
  return found == jobs_.end() ? nullptr : found->second.get();
}

const Job* State::find(uint32_t job_id) const {
  const auto found = jobs_.find(job_id);
  return found == jobs_.end() ? nullptr : found->second.get();
}

void State::enter(ArrayGroup& group, const Job& job) {
  group.jobs.insert(job.id);
  if (job.array) {
    group.sets.insert(job.id);
  } else if (job.array_task != kNoTask) {
    group.tasks[job.array_task] = job.id;
  }
}

Job& State::add(std::unique_ptr<Job> job) {
  RequestGuard::changing();
  const uint32_t id = job->id;
  if (job->array_job_id != 0) {
    ArrayGroup& group = arrays_[job->array_job_id];
    enter(group, *job);
    if (job->array) group.max_running = job->array->max_running;
  }
  const auto [place, added] = jobs_.emplace(id, std::move(job));
  MINKE_CHECK(added);
  return *place->second;
}

void State::remove(uint32_t job_id) {
  RequestGuard::changing();
  const auto found = jobs_.find(job_id);
  MINKE_CHECK(found != jobs_.end());
  const Job& job = *found->second;
  if (const uint32_t array = job.array_job_id; array != 0) {
    ArrayGroup& group = arrays_[array];
    group.jobs.erase(job_id);
    group.sets.erase(job_id);
    if (const auto task = group.tasks.find(job.array_task);
        task != group.tasks.end() && task->second == job_id)
      group.tasks.erase(task);
    if (group.jobs.empty()) arrays_.erase(array);
  }
  jobs_.erase(found);
}

std::vector<Job*> State::components(const Job& job) {
  std::vector<Job*> found;
  const uint32_t first = job.het_job_id != 0 ? job.het_job_id : job.id;
  const uint32_t count = job.het_job_id != 0 ? job.het_size : 1;
  for (uint32_t offset = 0; offset < count; ++offset) {
    if (Job* component = find(first + offset)) found.push_back(component);
  }
  return found;
}

ArrayGroup* State::find_array(uint32_t array_job_id) {
  const auto found = arrays_.find(array_job_id);
  return found == arrays_.end() ? nullptr : &found->second;
}

const ArrayGroup* State::find_array(uint32_t array_job_id) const {
  const auto found = arrays_.find(array_job_id);
  return found == arrays_.end() ? nullptr : &found->second;
}

void State::set_throttle(uint32_t array_job_id, uint32_t max_running) {
  RequestGuard::changing();
  ArrayGroup* group = find_array(array_job_id);
  MINKE_CHECK(group != nullptr);
  group->max_running = max_running;
  for (const uint32_t id : group->sets) find(id)->array->max_running = max_running;
}

Job* State::find_task(uint32_t array_job_id, uint32_t index) {
  const ArrayGroup* group = find_array(array_job_id);
  if (group == nullptr) return nullptr;
  if (const auto task = group->tasks.find(index); task != group->tasks.end()) return find(task->second);
  for (const uint32_t id : group->sets) {
    Job* job = find(id);
    if (job->array->waiting.contains(index)) return job;
  }
  return nullptr;
}

void State::become_task(Job& array, uint32_t index) {
  array.array.reset();
  array.array_task = index;
  array.closes_record = true;
  ArrayGroup& group = arrays_[array.array_job_id];
  group.sets.erase(array.id);
  enter(group, array);
}

Job& State::split_task(Job& array, uint32_t index) {
  MINKE_CHECK(array.is_array_record() && array.array->waiting.contains(index));
  RequestGuard::changing();
  array.array->waiting.remove(index);
  if (!array.array->waiting.empty()) return add_task(array, index, take_job_id());
  become_task(array, index);
  return array;
}

Job* State::split_tasks(Job& array, const TaskSet& chosen) {
  MINKE_CHECK(array.is_array_record());
  RequestGuard::changing();
  TaskSet taken = array.array->waiting.take(chosen);
  if (taken.empty()) return nullptr;
  if (array.array->waiting.empty()) {
    if (taken.size() == 1) {
      become_task(array, taken.first());
    } else {
      array.array->waiting = std::move(taken);
    }
    return &array;
  }
  if (taken.size() == 1) return &add_task(array, taken.first(), take_job_id());
  return &add_task(array, kNoTask, take_job_id(), std::move(taken));
}

void State::join_tasks(Job& array, Job& tasks) {
  MINKE_CHECK(array.is_array_record() && &array != &tasks && !tasks.dirty && !tasks.queued);
  if (tasks.array) {
    array.array->waiting.add(tasks.array->waiting);
  } else {
    model::ArraySpec one;
    model::IndexRange& range = *one.add_ranges();
    range.set_first(tasks.array_task);
    range.set_last(tasks.array_task);
    array.array->waiting.add(TaskSet(one));
  }
  remove(tasks.id);
}

Job* State::split_task_as(Job& array, uint32_t index, uint32_t job_id) {
  if (!array.is_array_record() || !array.array->waiting.contains(index)) return nullptr;
  const bool last = array.array->waiting.size() == 1;
  if (last != (job_id == array.id)) return nullptr;
  array.array->waiting.remove(index);
  if (!last) return &add_task(array, index, job_id);
  become_task(array, index);
  return &array;
}

Job& State::add_task(const Job& array, uint32_t index, uint32_t job_id, TaskSet several) {
  RequestGuard::changing();
  auto task = std::make_unique<Job>();
  task->id = job_id;
  task->array_job_id = array.array_job_id;
  task->array_task = index;
  task->uid = array.uid;
  task->gid = array.gid;
  task->priority = array.priority;
  task->time_limit_minutes = array.time_limit_minutes;
  task->state = model::JobState{array.state};
  task->reason = array.reason;
  task->requeue_allowed = array.requeue_allowed;
  task->association = array.association;
  task->qos = array.qos;
  task->partition_qos = array.partition_qos;
  task->counted = array.counted;
  task->fixed_priority = array.fixed_priority;
  task->static_priority = array.static_priority;
  task->committed = array.committed;
  task->submit_time = array.submit_time;
  task->eligible_time = array.eligible_time;
  task->submission = array.submission;
  if (array.details && !array.details->dependencies.empty()) {
    task->need_details().dependencies = array.details->dependencies;
  }
  if (!several.empty()) {
    task->array = std::make_unique<ArrayTasks>();
    task->array->waiting = std::move(several);
    task->array->max_running = array.array->max_running;
  }
  return add(std::move(task));
}

std::shared_ptr<const store::ContentHash> State::intern(const store::ContentHash& hash, bool* is_new) {
  std::weak_ptr<const store::ContentHash>& known = contents_[hash];
  auto shared = known.lock();
  if (is_new != nullptr) *is_new = shared == nullptr;
  if (shared) return shared;
  shared = std::make_shared<const store::ContentHash>(hash);
  known = shared;
  // Drops contents that no job in memory uses from time to time, so that the table stays in proportion.
  if (contents_.size() > contents_limit_) {
    std::erase_if(contents_, [](const auto& entry) { return entry.second.expired(); });
    contents_limit_ = std::max<size_t>(1024, 2 * contents_.size());
  }
  return shared;
}

const std::string& State::user_name(uint32_t uid) {
  auto [place, added] = user_names_.try_emplace(uid);
  if (added) place->second = user_name_of(uid);
  return place->second;
}

const std::string& State::group_name(uint32_t gid) {
  auto [place, added] = group_names_.try_emplace(gid);
  if (added) place->second = group_name_of(gid);
  return place->second;
}

model::JobRecord State::record_of(const Job& job) {
  model::JobRecord record;
  write_record(job, record);
  return record;
}

void State::write_record(const Job& job, model::JobRecord& record) {
  record.set_job_id(job.id);
  record.set_array_job_id(job.array_job_id);
  if (job.array_task != kNoTask) record.set_array_task_id(job.array_task);
  if (job.array) {
    job.array->waiting.write(*record.mutable_array_pending());
    record.mutable_array_pending()->set_max_running(job.array->max_running);
  }
  if (job.het_job_id != 0) {
    record.set_het_job_id(job.het_job_id);
    record.set_het_job_offset(job.het_offset);
    record.set_het_job_id_set(std::to_string(job.het_job_id) + "-" +
                              std::to_string(job.het_job_id + job.het_size - 1));
  }
  record.set_special_exit(job.special_exit);
  record.set_uid(job.uid);
  record.set_gid(job.gid);
  record.set_user_name(user_name(job.uid));
  record.set_group_name(group_name(job.gid));
  record.set_state(job.state);
  record.set_completing(job.completing);
  record.set_configuring(job.configuring && job.state == model::JOB_RUNNING);
  record.set_stopped(job.stopped && job.state == model::JOB_RUNNING);
  record.set_reason(job.reason);
  record.set_exit_code(job.exit_code);
  record.set_derived_exit_code(job.derived_exit_code);
  record.set_restarts(job.restarts);
  record.set_priority(job.priority);
  record.set_association_id(job.association);
  record.set_fixed_priority(job.fixed_priority);
  record.set_cancelled_by_uid(job.cancelled_by_uid);
  record.set_requeue_allowed(job.requeue_allowed);
  record.set_submit_time(job.submit_time);
  record.set_eligible_time(job.eligible_time);
  record.set_start_time(job.start_time);
  record.set_end_time(job.end_time);
  record.set_time_limit_minutes(job.time_limit_minutes);
  if (job.details) {
    const Details& details = *job.details;
    record.set_reason_detail(details.reason_detail);
    record.set_mailed_percent(details.mailed_percent);
    record.set_partition(details.partition);
    record.set_suspend_time(details.suspend_time);
    record.set_suspended_seconds(details.suspended_seconds);
    record.set_pre_suspend_seconds(details.pre_suspend_seconds);
    record.set_licenses_alloc(details.licenses_alloc);
    *record.mutable_usage() = details.usage;
    record.set_billing(details.billing);
    record.set_next_step_id(details.next_step_id);
    *record.mutable_nodes() = details.nodes;
    std::vector<std::string> names;
    uint32_t cpus = 0, tasks = 0;
    uint64_t memory = 0;
    for (const auto& node : details.nodes) {
      names.push_back(node.node());
      cpus += node.cpus();
      tasks += node.tasks();
      memory += node.memory_mib();
    }
    if (!names.empty()) {
      record.set_node_list(text::compress_hostlist_sorted(names));
      record.set_batch_host(details.nodes.Get(details.script_node).node());
      record.set_num_nodes(static_cast<uint32_t>(names.size()));
      record.set_num_cpus(cpus);
      record.set_num_tasks(tasks);
      record.set_memory_mib(memory);
    }
  }
}

store::JobRow State::row_of(const Job& job) {
  store::JobRow row;
  row.record = record_of(job);
  row.spec_id = job.submission->spec_id;
  if (job.submission->script) row.script = *job.submission->script;
  if (job.submission->environment) row.environment = *job.submission->environment;
  if (job.details && job.details->owner.pid != 0) {
    row.owner = format_owner(job.details->owner);
  }
  return row;
}

std::unique_ptr<Job> State::job_of(const store::JobRow& row, std::shared_ptr<const Submission> submission) {
  const model::JobRecord& record = row.record;
  auto job = std::make_unique<Job>();
  job->id = record.job_id();
  job->array_job_id = record.array_job_id();
  if (record.has_array_task_id()) job->array_task = record.array_task_id();
  if (record.has_array_pending() && record.array_pending().ranges_size() > 0) {
    job->array = std::make_unique<ArrayTasks>();
    job->array->waiting = TaskSet(record.array_pending());
    job->array->max_running = record.array_pending().max_running();
  }
  if (const std::string& ids = record.het_job_id_set(); record.het_job_id() != 0) {
    job->het_job_id = record.het_job_id();
    job->het_offset = static_cast<uint16_t>(record.het_job_offset());
    const uint64_t last = std::strtoull(ids.c_str() + ids.find('-') + 1, nullptr, 10);
    job->het_size = static_cast<uint16_t>(last - record.het_job_id() + 1);
  }
  job->special_exit = record.special_exit();
  job->uid = record.uid();
  job->gid = record.gid();
  job->priority = record.priority();
  job->association = record.association_id();
  job->fixed_priority = record.fixed_priority();
  job->time_limit_minutes = record.time_limit_minutes();
  job->restarts = record.restarts();
  job->cancelled_by_uid = record.cancelled_by_uid();
  job->exit_code = record.exit_code();
  job->derived_exit_code = record.derived_exit_code();
  job->state = record.state();
  job->reason = record.reason();
  job->completing = record.completing();
  job->configuring = record.configuring();
  job->stopped = record.stopped();
  job->requeue_allowed = record.requeue_allowed();
  job->committed = true;
  job->submit_time = record.submit_time();
  job->eligible_time = record.eligible_time();
  job->start_time = record.start_time();
  job->end_time = record.end_time();
  job->submission = std::move(submission);
  if (!record.reason_detail().empty()) job->need_details().reason_detail = record.reason_detail();
  if (record.nodes_size() > 0 || !row.owner.empty()) {
    Details& details = job->need_details();
    details.nodes = record.nodes();
    for (int i = 0; i < details.nodes.size(); ++i)
      if (details.nodes[i].node() == record.batch_host()) details.script_node = i;
    details.partition = record.partition();
    details.usage = record.usage();
    details.mailed_percent = record.mailed_percent();
    details.billing = record.billing();
    details.next_step_id = record.next_step_id();
    details.suspend_time = record.suspend_time();
    details.suspended_seconds = record.suspended_seconds();
    details.pre_suspend_seconds = record.pre_suspend_seconds();
    details.licenses_alloc = record.licenses_alloc();
    if (!row.owner.empty()) details.owner = parse_owner(row.owner);
  }
  return job;
}

}  // namespace minke::engine
