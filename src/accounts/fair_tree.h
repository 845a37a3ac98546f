// Fair Tree: ranks users by shares and usage, as Slurm's algorithm of that name does.
//
// At each level an association has LevelFS = its part of its siblings' shares / its part of their usage.
// The tree is walked in the order of LevelFS, the highest first; users get their rank in the order of the
// walk, and FairShare = rank / number of users, from 1 downwards. So an under-served account has all its
// users before those of its siblings. Ties: users with equal LevelFS share the higher rank, and users
// come before accounts. Accounts with equal LevelFS are walked as one, their children merged: Slurm's
// page mentions the merging only in a footnote, but its daemon does it, and so does this. The first user
// below an account that ties with a user shares that user's rank. No usage: LevelFS is infinite. No
// shares: 0. Pure functions.
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
  double usage = 0;              // RawUsage; an account's: without that of its present users
};

struct FairShare {
  double norm_shares = 0;      // of the siblings' shares
  double usage = 0;            // with all below
  double effective_usage = 0;  // of the parent's usage; 0 if that is 0
  double level_fs = 0;         // may be infinite
  double factor = 0;           // FairShare: users only, in (0, 1]
};

// Returns them in the order of the associations.
std::vector<FairShare> fair_tree(std::span<const Association> associations);

// Returns what is left of a usage after `seconds` >= 0: half after `half_life` seconds; all if that is 0.
double decayed_usage(double usage, double seconds, double half_life);

}  // namespace minke::accounts
