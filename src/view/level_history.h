// LevelFS of accounts over time, by today's shares: from what has been used by now, back through the jobs of
// the record. What a job used counts half after each half-life, as for fair share; a usage that was reset by
// hand shows as if it had not been. Pure; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/accounts.pb.h"

namespace minke::model {
class JobRecord;
}  // namespace minke::model

namespace minke::view {

class LevelHistory {
 public:
  // `tree`: of now, with its usage. Moments: `points` of them, evenly from `since` to now.
  LevelHistory(api::AccountsReply tree, int64_t since, size_t points);

  void add(const model::JobRecord& job);  // each record once; those that ended after `since` or run

  struct Curve {
    std::string account, user;                  // no user: the account
    double norm_usage = 0;                      // now
    std::vector<std::optional<double>> levels;  // by moment; none: nothing was used, or there are no shares
  };
  const std::vector<int64_t>& moments() const { return moments_; }
  // Of all accounts below root and of this user's associations; those that used most now first.
  std::vector<Curve> curves(const std::string& user, size_t most) const;

 private:
  double billed_per_second(const model::JobRecord& job) const;

  const api::AccountsReply tree_;
  const double half_life_;
  std::vector<int64_t> moments_;
  std::map<uint32_t, int> places_;         // of associations, by their ids
  std::vector<int> parents_;               // -1: none
  std::vector<std::vector<double>> used_;  // by place: between a moment and the next, as it counts at its end
};

}  // namespace minke::view
