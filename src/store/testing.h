// Shared by the store's tests: a temporary directory, rows to write, and calls that wait for the answer. Only
// tests and benchmarks include it.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "model/job_state.pb.h"
#include "model/lasting_state.pb.h"
#include "model/step_record.pb.h"
#include "store/job_row.h"
#include "store/store.h"

namespace minke::model {
class JobRecord;
}  // namespace minke::model

namespace minke::store::testing {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = std::filesystem::temp_directory_path() / "minke-store-XXXXXX";
    MINKE_CHECK(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// As large as the record of an ordinary batch job that does nothing.
inline JobRow job_row(uint32_t job_id, model::JobState state = model::JOB_PENDING, uint32_t restarts = 0) {
  JobRow row;
  row.spec_id = job_id;
  row.script = hash_content("#!/bin/sh\ntrue\n");
  row.environment = hash_content("PATH=/usr/bin");
  model::JobRecord& record = row.record;
  record.set_job_id(job_id);
  record.set_restarts(restarts);
  record.set_uid(1000);
  record.set_gid(1000);
  record.set_user_name("ada");
  record.set_group_name("ada");
  record.set_state(state);
  record.set_priority(4294901759);
  record.set_submit_time(1'700'000'000 + job_id);
  record.set_eligible_time(1'700'000'000 + job_id);
  record.set_partition("main");
  record.set_qos("normal");
  record.set_account("default");
  record.set_time_limit_minutes(60);
  record.set_num_nodes(1);
  record.set_num_cpus(1);
  record.set_num_tasks(1);
  record.set_memory_mib(1024);
  record.set_stdout_path("/home/ada/runs/slurm-" + std::to_string(job_id) + ".out");
  if (state != model::JOB_PENDING) {
    record.set_start_time(1'700'000'100 + job_id);
    record.set_end_time(1'700'000'200 + job_id);
    record.set_node_list("node1");
    record.set_batch_host("node1");
    auto* node = record.add_nodes();
    node->set_node("node1");
    node->set_cpus(1);
    node->set_memory_mib(1024);
    node->set_tasks(1);
  }
  return row;
}

inline JobRow array_task(uint32_t job_id, uint32_t array_job_id, uint32_t task,
                         model::JobState state = model::JOB_COMPLETE) {
  JobRow row = job_row(job_id, state);
  row.spec_id = array_job_id;
  row.record.set_array_job_id(array_job_id);
  row.record.set_array_task_id(task);
  return row;
}

inline SpecRow spec_row(uint32_t spec_id, const std::string& name = "train") {
  SpecRow row;
  row.spec_id = spec_id;
  row.spec.set_name(name);
  row.spec.set_work_dir("/home/ada/runs");
  row.spec.set_command("/home/ada/runs/train.sh");
  row.spec.add_arguments("train.sh");
  return row;
}

inline model::StepRecord step_row(uint32_t job_id, model::StepKind kind, uint32_t step_id = 0,
                                  uint32_t restarts = 0) {
  model::StepRecord step;
  step.set_job_id(job_id);
  step.set_kind(kind);
  step.set_step_id(step_id);
  step.set_restarts(restarts);
  step.set_name(kind == model::STEP_BATCH ? "batch" : "python");
  step.set_state(model::JOB_COMPLETE);
  step.set_node_list("node1");
  return step;
}

// A row of a table of records in which a test may count.
inline Row probe_row(uint64_t number) {
  model::CommitProbe probe;
  probe.set_number(number);
  return kCommitProbe.row(probe);
}
inline uint64_t probed(Loaded loaded) {
  const auto found = loaded.rows.read(kCommitProbe);
  return found.empty() ? 0 : found[0].number();
}

inline std::unique_ptr<Store> open_store(const std::string& path, const Options& options = {}) {
  auto store = Store::open(path, options);
  if (!store) check_failed(store.error().message.c_str(), __FILE__, __LINE__);
  return std::move(*store);
}

inline Status commit(Store& store, Batch batch) {
  std::promise<Status> outcome;
  store.commit(std::move(batch), [&](Status status) { outcome.set_value(std::move(status)); });
  return outcome.get_future().get();
}

struct Answer {
  std::vector<AccountedJob> jobs;
  std::vector<size_t> chunks;  // their sizes, without the empty one at the end
};

inline Result<Answer> query(Store& store, AccountingQuery query) {
  Answer answer;
  std::promise<Status> end;
  store.query(std::move(query), [&](Result<std::vector<AccountedJob>> chunk) {
    if (!chunk) {
      end.set_value(failure(chunk.error()));
    } else if (chunk->empty()) {
      end.set_value({});
    } else {
      answer.chunks.push_back(chunk->size());
      for (auto& job : *chunk) answer.jobs.push_back(std::move(job));
    }
  });
  if (Status status = end.get_future().get(); !status) return failure(status.error());
  return answer;
}

}  // namespace minke::store::testing
