// `minke job-proxy`: connects one offline job to the hosts that it may reach.
//
// The launcher starts it when a process of the job connects, with the socket of the job's network as standard
// input, and kills it with the job. On the machine's side it runs as nobody. It starts tinyproxy on the
// machine's loopback, which decides what may pass, and which dies with it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace minke::helpers {

struct JobProxyOptions {
  std::string program;               // tinyproxy
  std::vector<std::string> allowed;  // hosts; ".example.org" is that one and all below it
  std::vector<uint16_t> connect_ports;
  std::string upstream;  // HOST:PORT; empty: none
};

int job_proxy(const JobProxyOptions& options);

}  // namespace minke::helpers
