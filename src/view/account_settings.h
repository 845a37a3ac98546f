// The settings of associations and QOS in sacctmgr's words: shares, limits and the rest, those that are set.
// Pure.
#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace minke::model {
class AssociationRecord;
class QosRecord;
class Tres;
}  // namespace minke::model

namespace minke::view {

using Settings = std::vector<std::pair<std::string_view, std::string>>;  // GrpJobs, "5"
Settings settings_of(const model::AssociationRecord& record);
Settings settings_of(const model::QosRecord& record);  // without its description

// Returns "cpu=10,mem=1000M,gres/gpu=5", by Slurm's numbers of the TRES.
std::string tres_text(const google::protobuf::RepeatedPtrField<model::Tres>& limits, bool by_name = false);

}  // namespace minke::view
