// Reservations as commands show them: scontrol's blocks and sinfo's table. Pure.
#pragma once

#include <string>

#include "cli/display/text.h"
#include "cli/scontrol/show.h"
#include "rpc/messages.pb.h"

namespace minke::cli {

// `all`: all reservations, this one among them; `nodes`: all that there are, for the count of their CPUs.
void append_reservation_block(std::string& out, const model::ReservationRecord& reservation,
                              const rpc::ReservationsReply& all, const rpc::NodesReply& nodes,
                              const DisplayContext& context, ShowOptions options);
// sinfo -T.
void append_reservation_table(std::string& out, const rpc::ReservationsReply& reservations, bool heading,
                              const DisplayContext& context);

}  // namespace minke::cli
