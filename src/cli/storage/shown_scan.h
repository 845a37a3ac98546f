// storage/usage_scan.h with a line on the terminal that tells how far it is. One thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "storage/usage_scan.h"

namespace minke::cli {

Result<storage::Usage> scan_and_show(const std::vector<std::string>& roots, storage::UsageOptions options);

}  // namespace minke::cli
