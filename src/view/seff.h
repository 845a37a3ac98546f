// seff's report on one job. Pure.
#pragma once

#include <string>

#include "view/text.h"

namespace minke::api {
class AccountedJob;
}  // namespace minke::api

namespace minke::view {

// The memory is that of the step that used most: its largest process, times the number of its tasks.
std::string seff_report(const api::AccountedJob& accounted, const DisplayContext& context);

// The report with a bar behind each line that tells an efficiency; for a terminal.
std::string with_bars(const std::string& report);

}  // namespace minke::view
