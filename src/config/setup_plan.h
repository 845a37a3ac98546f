// The configuration and the accounts of a machine that several people share, made of a few answers: what
// minke setup writes, runs, and prints for its users. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace minke::config {

struct SetupAnswers {
  std::string cluster = "minke";
  std::vector<std::string> users;  // logins of the machine
  std::string account = "lab";     // the account that they share
  std::string default_time = "1:00:00", max_time = "7-00:00:00";
  uint64_t memory_per_cpu_mib = 0;  // of jobs that ask for none; 0: the whole node's
  std::string mail_server;          // smtp://HOST:PORT; empty: no mail
  std::string mail_domain;          // behind names without one
  uint32_t max_jobs = 0;            // that run at a time, of each person; 0: any number
  uint32_t max_gpus = 0;            // the same of GPUs
};

// Fails on what a file or a command would not understand, and says which answer it is.
Status check_answers(const SetupAnswers& answers);

// A size as minke.toml and --mem read it, which take whole numbers: "10G", "10752M".
std::string memory_words(uint64_t mib);

// minke.toml, with a comment for each part.
std::string setup_configuration(const SetupAnswers& answers);
// Commands of sacctmgr, as words, in their order; each may be repeated.
std::vector<std::vector<std::string>> setup_commands(const SetupAnswers& answers);
// What to tell the users.
std::string setup_message(const SetupAnswers& answers);

}  // namespace minke::config
