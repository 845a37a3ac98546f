// scontrol show assoc_mgr: users, associations and QOS, each limit with its current usage. Pure, but
// for looking up users.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/scontrol/show.h"
#include "view/text.h"

namespace minke::api {
class AccountsReply;
}  // namespace minke::api

namespace minke::model {
class JobRecord;
}  // namespace minke::model

namespace minke::cli {

struct LimitsWanted {
  bool users = true, associations = true, qos = true;
  std::vector<std::string> user_names, accounts, qos_names;  // empty: all
};

// "users=a,b", "accounts=", "qos=", "flags=assoc,qos,users". Errors in Slurm's words.
Result<LimitsWanted> parse_limits_wanted(std::span<const std::string> words);

// `jobs`: the pending and running ones.
void append_limits(std::string& out, const api::AccountsReply& accounts,
                   std::span<const model::JobRecord* const> jobs, const LimitsWanted& wanted,
                   const view::DisplayContext& context, view::ShowOptions options);

}  // namespace minke::cli
