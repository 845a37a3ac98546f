// `minke job-ports`: ports of a user's offline jobs, on the machine's side, and of the user's programs there,
// in the jobs' network.
//
// The launcher starts it with the network of a user's offline jobs as standard input, and kills it with the
// last of them. Where a program of a job listens at a port, it listens at the same port of the machine's
// loopback, and passes connections on; and the other way round. Only the user's own ports are opened, and
// only the user's own connections are passed on: the kernel tells whose they are. A port that is taken on the
// other side stays closed.
//
// Two processes, both as minke-helper and without rights: one in each network. That of the jobs makes sockets
// there and hands them over; nothing else of it is reached. The number of ports and connections is bounded.
#pragma once

#include <cstdint>

namespace minke::helpers {

struct JobPortsOptions {
  uint32_t user = 0;
  bool anybody = false;  // every user of the machine may connect to ports of jobs
};

int job_ports(const JobPortsOptions& options);

}  // namespace minke::helpers
