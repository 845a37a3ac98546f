#include "engine/embedded/dispatch.h"

#include <cerrno>
#include <chrono>
#include <string>
#include <utility>

#include "api/actions.pb.h"
#include "api/submission.pb.h"
#include "base/request_guard.h"
#include "engine/embedded/accounts.h"
#include "engine/embedded/core.h"
#include "engine/embedded/long_queries.h"
#include "engine/embedded/measuring.h"
#include "engine/embedded/nodes.h"
#include "engine/embedded/priority_queries.h"
#include "engine/embedded/reservations.h"
#include "engine/embedded/rights.h"
#include "engine/embedded/steps.h"
#include "engine/embedded/triggers.h"
#include "model/error.h"
#include "rpc/messages.pb.h"

namespace minke::engine {

using namespace model;

namespace {

// Operators' requests, of which some change things before they are done with checking.
bool changes_at_once(rpc::ClientMessage::BodyCase kind) {
  switch (kind) {
    case rpc::ClientMessage::kUpdateNode:
    case rpc::ClientMessage::kUpdatePartition:
    case rpc::ClientMessage::kUpdateReservation:
    case rpc::ClientMessage::kUpdateAccounts:
    case rpc::ClientMessage::kReconfigure:
    case rpc::ClientMessage::kShutdown:
      return true;
    default:
      return false;
  }
}

}  // namespace

Dispatch::Dispatch(Core& core, FlowControl& flow, Hooks hooks, std::function<size_t()> connections)
    : core_(core),
      flow_(flow),
      hooks_(std::move(hooks)),
      connections_(std::move(connections)),
      submitting_(core),
      queries_(core),
      explaining_(core, queries_),
      actions_(core, queries_) {}

Status Dispatch::may_notify(uint32_t uid, const api::NotifyRequest& request) {
  constexpr size_t kLongest = 4096;
  if (request.message().size() > kLongest)
    return failure("a notice has " + std::to_string(kLongest) + " characters at most", kPathnameTooLong);
  auto& limit = notices_[core_.rights->is_operator(uid)];
  if (!limit) {
    const auto times = core_.rights->budgets().limit(uid, config::Budget::kNotices);
    limit = std::make_unique<os::RateLimit>(static_cast<uint32_t>(times), std::chrono::minutes(1));
  }
  if (limit->ask(std::to_string(uid), std::chrono::steady_clock::now()).allowed) return {};
  return failure("one user may send " +
                     std::to_string(core_.rights->budgets().limit(uid, config::Budget::kNotices)) +
                     " notices a minute (budget notices)",
                 EAGAIN);
}

void Dispatch::answer(const std::shared_ptr<ConnectedClient>& client, rpc::ClientMessage message,
                      std::vector<os::UniqueFd> descriptors) {
  const uint32_t id = message.request_id();
  const std::weak_ptr<ConnectedClient> weak = client;
  const auto begun = flow_.begin(*client);
  if (!begun) return client->send_error(id, begun.error());
  const Ticket& ticket = *begun;
  const Queries::Part part = [weak, id, ticket](rpc::ServerMessage& answer, bool last) {
    if (const auto self = weak.lock()) self->send(answer, id, last);
  };
  const Actions::Reply acted = [weak, id, ticket](const api::ActionReply& reply) {
    const auto self = weak.lock();
    if (!self) return;
    rpc::ServerMessage answer;
    *answer.mutable_action() = reply;
    for (auto& failure : *answer.mutable_action()->mutable_failures()) {
      if (failure.message().empty()) {
        failure.set_message(std::string(slurm_error_text(static_cast<int>(failure.code()))));
      }
    }
    self->send(answer, id, true);
  };
  const auto changed = [&](const Status& outcome) {
    if (!outcome) return client->send_error(id, outcome.error());
    core_.committer.when_stored([acted, weak, id](const Status& stored) {
      if (stored) return acted(api::ActionReply());
      if (const auto self = weak.lock()) self->send_error(id, stored.error());
    });
  };
  Rights& rights = *core_.rights;
  const uint32_t uid = client->peer.uid;
  if (const Status admitted = rights.admits(uid, message.body_case()); !admitted)
    return client->send_error(id, admitted.error());
  if (changes_at_once(message.body_case())) RequestGuard::changing();
  const Viewer viewer = rights.viewer(uid);
  switch (message.body_case()) {
    case rpc::ClientMessage::kSubmit:
      submitting_.submit(message.submit(), client->peer, [weak, id, ticket](Result<api::SubmitReply> reply) {
        const auto self = weak.lock();
        if (!self) return;
        if (!reply) return self->send_error(id, reply.error());
        rpc::ServerMessage answer;
        *answer.mutable_submit() = std::move(*reply);
        self->send(answer, id, true);
      });
      return;
    case rpc::ClientMessage::kWaitJob:
      return wait_job(client, id, message.wait_job(), ticket);
    case rpc::ClientMessage::kCreateStep:
      return create_step(client, id, message.create_step(), std::move(descriptors));
    case rpc::ClientMessage::kSignal:
      return actions_.signal(message.signal(), client->peer, acted);
    case rpc::ClientMessage::kHold:
      return actions_.hold(message.hold(), client->peer, acted);
    case rpc::ClientMessage::kRequeue:
      return actions_.requeue(message.requeue(), client->peer, acted);
    case rpc::ClientMessage::kSuspend:
      return actions_.suspend(message.suspend(), client->peer, acted);
    case rpc::ClientMessage::kTop:
      return actions_.top(message.top(), client->peer, acted);
    case rpc::ClientMessage::kNotify:
      if (const Status moderate = may_notify(uid, message.notify()); !moderate)
        return client->send_error(id, moderate.error());
      return actions_.notify(message.notify(), client->peer, acted);
    case rpc::ClientMessage::kQueryPids:
      return queries_.processes(message.query_pids(), viewer, part);
    case rpc::ClientMessage::kQueryLicenses:
      return queries_.licenses(part);
    case rpc::ClientMessage::kUpdateJob:
      return actions_.update(message.update_job(), client->peer, acted);
    case rpc::ClientMessage::kCompleteAllocation:
      return actions_.complete_allocation(message.complete_allocation(), client->peer, acted);
    case rpc::ClientMessage::kUpdateNode:
      if (const Status updated = core_.nodes->update_node(message.update_node(), client->peer.uid); !updated)
        return client->send_error(id, updated.error());
      core_.triggers->nodes_changed();
      return changed({});
    case rpc::ClientMessage::kUpdatePartition:
      return changed(core_.nodes->change_partition(message.update_partition(), core_.accounts->book()));
    case rpc::ClientMessage::kQueryJobs:
      return list_jobs(core_, queries_, message.query_jobs(), viewer, flow_.begin_long_answer(client, id));
    case rpc::ClientMessage::kQuerySteps:
      return queries_.steps(message.query_steps(), viewer, part);
    case rpc::ClientMessage::kQueryStepUsage:
      return queries_.step_usage(message.query_step_usage(), viewer, part);
    case rpc::ClientMessage::kQueryMeasurements:
      return core_.measuring->query(message.query_measurements(), viewer, part);
    case rpc::ClientMessage::kAttachStep:
      if (const Status attached = core_.steps->attach(message.attach_step(), client->peer.uid); !attached) {
        return client->send_error(id, attached.error());
      }
      return acted(api::ActionReply());
    case rpc::ClientMessage::kQueryScript:
      return queries_.script(message.query_script(), uid, part);
    case rpc::ClientMessage::kQueryAccounting:
      return report_accounting(core_, queries_, message.query_accounting(), viewer,
                               flow_.begin_long_answer(client, id));
    case rpc::ClientMessage::kQueryNodes:
      return queries_.nodes(part);
    case rpc::ClientMessage::kQueryPartitions:
      return queries_.partitions(part);
    case rpc::ClientMessage::kQueryConfig:
      return queries_.configuration(part);
    case rpc::ClientMessage::kQueryDiagnostics:
      if (message.query_diagnostics().reset() && !rights.is_operator(uid))
        return client->send_error(id, Error{kAccessDenied, {}});
      return queries_.diagnostics(message.query_diagnostics(), viewer, connections_(), part);
    case rpc::ClientMessage::kExplainJob:
      return explaining_.explain(message.explain_job(),
                                 [this, part, uid](rpc::ServerMessage& answer, bool last) {
                                   core_.rights->redact(uid, answer);
                                   part(answer, last);
                                 });
    case rpc::ClientMessage::kStatus: {
      rpc::ServerMessage answer;
      *answer.mutable_status() = hooks_.status();
      return client->send(answer, id, true);
    }
    case rpc::ClientMessage::kShutdown:
      return hooks_.shut_down(message.shutdown().mode(), [weak, id, acted](Status outcome) {
        const auto self = weak.lock();
        if (!self) return;
        if (!outcome) return self->send_error(id, outcome.error());
        acted(api::ActionReply());
      });
    case rpc::ClientMessage::kReconfigure:
      return changed(hooks_.reconfigure());
    case rpc::ClientMessage::kUpdateReservation: {
      const auto name = core_.reservations->change(message.update_reservation(), client->peer.uid);
      if (!name) return client->send_error(id, name.error());
      api::ActionReply reply;
      reply.set_created(*name);
      return core_.committer.when_stored([acted, reply, weak, id](const Status& stored) {
        if (stored) return acted(reply);
        if (const auto self = weak.lock()) self->send_error(id, stored.error());
      });
    }
    case rpc::ClientMessage::kQueryReservations:
      return queries_.reservations(part);
    case rpc::ClientMessage::kKeepMetrics:
      return changed(actions_.keep_metrics(message.keep_metrics(), client->peer));
    case rpc::ClientMessage::kUpdateRecords: {
      const auto count = actions_.update_records(message.update_records(), client->peer);
      if (!count) return client->send_error(id, count.error());
      api::ActionReply reply;
      reply.set_changed(*count);
      return core_.committer.when_stored([acted, reply, weak, id](const Status& stored) {
        if (stored) return acted(reply);
        if (const auto self = weak.lock()) self->send_error(id, stored.error());
      });
    }
    case rpc::ClientMessage::kQueryAccounts: {
      rpc::ServerMessage answer;
      core_.accounts->query(message.query_accounts(), *answer.mutable_accounts());
      return client->send(answer, id, true);
    }
    case rpc::ClientMessage::kUpdateAccounts:
      if (const Status may = core_.rights->admits(client->peer.uid, message.update_accounts()); !may)
        return changed(may);
      return changed(core_.accounts->update(message.update_accounts()));
    case rpc::ClientMessage::kQueryPriorities: {
      rpc::ServerMessage answer;
      query_priorities(core_, message.query_priorities(), viewer, *answer.mutable_priorities());
      return client->send(answer, id, true);
    }
    case rpc::ClientMessage::kSetTriggers:
      return changed(core_.triggers->set(message.set_triggers(), client->peer.uid, client->peer.gid));
    case rpc::ClientMessage::kClearTriggers:
      return changed(core_.triggers->clear(message.clear_triggers(), client->peer.uid));
    case rpc::ClientMessage::kQueryTriggers: {
      rpc::ServerMessage answer;
      core_.triggers->query(client->peer.uid, *answer.mutable_triggers());
      return client->send(answer, id, true);
    }
    case rpc::ClientMessage::BODY_NOT_SET:
      return client->send_error(id, Error{kInternal, "a request that this daemon does not know"});
  }
}

}  // namespace minke::engine
