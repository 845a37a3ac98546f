// Reservations as commands show them: scontrol's blocks and sinfo's table. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "view/block.h"
#include "view/text.h"

namespace minke::api {
class NodesReply;
class ReservationsReply;
}  // namespace minke::api

namespace minke::model {
class NodeRecord;
class ReservationRecord;
}  // namespace minke::model

namespace minke::view {

// As "cpu=4,gres/gpu=2"; empty where it holds neither.
std::string reservation_tres(const model::ReservationRecord& reservation, uint64_t cpus);

// How many cores it holds; `nodes` has all nodes.
uint32_t reservation_cores(const model::ReservationRecord& reservation,
                           std::span<const model::NodeRecord* const> nodes);

// How many CPUs it holds; `nodes` has all nodes.
uint64_t reservation_cpus(const model::ReservationRecord& reservation,
                          std::span<const model::NodeRecord* const> nodes);

// `all` has all reservations, also this one; `nodes` has all nodes, for the count of their CPUs.
void append_reservation_block(std::string& out, const model::ReservationRecord& reservation,
                              const api::ReservationsReply& all, const api::NodesReply& nodes,
                              const DisplayContext& context, ShowOptions options);
// Writes the table of sinfo -T.
void append_reservation_table(std::string& out, const api::ReservationsReply& reservations, bool heading,
                              const DisplayContext& context);

}  // namespace minke::view
