#include "engine/embedded/server/dispatch.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "api/actions.pb.h"
#include "api/submission.pb.h"
#include "base/request_guard.h"
#include "engine/embedded/accounts/accounts.h"
#include "engine/embedded/accounts/rights.h"
#include "engine/embedded/answers/explanation.h"
#include "engine/embedded/answers/long_queries.h"
#include "engine/embedded/answers/tested_submission.h"
#include "engine/embedded/core.h"
#include "engine/embedded/life_cycle/crontabs.h"
#include "engine/embedded/scheduling/nodes.h"
#include "engine/embedded/scheduling/reservations.h"
#include "engine/embedded/scheduling/submission_forecast.h"
#include "engine/embedded/server/dispatch_request.h"
#include "engine/embedded/server/request_kind.h"
#include "engine/embedded/state/answered_requests.h"
#include "engine/embedded/steps/steps.h"
#include "engine/embedded/watching/measuring.h"
#include "engine/embedded/watching/past_events.h"
#include "engine/embedded/watching/software_requests.h"
#include "engine/embedded/watching/triggers.h"
#include "model/error.h"

namespace minke::engine {

using namespace model;

namespace {

using Message = rpc::ClientMessage;

Queries::Part parts_to(const Requester& requester) {
  return [requester](rpc::ServerMessage& answer, bool last) { requester.send(answer, last); };
}

Actions::Reply reply_to(const Requester& requester) {
  return [requester](const api::ActionReply& reply) { requester.send_action(reply); };
}

}  // namespace

template <auto body, auto action>
void Dispatch::act(Request& request) {
  (actions_.*action)((request.message.*body)(),
                     {request.uid(), request.message.first_sent(), request.message.key()},
                     reply_to(request.requester));
}

template <auto query>
void Dispatch::show_all(Request& request) {
  (queries_.*query)(parts_to(request.requester));
}

struct Dispatch::Row {
  RequestKind kind;
  void (Dispatch::*answer)(Request&);
  bool changes_at_once = false;  // operators' requests that may change state before all is checked
};

// Every kind of request, in the order of the fields of rpc::ClientMessage (rpc/messages.proto).
struct Dispatch::Table {
  static constexpr bool kChangesAtOnce = true;
  static constexpr Row kRows[] = {
      {Message::kSubmit, &Dispatch::submit},
      {Message::kWaitJob, &Dispatch::wait_job},
      {Message::kCreateStep, &Dispatch::create_step},
      {Message::kSignal, &Dispatch::act<&Message::signal, &Actions::signal>},
      {Message::kHold, &Dispatch::act<&Message::hold, &Actions::hold>},
      {Message::kRequeue, &Dispatch::act<&Message::requeue, &Actions::requeue>},
      {Message::kUpdateJob, &Dispatch::act<&Message::update_job, &Actions::update>},
      {Message::kUpdateNode, &Dispatch::update_node, kChangesAtOnce},
      {Message::kUpdatePartition, &Dispatch::update_partition, kChangesAtOnce},
      {Message::kQueryJobs, &Dispatch::list_jobs},
      {Message::kQuerySteps, &Dispatch::list_steps},
      {Message::kQueryScript, &Dispatch::show_script},
      {Message::kQueryAccounting, &Dispatch::report_accounting},
      {Message::kQueryNodes, &Dispatch::list_nodes},
      {Message::kQueryPartitions, &Dispatch::list_partitions},
      {Message::kQueryConfig, &Dispatch::show_all<&Queries::configuration>},
      {Message::kStatus, &Dispatch::show_status},
      {Message::kShutdown, &Dispatch::shut_down, kChangesAtOnce},
      {Message::kReconfigure, &Dispatch::reconfigure, kChangesAtOnce},
      {Message::kCompleteAllocation,
       &Dispatch::act<&Message::complete_allocation, &Actions::complete_allocation>},
      {Message::kSuspend, &Dispatch::act<&Message::suspend, &Actions::suspend>},
      {Message::kTop, &Dispatch::act<&Message::top, &Actions::top>},
      {Message::kNotify, &Dispatch::notify},
      {Message::kQueryPids, &Dispatch::list_processes},
      {Message::kQueryLicenses, &Dispatch::show_all<&Queries::licenses>},
      {Message::kAttachStep, &Dispatch::attach_step},
      {Message::kQueryStepUsage, &Dispatch::list_step_usage},
      {Message::kQueryDiagnostics, &Dispatch::show_diagnostics},
      {Message::kExplainJob, &Dispatch::explain},
      {Message::kUpdateReservation, &Dispatch::update_reservation, kChangesAtOnce},
      {Message::kQueryReservations, &Dispatch::show_all<&Queries::reservations>},
      {Message::kQueryAccounts, &Dispatch::show_accounts},
      {Message::kUpdateAccounts, &Dispatch::update_accounts, kChangesAtOnce},
      {Message::kQueryPriorities, &Dispatch::list_priorities},
      {Message::kUpdateRecords, &Dispatch::update_records},
      {Message::kKeepMetrics, &Dispatch::keep_metrics},
      {Message::kQueryMeasurements, &Dispatch::show_measurements},
      {Message::kSetTriggers, &Dispatch::set_triggers},
      {Message::kClearTriggers, &Dispatch::clear_triggers},
      {Message::kQueryTriggers, &Dispatch::show_triggers},
      {Message::kRequestSoftware, &Dispatch::request_software},
      {Message::kAnswerSoftware, &Dispatch::answer_software},
      {Message::kQuerySoftware, &Dispatch::show_software},
      {Message::kQueryCrontab, &Dispatch::show_crontab},
      {Message::kUpdateCrontab, &Dispatch::update_crontab},
      {Message::kRemoveCrontab, &Dispatch::remove_crontab},
      {Message::kQueryHistory, &Dispatch::show_history},
  };
  static const Row* find(RequestKind kind) {
    const auto row =
        std::find_if(std::begin(kRows), std::end(kRows), [kind](const Row& one) { return one.kind == kind; });
    return row == std::end(kRows) ? nullptr : &*row;
  }
};

Dispatch::Dispatch(Core& core, FlowControl& flow, Hooks hooks, std::function<size_t()> connections)
    : core_(core),
      flow_(flow),
      hooks_(std::move(hooks)),
      connections_(std::move(connections)),
      submitting_(core),
      queries_(core),
      actions_(core, queries_) {}

void Dispatch::answer(const std::shared_ptr<ConnectedClient>& client, rpc::ClientMessage message,
                      std::vector<os::UniqueFd> descriptors) {
  const uint32_t id = message.request_id();
  const uint32_t uid = client->peer.uid;
  auto ticket = flow_.begin(*client);
  if (!ticket) return client->send_error(id, ticket.error());
  const Row* row = Table::find(message.body_case());
  if (row == nullptr)
    return client->send_error(id, Error{kInternal, "a request that this daemon does not know"});
  if (const Status admitted = core_.rights->admits(uid, row->kind); !admitted)
    return client->send_error(id, admitted.error());
  if (row->changes_at_once) RequestGuard::changing();
  Request request{client, Requester(client, id, std::move(*ticket)), std::move(message),
                  std::move(descriptors), core_.rights->viewer(uid)};
  if (was_answered_before(request)) return;
  if (const Status paid = core_.answered->pay(request.message.key(), uid); !paid)
    return request.requester.fail(paid.error());
  (this->*row->answer)(request);
}

bool Dispatch::was_answered_before(const Request& request) {
  const auto known = core_.answered->find(request.message.key(), request.uid());
  if (!known) {
    request.requester.fail(known.error());
  } else if (*known) {
    core_.committer.when_stored([requester = request.requester, reply = **known](const Status& stored) {
      if (!stored) return requester.fail(stored.error());
      requester.send_action(reply);
    });
  }
  return !known || *known;
}

LongAnswer& Dispatch::begin_long_answer(const Request& request) {
  return flow_.begin_long_answer(request.client, request.message.request_id());
}

void Dispatch::confirm(const Request& request, const Status& outcome) {
  if (!outcome) return request.requester.fail(outcome.error());
  confirm(request, api::ActionReply());
}

void Dispatch::confirm(const Request& request, const api::ActionReply& reply) {
  core_.answered->note(request.message.key(), request.uid(), reply);
  core_.committer.when_stored([requester = request.requester, reply](const Status& stored) {
    if (!stored) return requester.fail(stored.error());
    requester.send_action(reply);
  });
}

// Jobs.

void Dispatch::submit(Request& request) {
  if (request.message.submit().test_only()) {
    auto tested = submitting_.test(request.message.submit(), request.peer());
    if (!tested) return request.requester.fail(tested.error());
    return tell_tested(core_, std::move(*tested), begin_long_answer(request));
  }
  submitting_.submit(request.message.submit(), request.peer(),
                     [requester = request.requester](Result<api::SubmitReply> reply) {
                       if (!reply) return requester.fail(reply.error());
                       rpc::ServerMessage answer;
                       *answer.mutable_submit() = std::move(*reply);
                       requester.send(answer, true);
                     });
}

Status Dispatch::may_notify(uint32_t uid, const api::NotifyRequest& request) {
  constexpr size_t kLongest = 4096;
  if (request.message().size() > kLongest)
    return failure("a notice has " + std::to_string(kLongest) + " characters at most", kPathnameTooLong);
  return core_.rights->budgets().spend(uid, config::Budget::kNotices, 1, core_.now());
}

void Dispatch::notify(Request& request) {
  const Status moderate = may_notify(request.uid(), request.message.notify());
  if (!moderate) return request.requester.fail(moderate.error());
  act<&Message::notify, &Actions::notify>(request);
}

void Dispatch::attach_step(Request& request) {
  const Status attached = core_.steps->attach(request.message.attach_step(), request.uid());
  if (!attached) return request.requester.fail(attached.error());
  request.requester.send_action({});
}

void Dispatch::keep_metrics(Request& request) {
  confirm(request, actions_.keep_metrics(request.message.keep_metrics(), request.peer()));
}

void Dispatch::update_records(Request& request) {
  auto updated = actions_.update_records(request.message.update_records(), request.peer());
  if (!updated) return request.requester.fail(updated.error());
  api::ActionReply reply;
  reply.set_changed(updated->jobs);
  confirm(request, reply);
  core_.committer.when_stored(
      [charge = std::make_shared<Budgets::Charge>(std::move(updated->charge))](const Status&) {});
}

// The machine and its accounts.

void Dispatch::update_node(Request& request) {
  const Status updated = core_.nodes->update_node(request.message.update_node(), request.uid());
  core_.triggers->nodes_changed();  // some of several may have, where others could not
  confirm(request, updated);
}

void Dispatch::update_partition(Request& request) {
  confirm(request, core_.nodes->change_partition(request.message.update_partition(), core_.accounts->book()));
}

void Dispatch::update_reservation(Request& request) {
  const auto name = core_.reservations->change(request.message.update_reservation(), request.uid());
  if (!name) return request.requester.fail(name.error());
  api::ActionReply reply;
  reply.set_created(*name);
  confirm(request, reply);
}

void Dispatch::update_accounts(Request& request) {
  const api::UpdateAccountsRequest& update = request.message.update_accounts();
  if (const Status admitted = core_.rights->admits(request.uid(), update); !admitted)
    return confirm(request, admitted);
  if (!core_.rights->is_operator(request.uid())) {  // a coordinator
    const Status paid = core_.rights->budgets().spend(request.uid(), config::Budget::kStoredBytes,
                                                      update.ByteSizeLong(), core_.now());
    if (!paid) return confirm(request, paid);
  }
  const accounts::AccountBook before = core_.accounts->book();
  const Status updated = core_.accounts->update(update);
  if (updated) core_.past_events->accounts_changed(before, core_.accounts->book(), request.uid());
  confirm(request, updated);
}

void Dispatch::set_triggers(Request& request) {
  confirm(request, core_.triggers->set(request.message.set_triggers(), request.uid(), request.peer().gid));
}

void Dispatch::clear_triggers(Request& request) {
  confirm(request, core_.triggers->clear(request.message.clear_triggers(), request.uid()));
}

void Dispatch::request_software(Request& request) {
  const auto id = core_.software_requests->ask(request.message.request_software(), request.uid());
  if (!id) return request.requester.fail(id.error());
  api::ActionReply reply;
  reply.set_created(std::to_string(*id));
  confirm(request, reply);
}

void Dispatch::answer_software(Request& request) {
  confirm(request, core_.software_requests->answer(request.message.answer_software(), request.uid()));
}

void Dispatch::update_crontab(Request& request) {
  core_.crontabs->update(
      request.message.update_crontab(), request.peer(), submitting_,
      [this, requester = request.requester, key = request.message.key(), uid = request.uid()](auto reply) {
        if (!reply) return requester.fail(reply.error());
        core_.answered->note(key, uid, *reply);
        core_.committer.when_stored([requester, reply = *reply](const Status& stored) {
          if (!stored) return requester.fail(stored.error());
          requester.send_action(reply);
        });
      });
}

void Dispatch::remove_crontab(Request& request) {
  confirm(request, core_.crontabs->remove(request.message.remove_crontab().uid(), request.uid()));
}

void Dispatch::reconfigure(Request& request) {
  confirm(request, hooks_.reconfigure());
}

void Dispatch::shut_down(Request& request) {
  hooks_.shut_down(request.message.shutdown().mode(), [requester = request.requester](const Status& outcome) {
    if (!outcome) return requester.fail(outcome.error());
    requester.send_action({});
  });
}

// Queries.

void Dispatch::show_status(Request& request) {
  rpc::ServerMessage answer;
  *answer.mutable_status() = hooks_.status();
  request.requester.send(answer, true);
}

void Dispatch::list_jobs(Request& request) {
  engine::list_jobs(core_, queries_, request.message.query_jobs(), request.viewer,
                    begin_long_answer(request));
}

void Dispatch::list_steps(Request& request) {
  engine::list_steps(core_, queries_, request.message.query_steps(), request.viewer,
                     begin_long_answer(request));
}

void Dispatch::list_step_usage(Request& request) {
  engine::list_step_usage(core_, queries_, request.message.query_step_usage(), request.viewer,
                          begin_long_answer(request));
}

void Dispatch::list_processes(Request& request) {
  engine::list_processes(core_, request.message.query_pids(), request.viewer, begin_long_answer(request));
}

void Dispatch::list_priorities(Request& request) {
  engine::list_priorities(core_, request.message.query_priorities(), request.viewer,
                          begin_long_answer(request));
}

void Dispatch::list_nodes(Request& request) {
  engine::list_nodes(core_, begin_long_answer(request));
}

void Dispatch::list_partitions(Request& request) {
  engine::list_partitions(core_, begin_long_answer(request));
}

void Dispatch::report_accounting(Request& request) {
  engine::report_accounting(core_, queries_, request.message.query_accounting(), request.viewer,
                            begin_long_answer(request));
}

void Dispatch::show_measurements(Request& request) {
  core_.measuring->query(request.message.query_measurements(), request.viewer, parts_to(request.requester));
}

void Dispatch::show_script(Request& request) {
  queries_.script(request.message.query_script(), request.uid(), parts_to(request.requester));
}

void Dispatch::show_diagnostics(Request& request) {
  const api::QueryDiagnosticsRequest& query = request.message.query_diagnostics();
  if (query.reset() && !core_.rights->is_operator(request.uid()))
    return request.requester.fail(Error{kAccessDenied, {}});
  queries_.diagnostics(query, request.viewer, connections_(), parts_to(request.requester));
}

void Dispatch::show_accounts(Request& request) {
  rpc::ServerMessage answer;
  core_.accounts->query(request.message.query_accounts(), *answer.mutable_accounts());
  request.requester.send(answer, true);
}

void Dispatch::show_triggers(Request& request) {
  rpc::ServerMessage answer;
  core_.triggers->query(request.uid(), *answer.mutable_triggers());
  request.requester.send(answer, true);
}

void Dispatch::show_software(Request& request) {
  rpc::ServerMessage answer;
  core_.software_requests->query(request.uid(), *answer.mutable_software());
  request.requester.send(answer, true);
}

void Dispatch::show_crontab(Request& request) {
  rpc::ServerMessage answer;
  const Status shown =
      core_.crontabs->query(request.message.query_crontab().uid(), request.uid(), *answer.mutable_crontab());
  if (!shown) return request.requester.fail(shown.error());
  request.requester.send(answer, true);
}

void Dispatch::show_history(Request& request) {
  rpc::ServerMessage answer;
  core_.past_events->query(request.message.query_history(), *answer.mutable_history());
  request.requester.send(answer, true);
}

void Dispatch::explain(Request& request) {
  explain_job(core_, queries_, request.message.explain_job(), request.uid(), begin_long_answer(request));
}

}  // namespace minke::engine
