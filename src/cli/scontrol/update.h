// `scontrol update`: from name=value words to the request they stand for. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "rpc/messages.pb.h"

namespace minke::cli {

struct UpdateRequests {
  std::vector<rpc::ClientMessage> messages;  // one for each job of a list
  std::vector<std::string> names;            // of the job, node or partition, for messages; as many
};

// Words are Name=Value, or a name and then a value; names in any case, and shortened as far as Slurm has it.
// Errors carry the whole text for stderr.
Result<UpdateRequests> parse_update(const std::vector<std::string>& words);

// `scontrol create` and `scontrol delete`, without these words.
Result<rpc::ClientMessage> parse_creation(const std::vector<std::string>& words);
Result<rpc::ClientMessage> parse_deletion(const std::vector<std::string>& words);

}  // namespace minke::cli
