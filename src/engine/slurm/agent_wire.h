// How an agent on a node and who asks it speak over TCP: one question and one answer for each connection,
// each with an end in time and size. Both are sealed by munge, so that each knows the other, nobody else can
// read the answer, and neither can be sent again:
//
//   agent   minke-agent 1 NONCE
//   asker   a credential of "ask NONCE OWN-NONCE series|now", and which jobs, where it is not those that
//           run (measured_jobs.h): " job=ID", " ended=TIME,ID"
//   agent   a credential, for the asker alone, of "answer OWN-NONCE\n" and a MeasurementsReply; or "error
//   WHY"
//
// Blocking; any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace minke::engine::slurm {

inline constexpr uint16_t kAgentPort = 6829;

class AgentConnection {
 public:
  using Clock = std::chrono::steady_clock;
  // `fd`: a connected socket that stays open as long as this.
  AgentConnection(int fd, Clock::time_point deadline) : fd_(fd), deadline_(deadline) {}

  Status send(std::string line) const;  // adds the end of the line
  Result<std::string> receive(size_t most);

 private:
  Status wait(short events) const;

  int fd_;
  Clock::time_point deadline_;
  std::string read_;
};

// 32 digits that nobody guesses.
std::string agent_nonce();

}  // namespace minke::engine::slurm
