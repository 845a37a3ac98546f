#include "node/launch_table.h"

#include <algorithm>
#include <limits>

#include "model/step_record.pb.h"
#include "node/journal.pb.h"
#include "node/launch.pb.h"

namespace minke::node {

LaunchKey LaunchKey::of(const LaunchId& id) {
  return {{id.job_id(), id.run()}, id.kind(), id.step_id()};
}

LaunchId LaunchKey::id() const {
  LaunchId id;
  id.set_job_id(job.job_id);
  id.set_run(job.run);
  id.set_kind(kind);
  id.set_step_id(step_id);
  return id;
}

namespace {

void end_task(LaunchState& launch, const TaskEnded& ended) {
  if (ended.position() >= launch.tasks.size()) return;
  launch.tasks[ended.position()].end = ended.end();
  bool all_ended = true;
  bool none_ran = true;
  for (const auto& task : launch.tasks) {
    all_ended = all_ended && task.end.has_value();
    none_ran = none_ran && task.end && !task.end->error().empty();
  }
  if (!all_ended) return;
  // Task ends are out of order only if the clock changed. The last record is the end in any case.
  launch.end_time = std::max<int64_t>(1, ended.end().end_time());
  if (!none_ran) return;
  launch.launch_error = launch.tasks.front().end->error();
  launch.error_number = launch.tasks.front().end->error_number();
}

}  // namespace

void LaunchTable::apply(const JournalRecord& record) {
  switch (record.body_case()) {
    case JournalRecord::kLaunching: {
      const Launching& launching = record.launching();
      LaunchKey key = LaunchKey::of(launching.id());
      auto [at, is_new] = launches_.try_emplace(key);
      if (!is_new) return;
      LaunchState& launch = at->second;
      launch.key = key;
      launch.start_time = launching.start_time();
      launch.tag = launching.tag();
      launch.tmp_dir = launching.tmp_dir();
      launch.ends_job = launching.ends_job();
      launch.launching_ticks = launching.boot_ticks();
      launch.tasks.resize(launching.ranks_size());
      for (int i = 0; i < launching.ranks_size(); ++i) launch.tasks[i].rank = launching.ranks(i);
      return;
    }
    case JournalRecord::kRunning:
      if (LaunchState* launch = find(LaunchKey::of(record.running().id()))) {
        launch->running_ticks = record.running().boot_ticks();
        size_t count = std::min<size_t>(launch->tasks.size(), record.running().pids_size());
        for (size_t i = 0; i < count; ++i) {
          launch->tasks[i].pid = static_cast<pid_t>(record.running().pids(static_cast<int>(i)));
        }
      }
      return;
    case JournalRecord::kTaskEnded:
      if (LaunchState* launch = find(LaunchKey::of(record.task_ended().id()))) {
        end_task(*launch, record.task_ended());
      }
      return;
    case JournalRecord::kFailed:
      if (LaunchState* launch = find(LaunchKey::of(record.failed().id()))) {
        launch->launch_error = record.failed().launch_error();
        launch->error_number = record.failed().error_number();
        launch->end_time = std::max<int64_t>(1, record.failed().end_time());
      }
      return;
    case JournalRecord::kLost:
      if (LaunchState* launch = find(LaunchKey::of(record.lost().id()))) {
        launch->lost = true;
        launch->end_time = std::max<int64_t>(1, record.lost().end_time());
      }
      return;
    case JournalRecord::kCollected:
      for (const LaunchId& id : record.collected().ids()) launches_.erase(LaunchKey::of(id));
      return;
    case JournalRecord::kHeader:
    case JournalRecord::BODY_NOT_SET:
      return;
  }
}

LaunchState* LaunchTable::find(const LaunchKey& key) {
  auto found = launches_.find(key);
  return found == launches_.end() ? nullptr : &found->second;
}

std::vector<LaunchState*> LaunchTable::launches_of(const JobKey& job) {
  std::vector<LaunchState*> launches;
  for (auto at = launches_.lower_bound({job, model::STEP_NORMAL, 0});
       at != launches_.end() && at->first.job == job; ++at) {
    launches.push_back(&at->second);
  }
  return launches;
}

std::vector<JournalRecord> LaunchTable::records() const {
  std::vector<JournalRecord> records;
  for (const auto& [key, launch] : launches_) {
    LaunchId id = key.id();
    Launching& launching = *records.emplace_back().mutable_launching();
    *launching.mutable_id() = id;
    launching.set_start_time(launch.start_time);
    launching.set_tag(launch.tag);
    launching.set_tmp_dir(launch.tmp_dir);
    launching.set_ends_job(launch.ends_job);
    launching.set_boot_ticks(launch.launching_ticks);
    for (const auto& task : launch.tasks) launching.add_ranks(task.rank);
    if (launch.running_ticks != 0) {
      Running& running = *records.emplace_back().mutable_running();
      *running.mutable_id() = id;
      running.set_boot_ticks(launch.running_ticks);
      for (const auto& task : launch.tasks) running.add_pids(static_cast<uint32_t>(task.pid));
    }
    // The task that ended last comes last: its record has the end of the launch.
    std::vector<uint32_t> ended;
    for (uint32_t i = 0; i < launch.tasks.size(); ++i) {
      if (launch.tasks[i].end) ended.push_back(i);
    }
    std::stable_sort(ended.begin(), ended.end(), [&launch = launch](uint32_t a, uint32_t b) {
      return launch.tasks[a].end->end_time() < launch.tasks[b].end->end_time();
    });
    for (uint32_t position : ended) {
      TaskEnded& task_ended = *records.emplace_back().mutable_task_ended();
      *task_ended.mutable_id() = id;
      task_ended.set_position(position);
      *task_ended.mutable_end() = *launch.tasks[position].end;
    }
    if (launch.lost) {
      Lost& lost = *records.emplace_back().mutable_lost();
      *lost.mutable_id() = id;
      lost.set_end_time(launch.end_time);
    } else if (!launch.launch_error.empty() && ended.size() < launch.tasks.size()) {
      LaunchFailed& failed = *records.emplace_back().mutable_failed();
      *failed.mutable_id() = id;
      failed.set_launch_error(launch.launch_error);
      failed.set_error_number(launch.error_number);
      failed.set_end_time(launch.end_time);
    }
  }
  return records;
}

Launch to_message(const LaunchState& launch, bool with_tag) {
  Launch message;
  *message.mutable_id() = launch.key.id();
  message.set_start_time(launch.start_time);
  for (const auto& task : launch.tasks) {
    if (task.end) *message.add_ended_tasks() = *task.end;
    message.add_pids(task.end ? 0 : static_cast<uint32_t>(task.pid));
  }
  if (launch.announced) {
    message.set_end_time(launch.end_time);
    message.set_launch_error(launch.launch_error);
    message.set_error_number(launch.error_number);
    message.set_lost(launch.lost);
  }
  if (with_tag) message.set_tag(launch.tag);
  return message;
}

}  // namespace minke::node
