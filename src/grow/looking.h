// Looks at hosts, and changes nothing there. Blocking; any thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "grow/machine.h"

namespace minke::grow {

// `host`: empty: this machine. `people`: whose numbers are asked for.
Result<Machine> look_at(const std::string& host, const std::vector<std::string>& people);
// Host lists as a person writes them: "n[1-3]", "root@n4".
Result<std::vector<std::string>> hosts_of(const std::vector<std::string>& words);

}  // namespace minke::grow
