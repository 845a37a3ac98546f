#include "engine/embedded/server.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/embedded/accounts.h"
#include "engine/embedded/core.h"
#include "engine/embedded/job_environment.h"
#include "engine/embedded/launching.h"
#include "engine/embedded/measuring.h"
#include "engine/embedded/nodes.h"
#include "engine/embedded/peer_owner.h"
#include "engine/embedded/priorities.h"
#include "engine/embedded/prologs.h"
#include "engine/embedded/reservations.h"
#include "engine/embedded/rights.h"
#include "engine/embedded/steps.h"
#include "engine/embedded/triggers.h"
#include "engine/embedded/users.h"
#include "engine/embedded/waiting.h"
#include "model/error.h"
#include "os/log.h"
#include "rpc/frame.h"

namespace minke::engine {

using namespace model;

namespace {

constexpr int kMostConnections = 2000;                  // of one user at a time
constexpr size_t kMostUnsentBytes = size_t{256} << 20;  // answers that a client has not read

}  // namespace

struct Server::Client {
  std::unique_ptr<rpc::Connection> connection;
  rpc::Peer peer;
  std::vector<std::string> step_keys;  // of the steps that this client is told about

  void send(rpc::ServerMessage& message, uint32_t request_id, bool last) {
    if (!connection) return;
    message.set_request_id(request_id);
    message.set_last(last);
    if (message.has_error() && message.error().code() != 0) {
      // Slurm's words for the number, and ours for what exactly is wrong.
      const std::string_view text = slurm_error_text(static_cast<int>(message.error().code()));
      if (!text.empty() && message.error().message() != text) {
        message.mutable_error()->set_detail(message.error().message());
        message.mutable_error()->set_message(std::string(text));
      }
    }
    connection->send(message);
  }
  void send_error(uint32_t request_id, const Error& error) {
    rpc::ServerMessage message;
    message.mutable_error()->set_code(static_cast<uint32_t>(error.code));
    message.mutable_error()->set_message(error.message);
    send(message, request_id, true);
  }
};

Server::Server(Core& core, os::UniqueFd listener, Hooks hooks)
    : core_(core),
      listener_(std::move(listener)),
      hooks_(std::move(hooks)),
      submitting_(core),
      queries_(core),
      explaining_(core, queries_),
      actions_(core, queries_) {}

Server::~Server() = default;

void Server::open() {
  accepting_ =
      rpc::accept_on(core_.loop, listener_.get(), [this](os::UniqueFd socket) { accept(std::move(socket)); });
}

void Server::close() {
  accepting_.reset();
  clients_.clear();
}

void Server::accept(os::UniqueFd socket) {
  const rpc::Peer peer = rpc::peer_of(socket.get());
  admit(peer, [&](rpc::Connection::Callbacks callbacks) {
    return rpc::Connection::start(core_.loop, std::move(socket), rpc::kMaxRequestBytes, std::move(callbacks));
  });
}

void Server::admit(const rpc::Peer& peer, const Connect& connect) {
  auto client = std::make_shared<Client>();
  Client* key = client.get();
  client->peer = peer;
  // Personal mode: the socket's mode keeps others out; this is the second lock on that door.
  if (!core_.rights->may_connect(client->peer.uid)) return;
  const auto same_user = [&](const auto& known) { return known.second->peer.uid == client->peer.uid; };
  if (client->peer.uid != 0 &&
      std::count_if(clients_.begin(), clients_.end(), same_user) >= kMostConnections) {
    os::log_warning("user " + std::to_string(client->peer.uid) + " has too many connections");
    return;
  }
  clients_.emplace(key, client);
  client->connection = connect(
      {.on_frame =
           [this, key](std::string_view frame, std::vector<os::UniqueFd> descriptors) {
             const auto known = clients_.find(key);
             if (known == clients_.end()) return;
             const std::shared_ptr<Client> self = known->second;
             if (self->connection->unsent_bytes() > kMostUnsentBytes) {
               os::log_warning("user " + std::to_string(self->peer.uid) +
                               " asks, and does not read the answers");
               for (const std::string& step : self->step_keys) core_.steps->forget_report(step);
               self->connection.reset();
               clients_.erase(known);
               return;
             }
             rpc::ClientMessage message;
             if (!message.ParseFromArray(frame.data(), static_cast<int>(frame.size()))) {
               self->send_error(0, Error{kInternal, "what was sent is no message of this protocol"});
               return;
             }
             handle(self, std::move(message), std::move(descriptors));
           },
       .on_close =
           [this, key](Status why) {
             if (!why) os::log_warning("a client was cut off: " + why.error().message);
             const auto known = clients_.find(key);
             if (known == clients_.end()) return;
             for (const std::string& step : known->second->step_keys) core_.steps->forget_report(step);
             known->second->connection.reset();
             clients_.erase(known);
           }});
}

void Server::wait_job(const std::shared_ptr<Client>& client, uint32_t request_id,
                      const rpc::WaitJobRequest& request) {
  const auto answer = [this, weak = std::weak_ptr<Client>(client), request_id](const JobRecord& record,
                                                                               bool last) {
    const auto self = weak.lock();
    if (!self) return;
    rpc::ServerMessage message;
    *message.mutable_wait_job()->mutable_job() = record;
    if (last && record.state() == JOB_RUNNING) {
      if (const Job* job = core_.state.find(record.job_id())) {
        for (std::string& variable :
             allocation_environment(record, core_.launching->surroundings(*job, record.spec()))) {
          message.mutable_wait_job()->add_environment(std::move(variable));
        }
        for (std::string& variable : core_.launching->het_environment(*job))
          message.mutable_wait_job()->add_environment(std::move(variable));
        if (job->het_job_id != 0) {
          for (const Job* component : core_.state.components(*job))
            *message.mutable_wait_job()->add_het_components() = queries_.full_record(*component);
        }
      }
    }
    self->send(message, request_id, last);
  };
  const Job* job = core_.state.find(request.job_id());
  const ArrayGroup* array = core_.state.find_array(request.job_id());
  if (job != nullptr && !core_.rights->may_see(client->peer.uid, job->uid))
    return client->send_error(request_id, Error{kInvalidJobId, {}});
  if (job == nullptr && array == nullptr) {
    const auto stored = core_.store.job(request.job_id());
    if (!stored) return client->send_error(request_id, stored.error());
    if (!*stored) return client->send_error(request_id, Error{kInvalidJobId, {}});
    const JobRecord& record = (*stored)->record;
    if (!core_.rights->may_see(client->peer.uid, record.uid()))
      return client->send_error(request_id, Error{kInvalidJobId, {}});
    if (record.array_job_id() == 0) return answer(record, true);
    // Of an array the highest exit code of all its tasks is told.
    const auto told = std::make_shared<JobRecord>(record);
    store::AccountingQuery query;
    query.job_ids = {record.array_job_id()};
    core_.store.query(std::move(query), [this, answer, told](auto chunk) {
      core_.loop.post([answer, told, chunk = std::move(chunk)] {
        const bool more = chunk && !chunk->empty();
        if (!more) return answer(*told, true);
        for (const store::AccountedJob& task : *chunk)
          told->set_exit_code(std::max(told->exit_code(), task.job.record.exit_code()));
      });
    });
    return;
  }
  const auto over = [&](uint32_t id) {
    const Job* one = core_.state.find(id);
    return one == nullptr || (one->ended() && !one->completing);
  };
  if (array != nullptr ? std::all_of(array->jobs.begin(), array->jobs.end(), over) : over(job->id)) {
    // It has ended, and that is on its way to the disk.
    JobRecord record = queries_.full_record(job != nullptr ? *job : *core_.state.find(*array->jobs.begin()));
    if (array != nullptr && array->ended > array->succeeded)
      record.set_exit_code(array->highest_exit != 0 ? array->highest_exit : 1 << 8);
    core_.committer.when_durable([answer, record] { answer(record, true); });
    return;
  }
  const Job& shown = job != nullptr ? *job : *core_.state.find(*array->jobs.begin());
  const JobRecord record = queries_.full_record(shown);
  const bool started = request.until() == rpc::WaitJobRequest::STARTED && shown.state != JOB_PENDING &&
                       !core_.prologs->holds_back(shown);
  answer(record, started);
  if (started) return;
  const auto tell = [answer](const JobRecord& ended) { answer(ended, true); };
  if (request.until() == rpc::WaitJobRequest::STARTED) {
    core_.waiting->for_start(request.job_id(), tell);
  } else {
    core_.waiting->for_end(request.job_id(), tell);
  }
}

void Server::create_step(const std::shared_ptr<Client>& client, uint32_t request_id,
                         const rpc::CreateStepRequest& request, std::vector<os::UniqueFd> descriptors) {
  const Job* job = core_.state.find(request.job_id());
  if (job != nullptr && client->peer.uid != job->uid && client->peer.uid != 0)
    return client->send_error(request_id, Error{kAccessDenied, {}});
  client->step_keys.push_back(request.key());
  const Status created =
      core_.steps->create(request, std::move(descriptors), owner_of_peer(client->peer),
                          [weak = std::weak_ptr<Client>(client), request_id](const rpc::StepEvent& event) {
                            const auto self = weak.lock();
                            if (!self) return;
                            rpc::ServerMessage message;
                            *message.mutable_step() = event;
                            self->send(message, request_id, event.has_ended());
                          });
  if (!created) client->send_error(request_id, created.error());
}

void Server::handle(const std::shared_ptr<Client>& client, rpc::ClientMessage message,
                    std::vector<os::UniqueFd> descriptors) {
  const auto kind = message.body_case();
  const uint32_t uid = client->peer.uid;
  const auto begin = std::chrono::steady_clock::now();
  answer(client, std::move(message), std::move(descriptors));
  const auto taken = std::chrono::steady_clock::now() - begin;
  core_.diagnostics.request_handled(
      kind, uid, static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(taken).count()));
}

void Server::answer(const std::shared_ptr<Client>& client, rpc::ClientMessage message,
                    std::vector<os::UniqueFd> descriptors) {
  const uint32_t id = message.request_id();
  const std::weak_ptr<Client> weak = client;
  const Queries::Part part = [weak, id](rpc::ServerMessage& answer, bool last) {
    if (const auto self = weak.lock()) self->send(answer, id, last);
  };
  const Actions::Reply acted = [weak, id](const rpc::ActionReply& reply) {
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
      if (stored) return acted(rpc::ActionReply());
      if (const auto self = weak.lock()) self->send_error(id, stored.error());
    });
  };
  Rights& rights = *core_.rights;
  const uint32_t uid = client->peer.uid;
  if (const Status admitted = rights.admits(uid, message.body_case()); !admitted)
    return client->send_error(id, admitted.error());
  switch (message.body_case()) {
    case rpc::ClientMessage::kSubmit:
      submitting_.submit(message.submit(), client->peer, [weak, id](Result<rpc::SubmitReply> reply) {
        const auto self = weak.lock();
        if (!self) return;
        if (!reply) return self->send_error(id, reply.error());
        rpc::ServerMessage answer;
        *answer.mutable_submit() = std::move(*reply);
        self->send(answer, id, true);
      });
      return;
    case rpc::ClientMessage::kWaitJob:
      return wait_job(client, id, message.wait_job());
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
      return actions_.notify(message.notify(), client->peer, acted);
    case rpc::ClientMessage::kQueryPids:
      rights.narrow(uid, *message.mutable_query_pids()->mutable_filter());
      return queries_.processes(message.query_pids(), part);
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
      return changed(core_.nodes->change_partition(message.update_partition()));
    case rpc::ClientMessage::kQueryJobs:
      rights.narrow(uid, *message.mutable_query_jobs()->mutable_filter());
      return queries_.jobs(message.query_jobs(), part);
    case rpc::ClientMessage::kQuerySteps:
      rights.narrow(uid, *message.mutable_query_steps()->mutable_filter());
      return queries_.steps(message.query_steps(), part);
    case rpc::ClientMessage::kQueryStepUsage:
      rights.narrow(uid, *message.mutable_query_step_usage()->mutable_filter());
      return queries_.step_usage(message.query_step_usage(), part);
    case rpc::ClientMessage::kQueryMeasurements:
      rights.narrow(uid, *message.mutable_query_measurements()->mutable_filter());
      return core_.measuring->query(message.query_measurements(), part);
    case rpc::ClientMessage::kAttachStep:
      if (const Status attached = core_.steps->attach(message.attach_step(), client->peer.uid); !attached) {
        return client->send_error(id, attached.error());
      }
      return acted(rpc::ActionReply());
    case rpc::ClientMessage::kQueryScript:
      return queries_.script(message.query_script(), uid, part);
    case rpc::ClientMessage::kQueryAccounting:
      rights.narrow(uid, *message.mutable_query_accounting()->mutable_filter());
      return queries_.accounting(message.query_accounting(), part);
    case rpc::ClientMessage::kQueryNodes:
      return queries_.nodes(part);
    case rpc::ClientMessage::kQueryPartitions:
      return queries_.partitions(part);
    case rpc::ClientMessage::kQueryConfig:
      return queries_.configuration(part);
    case rpc::ClientMessage::kQueryDiagnostics:
      if (message.query_diagnostics().reset() && !rights.is_operator(uid))
        return client->send_error(id, Error{kAccessDenied, {}});
      return queries_.diagnostics(message.query_diagnostics(), clients_.size(), part);
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
        acted(rpc::ActionReply());
      });
    case rpc::ClientMessage::kReconfigure:
      return changed(hooks_.reconfigure());
    case rpc::ClientMessage::kUpdateReservation: {
      const auto name = core_.reservations->change(message.update_reservation(), client->peer.uid);
      if (!name) return client->send_error(id, name.error());
      rpc::ActionReply reply;
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
      rpc::ActionReply reply;
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
      return changed(core_.accounts->update(message.update_accounts(), client->peer.uid));
    case rpc::ClientMessage::kQueryPriorities: {
      rights.narrow(uid, *message.mutable_query_priorities()->mutable_filter());
      rpc::ServerMessage answer;
      core_.priorities->query(message.query_priorities(), *answer.mutable_priorities());
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
