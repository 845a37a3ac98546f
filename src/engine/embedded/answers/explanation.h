// Explanation: the answer to `minke why`: what a job waits for, which jobs are before it, when it will start,
// and which smaller request would start sooner. The scheduler is run forward on copies of the state.
//
// An answer needs some twenty forecasts, and each is made in slices of some milliseconds. A slice is a piece
// of a long answer (flow_control.h): it runs in its user's turn, and other work runs between pieces. A
// forecast tells of the state in which it was begun. If the job has started meanwhile, the answer ends with
// what was found. State's thread; belongs to its LongAnswer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/embedded/answers/queries.h"
#include "engine/embedded/answers/smaller_requests.h"
#include "engine/embedded/scheduling/forecast_slice.h"
#include "engine/embedded/scheduling/outlook.h"
#include "engine/embedded/server/flow_control.h"
#include "rpc/envelope.h"
#include "sched/request.h"

namespace minke::api {
class ExplainJobReply;
class ExplainJobRequest;
class JobInTheWay;
class JobSelector;
}  // namespace minke::api

namespace minke::engine {

struct Core;
struct Job;

class Explanation : public std::enable_shared_from_this<Explanation> {
 public:
  Explanation(Core& core, Queries& queries, uint32_t uid, LongAnswer& answer)
      : core_(core), queries_(queries), uid_(uid), answer_(answer) {}

  void begin(const api::JobSelector& selector);

 private:
  // A stage adds to the reply. It returns true if it wants another piece.
  using Stage = bool (Explanation::*)(const Job& job);
  const Job* find(const api::JobSelector& selector);
  void describe_asked(const Job& job);
  void plan(const Job& asked);
  void go_on();
  void make_piece();
  void finish();

  bool forecast_start(const Job& job);
  bool forecast_by_limits(const Job& job);
  bool show_awaited_jobs(const Job& job);
  bool show_license_holders(const Job& job);
  bool show_limits(const Job& job);
  bool show_jobs_before(const Job& job);
  bool show_jobs_at(const Job& job);
  bool list_smaller(const Job& job);
  bool try_smaller(const Job& job);
  bool begin_smaller(const Job& job);
  void found_smaller(const sched::ExpectedStart& expected);
  bool show_awaited(const Job& other);

  void show_unavailable_nodes(const Job& job);
  std::string free_now(const Job& job) const;
  const Job* next_awaited(const Job& job);
  api::JobInTheWay describe(const Job& job) const;
  std::optional<sched::Request> next_smaller(const Job& job);
  void begin_kind(int kind);
  void sort_smaller();
  api::ExplainJobReply& reply();

  Core& core_;
  Queries& queries_;
  const uint32_t uid_;
  LongAnswer& answer_;
  rpc::AnswerEnvelope message_;
  uint32_t job_id_ = 0;
  std::deque<Stage> stages_;
  std::vector<std::string> nodes_;  // where it is expected to start; sorted

  // Under way between two pieces of a stage.
  std::optional<Outlook> outlook_;
  std::shared_ptr<QueueForecast> queue_forecast_;
  std::optional<sched::ForecastInPieces> forecast_;

  // State of show_awaited_jobs().
  int next_term_ = 0;
  std::vector<uint32_t> awaited_;
  int starts_left_ = Outlook::kMostStarts;

  // State of the search for smaller requests. Choices of one kind are adjacent.
  std::vector<SmallerRequestChoice> choices_;
  size_t next_choice_ = 0;
  int tries_ = 0;
  int kind_ = 0;
  size_t found_ = 0;      // of this kind
  int64_t best_ = 0;      // best start found for this kind; 0: unknown
  bool at_once_ = false;  // one of this kind starts now, so smaller ones are not needed
};

// `uid`: who asks. Error (invalid job id): the job is not in memory; the accounting may have it.
void explain_job(Core& core, Queries& queries, const api::ExplainJobRequest& request, uint32_t uid,
                 LongAnswer& answer);

}  // namespace minke::engine
