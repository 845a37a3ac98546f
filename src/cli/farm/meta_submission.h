// Submits a META farm: the array of its jobs, and the job behind it. One thread; blocking.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/farm/meta_directory.h"

namespace minke::cli {

struct MetaRequest {
  int64_t jobs = 0;                  // -1: one job for each case
  bool resubmits = false;            // -auto
  std::vector<std::string> options;  // sbatch's
};
// argv behind the command's name. Error: the message, as META has it.
Result<MetaRequest> read_meta_request(int argc, char** argv);

// submit.run, resubmit.run, and what -auto resubmits: not what was cut short with its job too often.
enum class MetaWork { kAll, kLeft, kHopeful };

// Prints what it does, as META does. Errors: the
// message that ends the command.
Status submit_meta_farm(const MetaRequest& request, MetaWork work);

// Submits final.sh; returns its job.
Result<uint32_t> submit_final_script();

}  // namespace minke::cli
