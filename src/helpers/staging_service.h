// The node cache of a shared cluster, from a job's side: root's server keeps it (storage/shared_cache.h), and
// `minke stage` sends it descriptors. Blocking; any thread.
#pragma once

#include <optional>
#include <string>

#include "storage/staging.h"

namespace minke::helpers {

// Brings the source to `directory`, a job's own, as a link into the cache. Returns nothing if there is no
// server, or the source cannot be shared; the caller then brings it another way.
std::optional<storage::Staged> stage_by_server(const std::string& source, const std::string& directory);

}  // namespace minke::helpers
