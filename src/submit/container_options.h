// What the options of containers ask for together, once each was read. Pure; any thread.
#pragma once

#include <optional>

#include "submit/job_request.h"

namespace minke::submit {

// A bundle and an image exclude each other; the other options of pyxis need an image, or a name.
std::optional<Refusal> check_container(const Invocation& invocation, JobRequest& request);

}  // namespace minke::submit
