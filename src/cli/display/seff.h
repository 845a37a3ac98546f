// seff's report on one job. Pure.
#pragma once

#include <string>

#include "cli/display/text.h"
#include "rpc/messages.pb.h"

namespace minke::cli {

// Memory is that of the step that used most: its largest process, times the number of its tasks.
std::string seff_report(const rpc::AccountedJob& accounted, const DisplayContext& context);

}  // namespace minke::cli
