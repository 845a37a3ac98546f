// Reservations, licences and the daemon itself for scontrol --json: the shape of Slurm's data_parser v0.0.42.
// Each function writes one value of an array that the caller has opened. Pure.
#pragma once

#include "view/document/document.h"
#include "view/text.h"

namespace minke::api {
class License;
class NodesReply;
}  // namespace minke::api

namespace minke::model {
class ReservationRecord;
}  // namespace minke::model

namespace minke::view {

// `nodes` has all nodes, for the count of their CPUs.
void describe_reservation(Document& document, const model::ReservationRecord& reservation,
                          const api::NodesReply& nodes);
void describe_license(Document& document, const api::License& license);
void describe_ping(Document& document, const std::string& host, bool up, int64_t microseconds);

}  // namespace minke::view
