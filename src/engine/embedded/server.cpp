#include "engine/embedded/server.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <set>
#include <utility>

#include "api/actions.pb.h"
#include "api/jobs.pb.h"
#include "api/steps.pb.h"
#include "api/submission.pb.h"
#include "base/request_guard.h"
#include "engine/embedded/accounts.h"
#include "engine/embedded/answers.h"
#include "engine/embedded/budgets.h"
#include "engine/embedded/core.h"
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
#include "environment/job_environment.h"
#include "model/error.h"
#include "os/user_log.h"
#include "rpc/frame.h"
#include "rpc/messages.pb.h"
#include "rpc/schema.h"

namespace minke::engine {

using namespace model;

namespace {

constexpr size_t kMostUnsentBytes = size_t{256} << 20;  // answers that a client has not read

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
// Of one message of an answer: long enough to be worth its trouble, and many to a frame.
constexpr size_t kMostPartBytes = size_t{4} << 20;

}  // namespace

struct Server::Client {
  std::unique_ptr<rpc::Connection> connection;
  rpc::Peer peer;
  std::map<std::string, uint32_t> steps;  // key and job of the steps that this client is told about
  std::set<uint32_t> waits_for;           // jobs
  struct Charges {
    Budgets::Charge connection, descriptors, receiving, unread;
  } charges;
  std::function<bool(Client&)> may_hold_unread = {};  // null: it may
  bool leaving = false;  // nothing more is sent, and the connection is about to be closed

  void send(rpc::ServerMessage& message, uint32_t request_id, bool last) {
    if (!connection || leaving) return;
    message.set_request_id(request_id);
    if (message.has_error() && message.error().code() != 0) {
      // Slurm's words for the number, and ours for what exactly is wrong.
      const std::string_view text = slurm_error_text(static_cast<int>(message.error().code()));
      if (!text.empty() && message.error().message() != text) {
        message.mutable_error()->set_detail(message.error().message());
        message.mutable_error()->set_message(std::string(text));
      }
    }
    remove_secrets(message);
    cut_texts(message);
    send_in_parts(message, kMostPartBytes, [this, last](rpc::ServerMessage& part, bool more) {
      part.set_last(last && !more);
      connection->send(part);
    });
    leaving = may_hold_unread && !may_hold_unread(*this);
  }
  void send_error(uint32_t request_id, const Error& error) {
    rpc::ServerMessage message;
    message.mutable_error()->set_code(static_cast<uint32_t>(error.code));
    message.mutable_error()->set_message(error.message);
    send(message, request_id, true);
  }
};

// What a request takes until it has been answered: whoever will answer it holds it.
struct Server::Ticket {
  Server& server;
  std::weak_ptr<bool> alive;
  uint32_t uid;
  Budgets::Charge request, bytes;

  Ticket(Server& of, uint32_t user) : server(of), alive(of.alive_), uid(user) {}
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;
  ~Ticket() {
    if (bytes.amount() == 0) return;
    bytes = {};
    if (!alive.expired()) server.room_was_made(uid);
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
  auto charge = core_.rights->budgets().take(client->peer.uid, Budget::kConnections, 1);
  if (!charge) {
    os::log_user_warning("connections", client->peer.uid, "has too many connections");
    return refuse(connect({}), charge.error());
  }
  client->charges.connection = std::move(*charge);
  clients_.emplace(key, client);
  client->connection = connect(
      {.on_frame =
           [this, key](std::string_view frame, std::vector<os::UniqueFd> descriptors) {
             const auto place = clients_.find(key);
             if (place == clients_.end()) return;
             const std::shared_ptr<Client> self = place->second;
             if (self->leaving) return;
             if (self->connection->unsent_bytes() > kMostUnsentBytes) {
               os::log_user_warning("answers", self->peer.uid, "asks, and does not read the answers");
               return drop(place);
             }
             std::string storage;
             const auto known =
                 rpc::Schema::of_program().known_part("minke.rpc.ClientMessage", frame, storage);
             rpc::ClientMessage message;
             if (!known || !message.ParseFromArray(known->data(), static_cast<int>(known->size()))) {
               self->send_error(0, known ? Error{kInternal, "what was sent is no message of this protocol"}
                                         : Error{kNotSupported, known.error().message});
               return;
             }
             handle(self, std::move(message), std::move(descriptors));
           },
       .on_close =
           [this, key](Status why) {
             const auto known = clients_.find(key);
             if (known == clients_.end()) return;
             if (!why)
               os::log_user_warning("cut off", known->second->peer.uid,
                                    "a client was cut off: " + why.error().message);
             drop(known);
           },
       .admit_frame =
           [this, key](size_t bytes) {
             const auto known = clients_.find(key);
             return known != clients_.end() && admit_frame(known->second, bytes);
           },
       .hold_descriptors =
           [this, key](size_t held) {
             const auto known = clients_.find(key);
             return known == clients_.end() ? Status() : hold_descriptors(*known->second, held);
           }});
  client->may_hold_unread = [this](Client& one) { return may_hold_unread(one); };
  client->connection->on_drained([this, key] {
    if (const auto known = clients_.find(key); known != clients_.end()) known->second->charges.unread = {};
  });
}

void Server::drop(Clients::iterator place) {
  const std::shared_ptr<Client> client = place->second;
  forget_steps(*client);
  for (const uint32_t job : client->waits_for) core_.waiting->forget(job, client.get());
  client->connection.reset();
  clients_.erase(place);
  room_was_made(client->peer.uid);
}

void Server::refuse(std::unique_ptr<rpc::Connection> connection, const Error& error) {
  Client client;
  client.connection = std::move(connection);
  client.send_error(0, error);
  client.connection->flush();
}

// Large requests of one user come one after another where there are many: together they are bounded, and one
// that has been let in has room for all of itself.
bool Server::admit_frame(const std::shared_ptr<Client>& client, size_t bytes) {
  const uint32_t uid = client->peer.uid;
  auto charge = core_.rights->budgets().take(uid, Budget::kReceivedBytes, bytes);
  if (!charge) {
    held_back_[uid].push_back({client, bytes});
    return false;
  }
  client->charges.receiving = std::move(*charge);
  return true;
}

// Answers of one user that he has not read are bounded together. One connection may have a larger answer, or
// nobody could see a large cluster whole. False: the connection is closed as soon as nobody is at work with
// it.
bool Server::may_hold_unread(Client& client) {
  const uint32_t uid = client.peer.uid;
  const uint64_t unsent = client.connection->unsent_bytes();
  Budgets::Charge& charge = client.charges.unread;
  if (unsent <= charge.amount() || core_.rights->budgets().resize(uid, charge, Budget::kUnreadBytes, unsent))
    return true;
  if (core_.rights->budgets().used(uid, Budget::kUnreadBytes) == charge.amount()) {
    charge = {};
    charge = core_.rights->budgets().adopt(uid, Budget::kUnreadBytes, unsent);
    return true;
  }
  os::log_user_warning("answers", uid, "asks, and does not read the answers");
  core_.loop.post([this, key = &client, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.expired()) return;
    if (const auto known = clients_.find(key); known != clients_.end() && known->second->leaving) drop(known);
  });
  return false;
}

Status Server::may_notify(uint32_t uid, const api::NotifyRequest& request) {
  constexpr size_t kLongest = 4096;
  if (request.message().size() > kLongest)
    return failure("a notice has " + std::to_string(kLongest) + " characters at most", kPathnameTooLong);
  auto& limit = notices_[core_.rights->is_operator(uid)];
  if (!limit) {
    const auto times = core_.rights->budgets().limit(uid, Budget::kNotices);
    limit = std::make_unique<os::RateLimit>(static_cast<uint32_t>(times), std::chrono::minutes(1));
  }
  if (limit->ask(std::to_string(uid), std::chrono::steady_clock::now()).allowed) return {};
  return failure("one user may send " + std::to_string(core_.rights->budgets().limit(uid, Budget::kNotices)) +
                     " notices a minute (budget notices)",
                 EAGAIN);
}

void Server::room_was_made(uint32_t uid) {
  if (!held_back_.contains(uid)) return;
  core_.loop.post([this, uid, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) let_in(uid);
  });
}

void Server::let_in(uint32_t uid) {
  const auto held_back = held_back_.find(uid);
  if (held_back == held_back_.end()) return;
  std::deque<HeldBack> waiting = std::exchange(held_back->second, {});
  while (!waiting.empty()) {
    const auto client = waiting.front().client.lock();
    const uint64_t most = core_.rights->budgets().limit(uid, Budget::kReceivedBytes);
    if (client && core_.rights->budgets().used(uid, Budget::kReceivedBytes) + waiting.front().bytes > most)
      break;
    waiting.pop_front();
    if (client && client->connection) client->connection->resume();
  }
  // Those who came back meanwhile, with the next that they have to say, stand behind.
  std::deque<HeldBack>& again = held_back_[uid];
  waiting.insert(waiting.end(), again.begin(), again.end());
  again = std::move(waiting);
  if (again.empty()) held_back_.erase(uid);
}

Status Server::hold_descriptors(Client& client, size_t held) {
  const Status room =
      core_.rights->budgets().resize(client.peer.uid, client.charges.descriptors, Budget::kDescriptors, held);
  if (room) return {};
  client.send_error(0, room.error());
  client.connection->flush();
  return room;
}

void Server::wait_job(const std::shared_ptr<Client>& client, uint32_t request_id,
                      const api::WaitJobRequest& request, std::shared_ptr<Ticket> ticket) {
  const auto answer = [this, weak = std::weak_ptr<Client>(client), request_id, ticket = std::move(ticket)](
                          const JobRecord& record, bool last) {
    const auto self = weak.lock();
    if (!self) return;
    rpc::ServerMessage message;
    *message.mutable_wait_job()->mutable_job() = record;
    if (last && record.state() == JOB_RUNNING) {
      // What its processes are told is its owner's to know.
      if (const Job* job = core_.state.find(record.job_id());
          job != nullptr && core_.rights->owns(self->peer.uid, job->uid)) {
        for (std::string& variable : environment::allocation_environment(
                 record, core_.launching->surroundings(*job, record.spec()))) {
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
  const Viewer viewer = core_.rights->viewer(client->peer.uid);
  const Job* job = core_.state.find(request.job_id());
  const ArrayGroup* array = core_.state.find_array(request.job_id());
  // All records of an array are of one user; that with its number may have ended before the others.
  const Job* known = job == nullptr && array != nullptr ? core_.state.find(*array->jobs.begin()) : job;
  if (known != nullptr && !viewer.sees(known->uid))
    return client->send_error(request_id, Error{kInvalidJobId, {}});
  if (job == nullptr && array == nullptr) {
    const auto stored = core_.store.job(request.job_id());
    if (!stored) return client->send_error(request_id, stored.error());
    if (!*stored) return client->send_error(request_id, Error{kInvalidJobId, {}});
    const JobRecord& record = (*stored)->record;
    if (!viewer.sees(record.uid())) return client->send_error(request_id, Error{kInvalidJobId, {}});
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
  const bool started = request.until() == api::WaitJobRequest::STARTED && shown.state != JOB_PENDING &&
                       !core_.prologs->holds_back(shown);
  answer(record, started);
  if (started) return;
  const auto tell = [answer](const JobRecord& ended) { answer(ended, true); };
  client->waits_for.insert(request.job_id());
  if (request.until() == api::WaitJobRequest::STARTED) {
    core_.waiting->for_start(request.job_id(), tell, client.get());
  } else {
    core_.waiting->for_end(request.job_id(), tell, client.get());
  }
}

void Server::create_step(const std::shared_ptr<Client>& client, uint32_t request_id,
                         const api::CreateStepRequest& request, std::vector<os::UniqueFd> descriptors) {
  // A key is only looked for among the steps of a job whose owner asks.
  const Job* job = core_.state.find(request.job_id());
  if (job == nullptr) return client->send_error(request_id, Error{kInvalidJobId, {}});
  if (client->peer.uid != job->uid && client->peer.uid != 0) {
    const bool seen = core_.rights->viewer(client->peer.uid).sees(job->uid);
    return client->send_error(request_id, Error{seen ? kAccessDenied : kInvalidJobId, {}});
  }
  if (request.key().size() != Steps::kKeyBytes)
    return client->send_error(request_id, Error{kInternal, "a step's key has 16 bytes"});
  client->steps[request.key()] = request.job_id();
  Steps::Report report;
  report.client = client.get();
  report.tell = [weak = std::weak_ptr<Client>(client), request_id,
                 key = request.key()](const api::StepEvent& event) {
    const auto self = weak.lock();
    if (!self) return;
    if (event.has_ended()) self->steps.erase(key);
    rpc::ServerMessage message;
    *message.mutable_step() = event;
    self->send(message, request_id, event.has_ended());
  };
  const Status created =
      core_.steps->create(request, std::move(descriptors), owner_of_peer(client->peer), std::move(report));
  if (created) return;
  client->steps.erase(request.key());
  client->send_error(request_id, created.error());
}

void Server::forget_steps(const Client& client) {
  for (const auto& [key, job_id] : client.steps) core_.steps->forget_report(job_id, key, &client);
}

void Server::handle(const std::shared_ptr<Client>& client, rpc::ClientMessage message,
                    std::vector<os::UniqueFd> descriptors) {
  const auto kind = message.body_case();
  const uint32_t uid = client->peer.uid;
  const uint32_t request_id = message.request_id();
  const auto begin = std::chrono::steady_clock::now();
  const RequestGuard guard;
  try {
    answer(client, std::move(message), std::move(descriptors));
  } catch (const std::exception& failed) {
    if (RequestGuard::has_changed()) throw;  // the state may be half changed: the next daemon has it whole
    os::log_user_warning("a request that fails", uid,
                         "request " + std::to_string(kind) + " fails: " + failed.what());
    client->send_error(request_id, Error{kInternal, "the request makes no sense to this daemon"});
  }
  const auto taken = std::chrono::steady_clock::now() - begin;
  core_.diagnostics.request_handled(
      kind, uid, static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(taken).count()));
}

void Server::answer(const std::shared_ptr<Client>& client, rpc::ClientMessage message,
                    std::vector<os::UniqueFd> descriptors) {
  const uint32_t id = message.request_id();
  const std::weak_ptr<Client> weak = client;
  const auto ticket = std::make_shared<Ticket>(*this, client->peer.uid);
  ticket->bytes = std::move(client->charges.receiving);
  auto request = core_.rights->budgets().take(client->peer.uid, Budget::kWaitingRequests, 1);
  if (!request) return client->send_error(id, request.error());
  ticket->request = std::move(*request);
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
      return changed(core_.nodes->change_partition(message.update_partition()));
    case rpc::ClientMessage::kQueryJobs:
      return queries_.jobs(message.query_jobs(), viewer, part);
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
      return queries_.accounting(message.query_accounting(), viewer, part);
    case rpc::ClientMessage::kQueryNodes:
      return queries_.nodes(part);
    case rpc::ClientMessage::kQueryPartitions:
      return queries_.partitions(part);
    case rpc::ClientMessage::kQueryConfig:
      return queries_.configuration(part);
    case rpc::ClientMessage::kQueryDiagnostics:
      if (message.query_diagnostics().reset() && !rights.is_operator(uid))
        return client->send_error(id, Error{kAccessDenied, {}});
      return queries_.diagnostics(message.query_diagnostics(), viewer, clients_.size(), part);
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
      return changed(core_.accounts->update(message.update_accounts(), client->peer.uid));
    case rpc::ClientMessage::kQueryPriorities: {
      rpc::ServerMessage answer;
      core_.priorities->query(message.query_priorities(), viewer, *answer.mutable_priorities());
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
