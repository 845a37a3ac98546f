// A waiting job as the job description that slurmrestd takes (v0.0.42), with its own number and for its own
// user. Pure.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace minke::grow {

struct WaitingJob;

// `environment`: NAME=VALUE, each ended by NUL. What JSON cannot hold (bytes that are no UTF-8) is left out,
// and told in `remarks`.
nlohmann::json job_document(const WaitingJob& job, const std::string& script, const std::string& environment,
                            std::vector<std::string>& remarks);

}  // namespace minke::grow
