// A command's way to the daemon: finds it, starts it where none runs, asks, and asks again where the daemon
// was restarted in between. One thread; blocking.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "rpc/channel.h"
#include "rpc/messages.pb.h"

namespace minke::cli {

class Client {
 public:
  // Errors carry what to do. With `start` false: code ECONNREFUSED where no daemon runs.
  static Result<Client> connect(bool start = true);

  // One request, one answer. The daemon's errors become Error{code, Slurm's text (detail)}.
  // Requests that change something may be sent twice when the connection is lost: a submission is recognised
  // by its key, the others do the same when done twice.
  Result<rpc::ServerMessage> call(rpc::ClientMessage request);

  // All answers to a request, until the last. An error of `on_message` ends it.
  Status stream(rpc::ClientMessage request, const std::function<Status(rpc::ServerMessage&)>& on_message);

  // For those who hold the conversation themselves (srun).
  rpc::Channel& channel() { return *channel_; }
  // After a lost connection; starts a daemon where none runs.
  Status reconnect();
  const std::string& home() const { return home_; }

 private:
  Client() = default;
  std::string home_;
  std::unique_ptr<rpc::Channel> channel_;
  uint32_t next_request_id_ = 1;
};

// "Invalid job id specified", with the daemon's detail behind it in parentheses where there is one.
Error error_of(const rpc::Error& error);

// Starts the daemon of this home and waits until it answers, or says why it cannot start.
Status start_daemon(const std::string& home);

// 16 random bytes, the key of a submission or step.
std::string random_key();

}  // namespace minke::cli
