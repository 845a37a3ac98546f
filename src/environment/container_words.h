// The arguments of `minke container` (helpers/containers/), which precedes the program of a script or of a
// task that runs in a container. Pure; any thread.
#pragma once

#include <string>
#include <vector>

namespace minke::model {
class JobSpec;
}  // namespace minke::model

namespace minke::environment {

// Up to "--"; empty if no container was asked for. `script`: the program is a file of the cluster's, which
// the container must be shown.
std::vector<std::string> container_words(const model::JobSpec& spec, bool script);

}  // namespace minke::environment
