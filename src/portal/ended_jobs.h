// What the pages read of ended jobs: the newest of them, as many as a page shows, or all of a time with what
// runs. The record is read backwards from where the last page ended, so that a page costs about what it
// shows, however many jobs there ever were. Any thread; blocking.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "api/accounting.pb.h"
#include "base/result.h"

namespace minke::engine {
class Engine;
}  // namespace minke::engine

namespace minke::portal {

class Call;

struct ReadBack {
  bool is_all = true;  // there is nothing behind `next`
  api::AccountingPlace next;
};

// Bounds of one look back. Whichever is reached first ends it.
struct HowFar {
  size_t most;                                                          // that `take` counted
  std::chrono::milliseconds patience = std::chrono::milliseconds(250);  // 0: for ever
};

// Calls `take` with the jobs of the query, the latest end first; it returns whether it counts the job.
// `query.behind` says where to begin.
Result<ReadBack> read_back(engine::Engine& cluster, api::QueryAccountingRequest query, const HowFar& far,
                           const std::function<bool(const api::AccountedJob&)>& take);

// What a page says where its part of the record could not be read: the error's words, or nothing. The rest of
// the page is shown: a Slurm may have no slurmdbd, or one that does not answer.
template <typename Answer>
std::string problem_of(const Answer& answer) {
  return answer ? std::string() : answer.error().message;
}

// All that ended at `query.from` or later, and all that runs now; not what waits.
Status for_each_since(Call& call, const api::QueryAccountingRequest& query,
                      const std::function<void(const api::AccountedJob&)>& take);
// Of these what runs, as the accounting record has it.
Status for_each_running(Call& call, const api::QueryAccountingRequest& query,
                        const std::function<void(const api::AccountedJob&)>& take);

// Asks for the jobs of one user: by his number, by which the record finds them at once.
void ask_for_user(const std::string& user, api::QueryAccountingRequest& query);

}  // namespace minke::portal
