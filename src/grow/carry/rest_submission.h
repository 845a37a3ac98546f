// Submits a job with a given number for any user: slurmrestd passes job_id on, which sbatch does not, and
// slurmctld takes it from root. It runs for one request each, on a pipe, as a user without rights, and speaks
// to slurmctld with a token for root that is valid for some minutes: slurm.conf needs AuthAltTypes=auth/jwt.
// Blocking; one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "grow/carry/carry.h"

namespace minke::grow {

class RestSubmission {
 public:
  // Gets a token. Error: slurmctld gives none, or there is no slurmrestd whose interface is known.
  static Result<RestSubmission> open(const NewSlurm& slurm);

  // One description, or those of the components of a heterogeneous job. Returns the job's number.
  Result<uint32_t> submit(const std::vector<nlohmann::json>& jobs) const;

 private:
  NewSlurm slurm_;
  std::string token_;
};

// The number in slurmrestd's answer, with its heading.
Result<uint32_t> submitted_number(const std::string& answer);

}  // namespace minke::grow
