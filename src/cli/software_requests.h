// minke software request, requests: asks the administrators for a package; shows and answers what was asked.
#pragma once

#include <cstdint>
#include <string>

namespace minke::cli {

struct SoftwareRequestCommand {
  std::string package;  // empty: show the requests
  std::string reason;
};
struct SoftwareRequestsCommand {
  uint32_t done = 0, refused = 0, again = 0;  // the number of a request; 0: none
  std::string answer;
  bool all = false;  // answered ones as well; those who asked see theirs anyway
  bool json = false;
};
// Each returns the exit code.
int software_request(const SoftwareRequestCommand& command);
int software_requests(const SoftwareRequestsCommand& command);

}  // namespace minke::cli
