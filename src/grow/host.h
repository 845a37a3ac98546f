// A host, and scripts that run there as root: over ssh, or on this machine.
//
// A script goes over standard input and never through a command line, so that no shell but the one that runs
// it reads anything of it. Its output is bounded, and it is ended with its time. Two scripts that change
// something never run at once on one host, also where the first one's sender was killed. Blocking; any
// thread.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/result.h"

namespace minke::grow {

// NAME or USER@NAME, of letters, digits and ".-_:".
Status check_host(std::string_view host);

struct Said {
  int exit_code = 0;
  std::string output;
  std::string complaint;      // its standard error
  std::string words() const;  // what it says of its failure, in one line
};

struct HostOptions {
  std::chrono::seconds timeout{120};
  bool changes = true;  // false: it only looks
};

// `host`: empty: this machine. Errors: it cannot be reached, or the time is over; they name the host.
Result<Said> run_on_host(const std::string& host, const std::string& script, const HostOptions& options = {});

// Gives the file of this machine to the host, where it is a program at `path`: all of it, or what was there
// before stays. `sum`: its SHA-256, in digits.
Result<Said> send_program(const std::string& host, const std::string& file, const std::string& path,
                          const std::string& sum, std::chrono::seconds timeout);

// "n1", or "this machine".
std::string host_words(const std::string& host);

}  // namespace minke::grow
