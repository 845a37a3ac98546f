// The output of sshare: the tree of associations with its shares, and their usage.
//
// Without accounts, the tree is as small as possible: the account root, and under it one association for each
// user of the cluster. Usage counts CPU seconds; each job's halves every week after its end, as in Slurm's
// default settings. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "view/document/document.h"
#include "view/print_fields.h"
#include "view/text.h"

namespace minke::api {
class AccountsReply;
}  // namespace minke::api

namespace minke::model {
class JobRecord;
}  // namespace minke::model

namespace minke::view {

inline constexpr int64_t kUsageHalfLife = int64_t{7} * 86400;  // s
inline constexpr int64_t kUsageMemory = 10 * kUsageHalfLife;   // what ended before is a thousandth by now

struct ShareUsage {
  double cpu_seconds = 0;  // decayed
  // The amounts that running jobs may still use, in minutes of each.
  double cpu_minutes = 0, memory_minutes = 0, node_minutes = 0, gpu_minutes = 0;

  void add(const model::JobRecord& job, int64_t now);
};

// With accounts: the fair tree's values of an association.
struct ShareRank {
  uint32_t id = 0;
  uint32_t shares = 1;
  double effective_usage = 0;
  double level = 0;              // may be infinite
  std::optional<double> factor;  // of users
};

struct ShareLine {
  std::string account;  // with a blank for each level
  std::string user;     // empty: the account as a whole
  const ShareUsage* usage = nullptr;
  double norm_shares = 0;
  double norm_usage = 0;
  std::optional<ShareRank> rank = std::nullopt;
  std::string parent = {};  // the account above it
};

using ShareField = PrintField<ShareLine, DisplayContext>;
std::span<const ShareField> share_fields();
std::string share_help_format();

// Returns the lines of one user and root: with `users_only` only the user's, without its indentation.
std::vector<ShareLine> share_lines(const std::string& user, const ShareUsage& usage, bool users_only);
// Returns the tree of accounts, or its wanted part (empty: all). Fills `usage` with the data that
// the lines point into.
struct ShareWanted {
  std::vector<std::string> accounts, users;
  bool users_only = false;
};
std::vector<ShareLine> share_tree_lines(const api::AccountsReply& tree, const ShareWanted& wanted,
                                        std::deque<ShareUsage>& usage);
void describe_share(Document& document, const ShareLine& line, const DisplayContext& context);

}  // namespace minke::view
