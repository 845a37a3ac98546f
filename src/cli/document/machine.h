// Reservations, licences and the daemon itself as scontrol --json shows them: the shape of Slurm's
// data_parser v0.0.42. Each function writes one value of an array that the caller has opened. Pure.
#pragma once

#include "cli/display/text.h"
#include "cli/document/document.h"
#include "model/cluster.pb.h"
#include "rpc/messages.pb.h"

namespace minke::cli {

// `nodes`: all that there are, for the count of their CPUs.
void describe_reservation(Document& document, const model::ReservationRecord& reservation,
                          const rpc::NodesReply& nodes);
void describe_license(Document& document, const rpc::License& license);
void describe_ping(Document& document, const std::string& host, bool up, int64_t microseconds);

}  // namespace minke::cli
