// `scontrol update`: turns name=value words into the request. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "api/updates.pb.h"
#include "base/result.h"

namespace minke::cli {

using UpdateRequest = std::variant<api::UpdateJobRequest, api::UpdateNodeRequest, api::UpdatePartitionRequest,
                                   api::UpdateReservationRequest>;

struct UpdateRequests {
  std::vector<UpdateRequest> updates;  // one for each job of a list
  std::optional<uint32_t> uid;         // of the jobs selected by their name
  std::vector<std::string> names;      // of the job, node or partition, for messages; as many
};

// Words are Name=Value, or a name and then a value; names in any case, and shortened as far as Slurm allows.
// Errors carry the whole text for stderr.
Result<UpdateRequests> parse_update(const std::vector<std::string>& words);

// Reads ReservationName=NAME and the words behind it, for `change`; an error has scontrol's whole message.
Result<api::UpdateReservationRequest> parse_reservation(const std::vector<std::string>& words,
                                                        api::Change change);
// Whether one of the words names a reservation; the update then applies to it, not to a job.
bool names_reservation(const std::vector<std::string>& words);

// `scontrol create` and `scontrol delete`, without these words.
Result<UpdateRequest> parse_creation(const std::vector<std::string>& words);
Result<UpdateRequest> parse_deletion(const std::vector<std::string>& words);

}  // namespace minke::cli
