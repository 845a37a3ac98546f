// Python wheels of a cluster: pip fetches them once for each of the machine's Pythons; every later pip
// finds them. Blocking.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace minke::software {

// The parts of a wheel's file name: NAME-VERSION[-BUILD]-PYTHON-ABI-PLATFORM.whl
struct Wheel {
  std::string file, name, version, build, python, abi, platform;
};
Result<Wheel> parse_wheel_name(const std::string& file);

struct Python {
  std::string version, program;
};
// Returns those of the last scan, the newest first. Fails if there was none.
Result<std::vector<Python>> known_pythons(const std::string& home);

struct Added {
  std::vector<std::string> fresh;  // file names
  size_t known = 0;                // wheels that were there already
};
// `arguments` are pip's: names, -r FILE, paths of wheels. Adds them with everything that they need, and pip,
// setuptools, wheel and virtualenv. All of it, or nothing: errors have pip's message.
Result<Added> add_wheels(const std::string& home, const std::vector<Python>& pythons,
                         const std::vector<std::string>& arguments);

// Sorted by file name.
std::vector<Wheel> wheels_in(const std::string& home);

// Writes pip's configuration and the files beside it, completely in each call.
Status prepare_wheelhouse(const std::string& home, bool shared);

}  // namespace minke::software
