// What `scontrol show` tells of the machine, as records of ours: nodes, partitions, reservations, licences
// and the configuration. Pure.
#pragma once

#include <string_view>

namespace minke::api {
class ConfigReply;
class License;
}  // namespace minke::api

namespace minke::model {
class NodeRecord;
class PartitionRecord;
class ReservationRecord;
}  // namespace minke::model

namespace minke::engine::slurm {

class ShownRecord;

// A record without a name is none: "No reservations in the system".
model::NodeRecord node_of(const ShownRecord& from);
model::PartitionRecord partition_of(const ShownRecord& from);
model::ReservationRecord reservation_of(const ShownRecord& from);
api::License license_of(const ShownRecord& from);
// A line of `scontrol show config`, "ClusterName             = campus"; others are passed over.
void add_setting(std::string_view line, api::ConfigReply& reply);

}  // namespace minke::engine::slurm
