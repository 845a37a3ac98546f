// minke usage: the usage of each account and user in a year, in core-years and RGU-years.
//
// Core-years and RGU-years are what jobs held times how long, over 365 days. A GPU counts as many Reference
// GPU Units as its type has (accounts/billing.h); GPUs of other types are listed separately. GPU equivalents
// are RGU-years in GPUs of one model, for a year: by default the model that was used most. Projected is the
// result at the end of the year at the rate of the last 28 days. The allocation of an account is compared
// with the usage of the account and all below it. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace minke::model {
class JobRecord;
}  // namespace minke::model

namespace minke::view {

class UsageReport {
 public:
  // A year from `begin`, as of `now`: both s since the epoch.
  UsageReport(int64_t begin, int64_t now);

  void add(const model::JobRecord& job);
  // Sets an account's allocation for the year; its usage is that of all accounts `of`.
  void allocation(const std::string& account, double core_years, double rgu_years,
                  const std::vector<std::string>& of);
  // Sets the model for equivalents, such as h100. Fails if its RGU are not known.
  Status set_equivalent(const std::string& model);
  // Returns tables for accounts and their users, and a line of blocks for each account: a block for each
  // twelfth of the year.
  std::string text() const;
  std::string json() const;

  int64_t begin() const { return begin_; }
  int64_t end() const { return begin_ + kYear; }

 private:
  static constexpr int64_t kYear = int64_t{365} * 86400;
  static constexpr int64_t kRecent = int64_t{28} * 86400;
  static constexpr size_t kParts = 12;
  struct Amount {
    double cores = 0, gpus = 0, rgu = 0;  // times s
    void add(const Amount& rate, double seconds);
  };
  struct Used {
    Amount all, recent;
    std::array<double, kParts> parts{};  // RGU, or cores where there are none
    std::array<Amount, kParts> twelfths{};
  };
  struct Allocation {
    std::string account;
    double core_years = 0, rgu_years = 0;
    std::vector<std::string> of;
  };
  std::string equivalent() const;        // empty: no GPU of a known model was used
  double equivalents(double rgu) const;  // of RGU-years
  Used used_by(const Allocation& allocation) const;
  std::string allocations_text() const;
  double seconds(const model::JobRecord& job, int64_t from, int64_t until) const;
  double projected(double all, double recent) const;  // in years

  int64_t begin_, now_;
  std::map<std::string, Used> accounts_;
  std::map<std::pair<std::string, std::string>, Used> users_;  // by account and user
  std::vector<Allocation> allocations_;
  std::set<std::string> unknown_types_;
  std::string equivalent_;
  std::map<std::string, double> rgu_of_models_;  // used, by model without its MIG instances
};

}  // namespace minke::view
