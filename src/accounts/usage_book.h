// UsageBook: the usage of each association and QOS, in which older usage counts for less.
//
// Usage decays continuously: half of it is left after one half-life. A job that held b billing units from
// s to e counts at time t as the integral of b * 2^-((t-x)/half-life) over x from s to e. The result does
// not depend on when or how often it is read. The book keeps the usage of ended jobs, for each
// association without the usage below it, and its owner stores that. Usage of running jobs is computed
// when asked for. Pure; owned by one thread.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>

#include "accounts/account_book.h"
#include "accounts/limit_ledger.h"

namespace minke::accounts {

// One run of a job that has ended or is still running.
struct Run {
  std::uint32_t association = 0;
  std::uint32_t qos = 0;
  double billing = 0;  // units
  TresCounts tres;
  std::int64_t start = 0;           // s since the epoch, without the time that it was suspended
  std::int64_t end = 0;             // or now
  double factor = 1;                // the QOS's UsageFactor
  std::uint32_t partition_qos = 0;  // counted there too; 0: none
};

class UsageBook {
 public:
  struct Item {
    Usage usage;
    std::int64_t time = 0;  // the moment at which `usage` was computed
  };
  using Items = std::unordered_map<std::uint32_t, Item>;
  using Totals = std::unordered_map<std::uint32_t, Usage>;

  // In seconds; 0: nothing decays.
  explicit UsageBook(std::int64_t half_life) : half_life_(half_life) {}
  void set_half_life(std::int64_t half_life) { half_life_ = half_life; }

  void restore(std::uint32_t association, Item item) { associations_[association] = std::move(item); }
  void restore_qos(std::uint32_t qos, Item item) { qos_[qos] = std::move(item); }
  void add(const Run& run);
  void clear(std::uint32_t association) { associations_.erase(association); }
  void clear_qos(std::uint32_t qos) { qos_.erase(qos); }
  void clear_all();
  // Adds the usage of a removed association to its parent.
  void merge(std::uint32_t from, std::uint32_t into);

  const Items& associations() const { return associations_; }
  const Items& qos() const { return qos_; }

  // Returns the totals at `now` by association, including everything below it and the running jobs.
  Totals totals(const AccountBook& book, const std::vector<Run>& running, std::int64_t now) const;
  Totals qos_totals(const std::vector<Run>& running, std::int64_t now) const;

 private:
  Usage decayed(const Item& item, std::int64_t now) const;
  Usage use_of(const Run& run, std::int64_t now) const;
  void add_to(Item& item, const Run& run) const;

  std::int64_t half_life_;
  Items associations_, qos_;
};

}  // namespace minke::accounts
