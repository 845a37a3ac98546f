// Fair Tree: ranks users by shares and usage, like Slurm's algorithm of that name.
//
// At each level an association has LevelFS = (its part of its siblings' shares) / (its part of their usage).
// The tree is walked in descending order of LevelFS. Users are ranked in the order of the walk, and FairShare
// = rank / number of users, from 1 downwards. So all users of an under-served account come before those of
// its siblings. Ties: users with equal LevelFS share the higher rank, and users come before accounts.
// Accounts with equal LevelFS are walked as one, with their children merged. Slurm's page mentions the
// merging only in a footnote, but its daemon does it, so this code does too. If an account ties with a user,
// the first user below that account shares the user's rank. LevelFS is infinite without usage and 0 without
// shares. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace minke::accounts {

struct Association {
  static constexpr std::uint32_t kRoot = 0xffffffff;
  std::uint32_t parent = kRoot;  // index of an account before this one, or kRoot
  bool is_user = false;          // else an account
  std::uint32_t shares = 1;      // RawShares
  double usage = 0;              // RawUsage; of an account: without its present users
  // Its shares are its parent's. Such a user comes first in the account; such an account has no level, and
  // what is below it stands beside it.
  bool as_parent = false;
};

struct FairShare {
  double norm_shares = 0;      // fraction of the siblings' shares
  double usage = 0;            // including everything below
  double effective_usage = 0;  // of the parent's usage; 0 if that is 0
  double level_fs = 0;         // may be infinite
  double factor = 0;           // FairShare: users only, in (0, 1]
};

// Returns one result for each association, in the same order.
std::vector<FairShare> fair_tree(std::span<const Association> associations);

// Returns what is left of a usage after `seconds` >= 0. It halves every `half_life` seconds; 0: no decay.
double decayed_usage(double usage, double seconds, double half_life);

}  // namespace minke::accounts
