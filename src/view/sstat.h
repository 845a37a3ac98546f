// The fields of sstat: the current usage of a running step's tasks. Pure.
#pragma once

#include <span>
#include <string>

#include "api/step_usage.pb.h"
#include "view/print_fields.h"
#include "view/text.h"

namespace minke::view {

using StepUsageField = PrintField<api::StepUsage, DisplayContext>;
std::span<const StepUsageField> step_usage_fields();
std::string step_usage_help_format();

}  // namespace minke::view
