// The list of jobs: those in memory, and from the store those that ended a moment ago.
#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/job_filter.pb.h"
#include "api/jobs.pb.h"
#include "engine/embedded/answers/job_walk.h"
#include "engine/embedded/answers/listing_in_pieces.h"
#include "engine/embedded/answers/long_queries.h"
#include "engine/embedded/answers/stored_jobs.h"
#include "engine/embedded/core.h"
#include "engine/embedded/scheduling/forecast_slice.h"
#include "engine/embedded/scheduling/scheduling.h"
#include "engine/embedded/scheduling/world.h"
#include "model/error.h"
#include "store/job_row.h"
#include "store/store.h"

namespace minke::engine {

using namespace model;

namespace {

class JobListing final : public ListingInPieces {
 public:
  JobListing(Core& core, Queries& queries, const api::QueryJobsRequest& request, Viewer viewer,
             LongAnswer& answer)
      : ListingInPieces(answer),
        core_(core),
        queries_(queries),
        walk_(core.state, request.filter()),
        filter_(request.filter()),
        matcher_(filter_, viewer),
        asker_(viewer.uid),
        brief_(request.brief() && filter_.wckeys().empty() && filter_.reservations().empty()) {
    reply<api::JobsReply>().set_now(core_.now());
    is_to_forecast_ = request.with_start_forecast();
  }

 private:
  bool is_to_forecast() const override { return is_to_forecast_; }
  bool forecast_some() override {
    if (!forecast_) {
      forecast_ = core_.scheduling->forecast();
      return false;
    }
    if (!forecast_->go_on()) return false;
    for (const auto& expected : forecast_->starts()) {
      if (expected.after_unlimited) continue;  // unknown
      expected_starts_.try_emplace(World::job_of_entry(expected.entry), expected.start);
    }
    forecast_.reset();
    is_to_forecast_ = false;
    return true;
  }

  void begin_piece() override {
    walk_.begin_piece();
    reasons_.emplace(core_.scheduling->wait_reasons());
  }

  bool show_next() override {
    const Job* job = walk_.job();
    if (job == nullptr) return false;
    walk_.advance();
    show(*job);
    return true;
  }

  void all_shown() override {
    if (!wants_ended()) return finish();
    send(false);
    read_ended();
  }

  void clear_records() override { reply<api::JobsReply>().clear_jobs(); }

  void show(const Job& job) {
    if (!job.committed || !matcher_.touches(job)) return;
    any_selected_ = any_ = true;
    if (job.ended()) known_.push_back(job.id);
    // Before its record is made: who asks for what runs does not pay for a long queue.
    if (!state_shown(job.state, job.completing)) return;
    JobRecord& record = *reply<api::JobsReply>().add_jobs();
    if (brief_) {
      queries_.write_brief(job, record);
    } else {
      record = queries_.full_record(job);
    }
    if (record.state() == JOB_PENDING) {
      record.set_reason(core_.scheduling->reason_of(*reasons_, job));
      if (std::string more = core_.scheduling->reason_detail_of(*reasons_, job); !more.empty())
        record.set_reason_detail(std::move(more));
      if (const auto expected = expected_starts_.find(job.id); expected != expected_starts_.end())
        record.set_start_time(expected->second);
    }
    if (!matcher_.passes(record) || was_struck_out(record)) {
      reply<api::JobsReply>().mutable_jobs()->RemoveLast();
      return;
    }
    known_.push_back(job.id);
    // Older releases show it in accounting alone.
    if (record.has_spec() && core_.config.slurm_release < kSlurm26)
      record.mutable_spec()->clear_submit_line();
    added(record.ByteSizeLong());
  }

  bool state_shown(model::JobState state, bool completing) const {
    if (filter_.all_states()) return true;
    if (!filter_.states().empty()) return matcher_.has_state(state);
    return completing || state <= JOB_SUSPENDED;
  }

  bool wants_ended() const {
    return filter_.all_states() || (!filter_.jobs().empty() && !any_selected_) ||
           std::any_of(filter_.states().begin(), filter_.states().end(),
                       [](int state) { return state >= JOB_COMPLETE; });
  }

  void read_ended() {
    store::AccountingQuery query;
    query.asker = asker_;
    query.ended_since = std::max<int64_t>(1, core_.now() - core_.config.min_job_age_seconds);
    query.job_ids = stored_ids(filter_, core_.store);
    stored_.emplace(core_, answer_, std::move(query),
                    [this](Result<std::vector<store::AccountedJob>>& chunk) { return show_ended(chunk); });
  }

  // False: there is no more.
  bool show_ended(Result<std::vector<store::AccountedJob>>& chunk) {
    if (!chunk) return stop(chunk.error());
    for (store::AccountedJob& stored : *chunk) {
      JobRecord& record = stored.job.record;
      if (std::binary_search(known_.begin(), known_.end(), record.job_id()) || !matcher_.selected(record))
        continue;
      any_ = true;
      if (was_struck_out(record)) continue;
      *record.mutable_spec() = std::move(stored.spec);
      queries_.complete(record, nullptr);
      if (!state_shown(record.state(), record.completing()) || !matcher_.passes(record)) continue;
      added(record.ByteSizeLong());
      *reply<api::JobsReply>().add_jobs() = std::move(record);
    }
    if (!chunk->empty()) {
      send(false);
      return true;
    }
    if (filter_.jobs_size() == 1 && !any_) return stop(Error{kInvalidJobId, {}});
    finish();
    return false;
  }

  bool stop(const Error& error) {
    fail(error);
    return false;
  }

  Core& core_;
  Queries& queries_;
  JobWalk walk_;
  std::optional<sched::WaitReasons> reasons_;  // for the current piece
  const api::JobFilter filter_;
  const JobMatcher matcher_;
  const uint32_t asker_;
  const bool brief_;
  bool is_to_forecast_ = false;
  std::shared_ptr<QueueForecast> forecast_;
  std::unordered_map<uint32_t, int64_t> expected_starts_;
  std::vector<uint32_t> known_;  // from memory, by their ids: not searched in the store
  bool any_selected_ = false;    // in memory
  bool any_ = false;
  std::optional<StoredJobs> stored_;
};

}  // namespace

void list_jobs(Core& core, Queries& queries, const api::QueryJobsRequest& request, Viewer viewer,
               LongAnswer& answer) {
  const auto listing = std::make_shared<JobListing>(core, queries, request, viewer, answer);
  answer.keep(listing);
  listing->begin();
}

}  // namespace minke::engine
