// Outlook: when a job of this daemon is expected to become eligible, to start and to end, whatever it waits
// for (sched/outlook.h).
//
// An outlook may need the forecasts of several jobs, one after the other, and each is made in slices
// (forecast_slice.h). So what is asked is worked out again and again, with the forecasts that are known by
// then, until it needs no other. The moment of the first question counts for all. State's thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "sched/forecast.h"
#include "sched/outlook.h"

namespace minke::engine {

struct Core;
struct Job;

// The jobs in memory, and forecasts for them.
class JobsInMemory final : public sched::OutlookJobs {
 public:
  // `forecasts`: so many are made at most.
  JobsInMemory(Core& core, sched::ForecastOptions options, int forecasts);

  static sched::OutlookJob describe(const Job& job);

  int64_t now() const override { return now_; }
  std::optional<sched::OutlookJob> job(uint32_t id) const override;
  std::optional<sched::OutlookJob> task(uint32_t array_job_id, uint32_t index) const override;
  std::optional<std::vector<uint32_t>> array(uint32_t array_job_id) const override;
  int64_t begin_time(uint32_t id) const override;
  std::vector<model::Dependency> dependencies(uint32_t id) const override;
  std::optional<int64_t> expected_end(uint32_t id) const override;
  int64_t expected_seconds(uint32_t id) const override;
  // Nothing also for one that is not known yet: it is begun, unless another is under way.
  std::optional<sched::ExpectedStart> forecast(uint32_t id) const override;
  std::optional<sched::ExpectedStart> forecast_later(uint32_t id, int64_t from) const override;

  bool unfinished() const { return under_way_.has_value(); }
  void go_on();  // a slice of what is under way

 private:
  static constexpr int64_t kQueued = -1;
  using Question = std::pair<uint32_t, int64_t>;  // job, and when it enters the queue
  template <typename Begin>
  std::optional<sched::ExpectedStart> known(const Question& question, const Begin& begin) const;

  Core& core_;
  const sched::ForecastOptions options_;
  const int64_t now_;
  mutable int forecasts_left_;
  mutable std::map<Question, std::optional<sched::ExpectedStart>> known_;
  struct UnderWay {
    Question question;
    sched::ForecastInPieces forecast;
  };
  mutable std::optional<UnderWay> under_way_;
};

class Outlook {
 public:
  static constexpr int kMostStarts = sched::Outlook::kMostStarts;
  Outlook(Core& core, sched::ForecastOptions options, int starts = kMostStarts)
      : jobs_(core, std::move(options), starts), starts_left_(starts) {}
  Outlook(const Outlook&) = delete;
  Outlook& operator=(const Outlook&) = delete;

  // Each call is a slice. While unfinished(), it returns nothing: ask the same again in the next piece.
  std::optional<sched::ExpectedStart> start(const Job& job);
  std::optional<int64_t> end(const Job& job);
  bool unfinished() const { return again_ || jobs_.unfinished(); }
  int starts_left() const { return starts_left_; }

 private:
  template <typename Question>
  auto ask(const Question& question) -> decltype(question(std::declval<sched::Outlook&>()));

  JobsInMemory jobs_;
  int starts_left_;
  bool again_ = false;  // a forecast has gone on; the question is worked out in the next piece
};

}  // namespace minke::engine
