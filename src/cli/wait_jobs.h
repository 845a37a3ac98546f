// minke wait: blocks until jobs have ended, says how, and tells it elsewhere: on the desktop, to a web hook,
// to a command of the user's. It runs as its user and where its user starts it. One thread.
#pragma once

#include <string>
#include <vector>

namespace minke::cli {

struct WaitOptions {
  std::vector<std::string> jobs;
  bool quiet = false;
  bool desktop = false;  // by notify-send
  std::string webhook;   // http or https; POST of JSON, by curl
  std::string
      command;  // for sh -c, with MINKE_JOB_ID, MINKE_JOB_NAME, MINKE_JOB_STATE, MINKE_JOB_EXIT_STATUS
};
// Returns 0 if all of them completed, 1 if one did not, or if it could not be told.
int wait_jobs(const WaitOptions& options);

}  // namespace minke::cli
