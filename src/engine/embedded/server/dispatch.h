// Hands each request to the part of the engine that answers it, and its answers to the client.
//
// One table has a row for each kind of request: what answers it, and whether it changes the state before all
// of it has been checked. Whether the sender may ask for such a thing at all is looked at here; what he may
// do to whose jobs, by the part that does it. Every request is answered, with an error where it cannot be
// done. State's thread.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "api/daemon.pb.h"
#include "base/result.h"
#include "engine/embedded/answers/queries.h"
#include "engine/embedded/life_cycle/actions.h"
#include "engine/embedded/life_cycle/submitting.h"
#include "engine/embedded/server/connected_client.h"
#include "engine/embedded/server/flow_control.h"
#include "engine/embedded/server/requester.h"
#include "os/fd.h"
#include "os/rate_limit.h"

namespace minke::api {
class NotifyRequest;
class WaitJobReply;
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
  struct Request;
  struct Row;
  struct Table;

  // Of `body`, a field of the request: an action on jobs; a query, which shows what its sender may see; and
  // one whose answer is everybody's.
  template <auto body, auto action>
  void act(Request& request);
  template <auto body, auto query>
  void show(Request& request);
  template <auto query>
  void show_all(Request& request);

  void submit(Request& request);
  void wait_job(Request& request);
  void create_step(Request& request);
  void attach_step(Request& request);
  void notify(Request& request);
  void update_node(Request& request);
  void update_partition(Request& request);
  void update_reservation(Request& request);
  void update_records(Request& request);
  void update_accounts(Request& request);
  void keep_metrics(Request& request);
  void set_triggers(Request& request);
  void clear_triggers(Request& request);
  void reconfigure(Request& request);
  void shut_down(Request& request);
  void show_status(Request& request);
  void list_jobs(Request& request);
  void list_steps(Request& request);
  void list_step_usage(Request& request);
  void list_priorities(Request& request);
  void list_nodes(Request& request);
  void list_partitions(Request& request);
  void report_accounting(Request& request);
  void show_measurements(Request& request);
  void show_script(Request& request);
  void show_diagnostics(Request& request);
  void show_accounts(Request& request);
  void show_triggers(Request& request);
  void explain(Request& request);

  // Answers once what has been changed is stored.
  void confirm(const Request& request, const Status& outcome);
  void confirm(const Request& request, const api::ActionReply& reply);
  LongAnswer& begin_long_answer(const Request& request);
  Status may_notify(uint32_t uid, const api::NotifyRequest& request);

  // Of wait_job().
  struct Awaited;
  Awaited find_awaited(uint32_t job_id);
  bool has_ended(const Awaited& awaited);
  void tell(const Requester& requester, const model::JobRecord& record, bool last);
  void tell_in_turn(const Requester& requester, std::shared_ptr<const model::JobRecord> record);
  void tell_ending(const Requester& requester, const Awaited& awaited);
  void tell_stored(const Requester& requester, Viewer viewer, uint32_t job_id);
  void add_allocation(const Job& job, const model::JobRecord& record, api::WaitJobReply& reply);

  Core& core_;
  FlowControl& flow_;
  Hooks hooks_;
  std::function<size_t()> connections_;
  Submitting submitting_;
  Queries queries_;
  Actions actions_;
  std::map<bool, std::unique_ptr<os::RateLimit>> notices_;  // of operators, of others
};

}  // namespace minke::engine
