// minke tail: what a job writes. One thread; blocking.
#pragma once

#include <string>

namespace minke::cli {

struct TailOptions {
  std::string job;
  int lines = 20;
  bool follow = false;  // until the job has ended
  bool error = false;   // the file of its standard error
};
// Returns the exit status. Fails where there is no such job, and where it has written nothing (unless
// followed).
int tail(const TailOptions& options);

}  // namespace minke::cli
