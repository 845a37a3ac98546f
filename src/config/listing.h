// The configuration as `scontrol show config` lists it: every parameter of Slurm under its own
// name, in its order.
//
// Programs read this list to learn what a cluster can do, so each value says what
// Minke does, in Slurm's words; a parameter without meaning here has Slurm's value for
// "off". Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/configuration.h"

namespace minke::config {

// Facts that are not in the configuration.
struct ListingFacts {
  const Configuration& config;
  int64_t started = 0;  // when the daemon was started, s since the epoch
  uint32_t next_job_id = 1;
  std::string host;  // this machine's name
  std::string user;  // who runs the daemon
  uint32_t uid = 0;
};

// Names and values; an empty value is shown as (null).
std::vector<std::pair<std::string, std::string>> list_configuration(const ListingFacts& facts);

// Whether the list has a parameter of that name, in any case.
bool is_listed_parameter(std::string_view name);

}  // namespace minke::config
