// minke simulate: replays a trace under one or several policies, and reports the effect of each.
//
// Exit status: 0, 1 if a file cannot be read or written, 2 for options that exclude each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace minke::cli {

struct SimulateOptions {
  std::string trace;                  // plain or gzip; "cluster": the record of the cluster in use
  std::string since = "now-30days";   // of that record, in the words of sacct -S
  std::vector<std::string> policies;  // at least one
  std::string config;  // a minke.toml whose nodes the jobs are placed on; empty: one pool of processors
  // The output of sacctmgr dump: the tree and its shares; "cluster": those of the running cluster, with its
  // QOS and limits; empty: everybody has one share.
  std::string accounts;
  std::string waits;  // file for `id wait_seconds` lines; empty: none
  std::string svg;
  std::string by;  // user, group, account, partition; empty: only the total
  std::string rules = "study";
  std::uint32_t processors = 0;  // 0: as in the trace
  std::uint32_t top = 10;
  bool exact_requests = false;  // every job asks for what it uses
  bool without_request = false;
  bool dependencies = false;  // jobs that followed others in the trace follow them again
  bool forecast = false;      // report how good forecasts of starts would have been
  bool json = false;
  bool plot = false;
};

int simulate(const SimulateOptions& options);

}  // namespace minke::cli
