// MemoryStore: a store that keeps everything in memory and reports each call before it returns. For tests.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/job_spec.pb.h"
#include "model/job_state.pb.h"
#include "model/step_record.pb.h"
#include "store/job_row.h"
#include "store/schema.h"
#include "store/store.h"
#include "store/tables.h"

namespace minke::model {
class JobRecord;
}  // namespace minke::model

namespace minke::engine::simulation {

class MemoryStore final : public store::Store {
 public:
  Result<store::Loaded> load() override {
    store::Loaded loaded;
    for (const auto& [key, row] : jobs_) {
      loaded.highest_job_id = std::max(loaded.highest_job_id, key.first);
      if (!is_active(row)) continue;
      loaded.active_jobs.push_back(row);
      if (loaded.specs.empty() || loaded.specs.back().spec_id != row.spec_id)
        loaded.specs.push_back({row.spec_id, specs_.at(row.spec_id)});
    }
    for (const auto& [key, step] : steps_)
      if (const auto found = latest(step.job_id()); found != jobs_.end() && is_active(found->second))
        loaded.active_steps.push_back(step);
    for (const auto& [name, record] : rows_) loaded.rows.add(name.first, name.second, record);
    return loaded;
  }

  void commit(store::Batch batch, std::function<void(Status)> done) override {
    for (store::JobRow& row : batch.jobs)
      jobs_[{row.record.job_id(), row.record.restarts()}] = std::move(row);
    for (store::SpecRow& row : batch.specs) specs_[row.spec_id] = std::move(row.spec);
    for (model::StepRecord& step : batch.steps)
      steps_[{step.job_id(), step.restarts(), step.kind(), step.step_id()}] = std::move(step);
    for (auto& [hash, content] : batch.contents) contents_.emplace(hash, std::move(content));
    for (auto& [key, job] : batch.submissions) submissions_.emplace(key, job);
    for (const store::DamagedRow& row : batch.set_aside) {
      rows_.erase({row.table, row.key});
      set_aside_.push_back(in_words(row));
    }
    for (store::Row& row : batch.rows) {
      if (row.record) {
        rows_[{row.table, row.key}] = std::move(*row.record);
      } else {
        rows_.erase({row.table, row.key});
      }
    }
    for (store::SeriesRow& row : batch.series) series_[{row.job_id, row.restarts}] = std::move(row.series);
    if (done) done({});
  }

  void forget(int64_t ended_before, std::function<void(Result<uint64_t>)> done) override {
    done(std::erase_if(jobs_, [&](const auto& one) {
      return !is_active(one.second) && one.second.record.end_time() < ended_before;
    }));
  }

  void query(store::AccountingQuery query,
             std::function<void(Result<std::vector<store::AccountedJob>>)> chunk) override {
    std::vector<store::AccountedJob> found;
    for (const auto& [key, row] : jobs_) {
      if (!asked_for(query, row) || (!query.duplicates && latest(key.first)->first != key)) continue;
      store::AccountedJob job{row, specs_.at(row.spec_id), {}};
      for (const auto& [step_key, step] : steps_) {
        if (query.with_steps && step.job_id() == key.first && step.restarts() == key.second)
          job.steps.push_back(step);
      }
      found.push_back(std::move(job));
    }
    if (query.newest_first) put_newest_first(query, found);
    if (!found.empty()) chunk(std::move(found));
    chunk(std::vector<store::AccountedJob>());
  }

  std::unique_ptr<Reading> read(store::AccountingQuery query, OnChunk chunk) override {
    this->query(std::move(query), std::move(chunk));
    return std::make_unique<ReadAtOnce>();
  }
  Result<std::optional<std::string>> content(const store::ContentHash& hash) override {
    return value_of(contents_, hash);
  }
  Result<std::optional<uint32_t>> submission(const std::string& key) override {
    return value_of(submissions_, key);
  }
  Result<std::optional<store::JobRow>> job(uint32_t job_id) override {
    const auto found = latest(job_id);
    return found == jobs_.end() ? std::nullopt : std::optional(found->second);
  }
  Result<std::optional<std::string>> series(uint32_t job_id, uint32_t restarts) override {
    return value_of(series_, std::pair{job_id, restarts});
  }
  Result<std::vector<std::string>> set_aside() override { return set_aside_; }
  Result<ArrayOutcome> array_outcome(uint32_t array_job_id) override {
    ArrayOutcome outcome;
    for (const auto& [key, row] : jobs_) {
      if (row.record.array_job_id() != array_job_id || is_active(row) || latest(key.first)->first != key)
        continue;
      ++outcome.ended;
      outcome.succeeded += row.record.state() == model::JOB_COMPLETE && row.record.exit_code() == 0;
    }
    return outcome;
  }
  Result<std::optional<store::JobRow>> array_task(uint32_t array_job_id, uint32_t index) override {
    std::optional<store::JobRow> found;
    for (const auto& [key, row] : jobs_) {
      const model::JobRecord& record = row.record;
      if (record.array_job_id() == array_job_id && record.has_array_task_id() &&
          record.array_task_id() == index)
        found = row;
    }
    return found;
  }

 private:
  using Key = std::pair<uint32_t, uint32_t>;

  static bool is_active(const store::JobRow& row) {
    return row.record.state() < model::JOB_COMPLETE || row.record.completing();
  }
  std::map<Key, store::JobRow>::const_iterator latest(uint32_t job_id) const {
    const auto after = jobs_.upper_bound({job_id, ~uint32_t{0}});
    if (after == jobs_.begin()) return jobs_.end();
    const auto last = std::prev(after);
    return last->first.first == job_id ? last : jobs_.end();
  }
  static bool asked_for(const store::AccountingQuery& query, const store::JobRow& row) {
    const auto among = [](const auto& list, const auto& value) {
      return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
    };
    const model::JobRecord& record = row.record;
    const int64_t end = is_active(row) ? 0 : record.end_time();
    return (among(query.job_ids, record.job_id()) || among(query.job_ids, record.array_job_id())) &&
           among(query.uids, record.uid()) && (query.until == 0 || record.submit_time() < query.until) &&
           (end == 0 ? query.ended_since == 0 : end >= std::max(query.from, query.ended_since));
  }
  static void put_newest_first(const store::AccountingQuery& query, std::vector<store::AccountedJob>& jobs) {
    const auto place = [](const store::AccountedJob& one) {
      const model::JobRecord& record = one.job.record;
      return std::pair(record.end_time(), store::run_key(record.job_id(), record.restarts()));
    };
    std::erase_if(jobs, [&](const auto& one) {
      const bool is_behind =
          query.behind_end == 0 || place(one) < std::pair(query.behind_end, query.behind_run);
      return one.job.record.state() <= model::JOB_SUSPENDED || !is_behind;
    });
    std::sort(jobs.begin(), jobs.end(), [&](const auto& a, const auto& b) { return place(a) > place(b); });
  }
  template <typename Map, typename Name>
  static std::optional<typename Map::mapped_type> value_of(const Map& map, const Name& name) {
    const auto found = map.find(name);
    return found == map.end() ? std::nullopt : std::optional(found->second);
  }

  std::map<Key, store::JobRow> jobs_;
  std::map<uint32_t, model::JobSpec> specs_;
  std::map<std::tuple<uint32_t, uint32_t, int, uint32_t>, model::StepRecord> steps_;
  std::map<store::ContentHash, std::string> contents_;
  std::map<std::string, uint32_t> submissions_;
  std::map<std::pair<store::Table, store::RowKey>, std::string> rows_;
  std::vector<std::string> set_aside_;
  std::map<Key, std::string> series_;
};

}  // namespace minke::engine::simulation
