// The node cache of a shared cluster, as jobs reach it: root's server keeps it (storage/shared_cache.h),
// `minke stage` hands it descriptors. Blocking; any thread.
#pragma once

#include <optional>
#include <string>

#include "storage/staging.h"

namespace minke::helpers {

// Brings the source to `directory`, a job's own, as a link into the cache. Nothing: nobody serves here, or
// this source is not for sharing; then it is brought otherwise.
std::optional<storage::Staged> stage_by_server(const std::string& source, const std::string& directory);

}  // namespace minke::helpers
