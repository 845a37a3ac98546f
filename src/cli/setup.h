// minke setup: a machine for several people, by five questions or by options. One thread; blocking.
#pragma once

#include <string>

#include "config/setup_plan.h"

namespace minke::cli {

struct SetupOptions {
  config::SetupAnswers answers;
  std::string users;           // with commas
  std::string memory_per_cpu;  // "2G"; empty: the machine's share
  bool given_cluster = false, given_users = false, given_times = false, given_memory = false,
       given_mail = false;
  bool yes = false;  // ask nothing
  bool only_show = false;
  bool replace = false;  // a configuration that is there; it is kept beside the new one
};
// Returns the exit status.
int setup(SetupOptions options);

}  // namespace minke::cli
