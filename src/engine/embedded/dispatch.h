// Hands each request to the part of the engine that answers it, and its answers to the client.
//
// Whether the sender may ask for such a thing at all is looked at here; what he may do to whose jobs, by the
// part that does it. Every request is answered, with an error where it cannot be done. State's thread.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "api/daemon.pb.h"
#include "base/result.h"
#include "engine/embedded/actions.h"
#include "engine/embedded/connected_client.h"
#include "engine/embedded/explaining.h"
#include "engine/embedded/flow_control.h"
#include "engine/embedded/queries.h"
#include "engine/embedded/submitting.h"
#include "os/fd.h"
#include "os/rate_limit.h"

namespace minke::api {
class CreateStepRequest;
class NotifyRequest;
class WaitJobRequest;
}  // namespace minke::api

namespace minke::model {
class JobRecord;
}  // namespace minke::model

namespace minke::rpc {
class ClientMessage;
}  // namespace minke::rpc

namespace minke::engine {

struct Core;

class Dispatch {
 public:
  // What the daemon does, not the engine.
  struct Hooks {
    std::function<api::StatusReply()> status;
    // The result: nothing, where it stops; or why not.
    std::function<void(api::ShutdownRequest::Mode mode, std::function<void(Status)> reply)> shut_down;
    std::function<Status()> reconfigure;
  };
  // `connections`: how many there are.
  Dispatch(Core& core, FlowControl& flow, Hooks hooks, std::function<size_t()> connections);

  void answer(const std::shared_ptr<ConnectedClient>& client, rpc::ClientMessage message,
              std::vector<os::UniqueFd> descriptors);
  // The client has gone: of what it was to be told nothing is kept.
  void forget(const ConnectedClient& client);

 private:
  using Ticket = std::shared_ptr<FlowControl::Ticket>;
  void create_step(const std::shared_ptr<ConnectedClient>& client, uint32_t request_id,
                   const api::CreateStepRequest& request, std::vector<os::UniqueFd> descriptors);
  void wait_job(const std::shared_ptr<ConnectedClient>& client, uint32_t request_id,
                const api::WaitJobRequest& request, Ticket ticket);
  // Of a job that has left memory.
  void tell_end(const std::shared_ptr<ConnectedClient>& client, uint32_t request_id, uint32_t job_id,
                const std::function<void(const model::JobRecord& record, bool last)>& answer);
  Status may_notify(uint32_t uid, const api::NotifyRequest& request);

  Core& core_;
  FlowControl& flow_;
  Hooks hooks_;
  std::function<size_t()> connections_;
  Submitting submitting_;
  Queries queries_;
  Explaining explaining_;
  Actions actions_;
  std::map<bool, std::unique_ptr<os::RateLimit>> notices_;  // of operators, of others
};

}  // namespace minke::engine
