// Associations and QOS as rows of texts, in the words of sacctmgr: what they should be, from the old
// cluster's records, and what they are, from its tables. Two texts of a field are equal where they mean the
// same. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace minke::model {
class AssociationRecord;
class QosRecord;
}  // namespace minke::model

namespace minke::grow {

// How the values of a field are compared, and taken away.
enum class FieldKind { kNumber, kTres, kList, kText };

struct AccountField {
  const char* column;   // of `sacctmgr show`
  const char* setting;  // of `sacctmgr modify`
  FieldKind kind;
};

std::span<const AccountField> association_fields();
std::span<const AccountField> qos_fields();

// One text for each field, in their order; empty: not set.
std::vector<std::string> wanted_fields(const model::AssociationRecord& record);
std::vector<std::string> wanted_fields(const model::QosRecord& record);

// The same text for all ways to write a value: lists are sorted, and default values are empty.
std::string plain_value(const AccountField& field, std::string_view text);

// "GrpTRES=cpu=4": what turns one value into the other. `before`, `wanted`: plain.
std::string setting_of(const AccountField& field, const std::string& before, const std::string& wanted);

}  // namespace minke::grow
