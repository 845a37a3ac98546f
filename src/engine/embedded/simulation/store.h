// SimulatedStore: the store in virtual time. Commits are made one after the other at times of the agenda.
//
// The real store is behind it, with its threads. Each call waits until the thread has finished, so that there
// is only one order of events. A commit is reported some time after it was handed in, as from a slow disk. If
// the program dies before that, the commit may or may not have been made.
//
// It belongs to the simulation's thread.
#pragma once

#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/embedded/simulation/time.h"
#include "store/store.h"

namespace minke::engine::simulation {

class SimulatedStore final : public store::Store {
 public:
  using Delay = std::function<Agenda::Time()>;  // duration of the next commit
  SimulatedStore(Agenda& agenda, std::unique_ptr<store::Store> real, Delay delay)
      : agenda_(agenda), real_(std::move(real)), delay_(std::move(delay)) {}

  Result<store::Loaded> load() override { return real_->load(); }
  void commit(store::Batch batch, std::function<void(Status)> done) override {
    waiting_.push_back({std::move(batch), std::move(done)});
    if (waiting_.size() == 1) schedule();
  }
  void forget(int64_t ended_before, std::function<void(Result<uint64_t>)> done) override {
    std::promise<Result<uint64_t>> outcome;
    real_->forget(ended_before, [&](Result<uint64_t> count) { outcome.set_value(std::move(count)); });
    done(outcome.get_future().get());
  }
  void query(store::AccountingQuery query,
             std::function<void(Result<std::vector<store::AccountedJob>>)> chunk) override {
    std::vector<Result<std::vector<store::AccountedJob>>> parts;
    std::promise<void> end;
    real_->query(std::move(query), [&](Result<std::vector<store::AccountedJob>> part) {
      const bool last = !part || part->empty();
      parts.push_back(std::move(part));
      if (last) end.set_value();
    });
    end.get_future().wait();
    for (auto& part : parts) chunk(std::move(part));
  }
  std::unique_ptr<Reading> read(store::AccountingQuery query, OnChunk chunk) override {
    this->query(std::move(query), std::move(chunk));
    return std::make_unique<ReadAtOnce>();
  }
  Result<std::optional<std::string>> content(const store::ContentHash& hash) override {
    return real_->content(hash);
  }
  Result<std::optional<uint32_t>> submission(const std::string& key) override {
    return real_->submission(key);
  }
  Result<std::optional<store::JobRow>> job(uint32_t job_id) override { return real_->job(job_id); }
  Result<std::optional<std::string>> series(uint32_t job_id, uint32_t restarts) override {
    return real_->series(job_id, restarts);
  }
  Result<std::vector<std::string>> set_aside() override { return real_->set_aside(); }
  Result<ArrayOutcome> array_outcome(uint32_t array_job_id) override {
    return real_->array_outcome(array_job_id);
  }
  Result<std::optional<store::JobRow>> array_task(uint32_t array_job_id, uint32_t index) override {
    return real_->array_task(array_job_id, index);
  }

  // The program dies: the first `made` of the waiting commits are made, and no callback is called.
  void die(size_t made) {
    for (size_t i = 0; i < made && i < waiting_.size(); ++i) (void)make(std::move(waiting_[i].batch));
    waiting_.clear();
    alive_.reset();
  }
  size_t waiting() const { return waiting_.size(); }

 private:
  struct Waiting {
    store::Batch batch;
    std::function<void(Status)> done;
  };

  void schedule() {
    agenda_.after(delay_(), [this, alive = std::weak_ptr<bool>(alive_)] {
      if (alive.expired()) return;
      const auto done = std::move(waiting_.front().done);
      const Status outcome = make(std::move(waiting_.front().batch));
      waiting_.pop_front();
      if (!waiting_.empty()) schedule();
      if (done) done(outcome);
    });
  }

  Status make(store::Batch batch) {
    std::promise<Status> outcome, quiet;
    real_->commit(std::move(batch), [&](Status status) { outcome.set_value(std::move(status)); });
    Status made = outcome.get_future().get();
    // What the thread does after its report (a checkpoint) is finished when it takes the next commit.
    real_->commit({}, [&](Status status) { quiet.set_value(std::move(status)); });
    quiet.get_future().wait();
    return made;
  }

  Agenda& agenda_;
  std::unique_ptr<store::Store> real_;
  Delay delay_;
  std::deque<Waiting> waiting_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace minke::engine::simulation
