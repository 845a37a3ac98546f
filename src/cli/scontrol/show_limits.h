// scontrol show assoc_mgr: users, associations and QOS, each limit with what is used of it now. Pure,
// but for looking up users.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/display/text.h"
#include "cli/scontrol/show.h"
#include "model/job.pb.h"
#include "rpc/messages.pb.h"

namespace minke::cli {

struct LimitsWanted {
  bool users = true, associations = true, qos = true;
  std::vector<std::string> user_names, accounts, qos_names;  // empty: all
};

// "users=a,b", "accounts=", "qos=", "flags=assoc,qos,users". Errors in Slurm's words.
Result<LimitsWanted> parse_limits_wanted(std::span<const std::string> words);

// `jobs`: those that wait or run.
void append_limits(std::string& out, const rpc::AccountsReply& accounts,
                   std::span<const model::JobRecord* const> jobs, const LimitsWanted& wanted,
                   const DisplayContext& context, ShowOptions options);

}  // namespace minke::cli
