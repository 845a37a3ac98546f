// Dispatch: hands each request to the part of the engine that answers it, and the answers to the client.
//
// A table has a row for each kind of request: its handler, and whether it changes state before the
// request is checked completely. Dispatch checks whether the user may send such a request at all; the
// handler checks which jobs the user may act on. Every request gets an answer, which is an error if it
// cannot be carried out. State's thread.
#pragma once

#include <cstddef>
#include <functional>
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
  // Functions of the daemon rather than of the engine.
  struct Hooks {
    std::function<api::StatusReply()> status;
    // Calls `reply` with success if the daemon stops, else with the reason why not.
    std::function<void(api::ShutdownRequest::Mode mode, std::function<void(Status)> reply)> shut_down;
    std::function<Status()> reconfigure;
  };
  // `connections` returns their number.
  Dispatch(Core& core, FlowControl& flow, Hooks hooks, std::function<size_t()> connections);

  void answer(const std::shared_ptr<ConnectedClient>& client, rpc::ClientMessage message,
              std::vector<os::UniqueFd> descriptors);
  // The client is gone. Drops everything that it was to be told.
  void forget(const ConnectedClient& client);

 private:
  struct Request;
  struct Row;
  struct Table;

  // act(): an action on jobs; `body` is a field of the request. show_all(): a query with the same answer for
  // everybody.
  template <auto body, auto action>
  void act(Request& request);
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
  void request_software(Request& request);
  void answer_software(Request& request);
  void update_crontab(Request& request);
  void remove_crontab(Request& request);
  void reconfigure(Request& request);
  void shut_down(Request& request);
  void show_status(Request& request);
  void list_jobs(Request& request);
  void list_steps(Request& request);
  void list_step_usage(Request& request);
  void list_processes(Request& request);
  void list_priorities(Request& request);
  void list_nodes(Request& request);
  void list_partitions(Request& request);
  void report_accounting(Request& request);
  void show_measurements(Request& request);
  void show_script(Request& request);
  void show_diagnostics(Request& request);
  void show_accounts(Request& request);
  void show_triggers(Request& request);
  void show_software(Request& request);
  void show_history(Request& request);
  void show_crontab(Request& request);
  void explain(Request& request);

  // Answers a request that was carried out under its key before.
  bool was_answered_before(const Request& request);
  // Answers once the change has been stored.
  void confirm(const Request& request, const Status& outcome);
  void confirm(const Request& request, const api::ActionReply& reply);
  LongAnswer& begin_long_answer(const Request& request);
  Status may_notify(uint32_t uid, const api::NotifyRequest& request);

  // Parts of wait_job().
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
};

}  // namespace minke::engine
