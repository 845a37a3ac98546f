// How a command of minke's own ends with an error: one line on stderr. Any thread.
#pragma once

#include <cstdio>
#include <string>

#include "base/result.h"
#include "text/translate.h"

namespace minke::cli {

// Returns the exit status.
inline int complain(const Error& error) {
  std::fprintf(stderr, "minke: error: %s\n", error.message.c_str());
  return 1;
}

inline int complain(const std::string& message) {
  return complain(Error{0, message});
}

// JOB as text: 12, or 12_3.
inline Error no_such_job(const std::string& job) {
  return {0, text::tr("there is no job {}; minke jobs lists yours", {job})};
}

}  // namespace minke::cli
