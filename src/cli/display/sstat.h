// The fields of sstat: what the tasks of a running step use now. Pure.
#pragma once

#include <span>
#include <string>

#include "cli/display/print_fields.h"
#include "cli/display/text.h"
#include "rpc/messages.pb.h"

namespace minke::cli {

using StepUsageField = PrintField<rpc::StepUsage, DisplayContext>;
std::span<const StepUsageField> step_usage_fields();
std::string step_usage_help_format();

}  // namespace minke::cli
