// Later reports: on a job that a client waits for, and on a step that it has started.
#include <algorithm>
#include <memory>
#include <utility>

#include "api/jobs.pb.h"
#include "api/steps.pb.h"
#include "engine/embedded/accounts/rights.h"
#include "engine/embedded/accounts/users.h"
#include "engine/embedded/core.h"
#include "engine/embedded/launching/launching.h"
#include "engine/embedded/launching/prologs.h"
#include "engine/embedded/life_cycle/waiting.h"
#include "engine/embedded/server/dispatch.h"
#include "engine/embedded/server/dispatch_request.h"
#include "engine/embedded/server/peer_owner.h"
#include "engine/embedded/steps/steps.h"
#include "environment/job_environment.h"
#include "model/error.h"
#include "rpc/messages.pb.h"
#include "store/job_row.h"
#include "store/store.h"

namespace minke::engine {

using namespace model;

// The job or array with a number. `job` has the number itself and may end before the rest of its array.
struct Dispatch::Awaited {
  const Job* job = nullptr;
  const ArrayGroup* array = nullptr;
  const Job* shown = nullptr;  // the job that is reported; null: not in memory
};

Dispatch::Awaited Dispatch::find_awaited(uint32_t job_id) {
  Awaited found{core_.state.find(job_id), core_.state.find_array(job_id)};
  found.shown = found.job;
  if (found.job == nullptr && found.array != nullptr && !found.array->jobs.empty())
    found.shown = core_.state.find(*found.array->jobs.begin());
  return found;
}

bool Dispatch::has_ended(const Awaited& awaited) {
  const auto over = [](const Job* job) { return job == nullptr || (job->ended() && !job->completing); };
  if (awaited.array == nullptr) return over(awaited.job);
  return std::all_of(awaited.array->jobs.begin(), awaited.array->jobs.end(),
                     [&](uint32_t id) { return over(core_.state.find(id)); });
}

// The environment of an allocation, for its processes.
void Dispatch::add_allocation(const Job& job, const JobRecord& record, api::WaitJobReply& reply) {
  reply.set_interactive_step(core_.config.interactive_step);
  for (std::string& variable :
       environment::allocation_environment(record, core_.launching->surroundings(job, record.spec())))
    reply.add_environment(std::move(variable));
  for (std::string& variable : core_.launching->het_environment(job))
    reply.add_environment(std::move(variable));
  if (job.het_job_id == 0) return;
  for (const Job* component : core_.state.components(job))
    *reply.add_het_components() = queries_.full_record(*component);
}

void Dispatch::tell(const Requester& requester, const JobRecord& record, bool last) {
  const auto client = requester.client();
  if (!client) return;
  rpc::ServerMessage message;
  *message.mutable_wait_job()->mutable_job() = record;
  if (last && record.state() == JOB_RUNNING) {
    // Only its owner may see it.
    const Job* job = core_.state.find(record.job_id());
    if (job != nullptr && core_.rights->owns(client->peer.uid, job->uid))
      add_allocation(*job, record, *message.mutable_wait_job());
  }
  requester.send(message, last);
}

// Many may wait for one job. Each is told in its user's turn, after it has read what it was told before.
void Dispatch::tell_in_turn(const Requester& requester, std::shared_ptr<const JobRecord> record) {
  const auto client = requester.client();
  if (!client) return;
  flow_.in_turn(client, [this, requester, record = std::move(record)] { tell(requester, *record, true); });
}

// The job has ended, and its end is being stored.
void Dispatch::tell_ending(const Requester& requester, const Awaited& awaited) {
  JobRecord record = queries_.full_record(*awaited.shown);
  if (awaited.array != nullptr && awaited.array->ended > awaited.array->succeeded)
    record.set_exit_code(awaited.array->highest_exit != 0 ? awaited.array->highest_exit : 1 << 8);
  core_.committer.when_durable([this, requester, record] { tell(requester, record, true); });
}

void Dispatch::wait_job(Request& request) {
  const uint32_t job_id = request.message.wait_job().job_id();
  const bool for_start = request.message.wait_job().until() == api::WaitJobRequest::STARTED;
  const Requester& requester = request.requester;
  const Awaited awaited = find_awaited(job_id);
  if (awaited.shown == nullptr) return tell_stored(requester, request.viewer, job_id);
  // All records of an array have the same owner.
  if (!request.viewer.sees(awaited.shown->uid)) return requester.fail(Error{kInvalidJobId, {}});
  if (has_ended(awaited)) return tell_ending(requester, awaited);
  const bool started =
      for_start && awaited.shown->state != JOB_PENDING && !core_.prologs->holds_back(*awaited.shown);
  if (started && awaited.shown->submission->interactive) {
    // Only the store knows of an allocation's start: after a crash the next daemon would not know it.
    return core_.committer.when_durable(
        [this, requester, record = queries_.full_record(*awaited.shown)] { tell(requester, record, true); });
  }
  tell(requester, queries_.full_record(*awaited.shown), started);
  if (started) return;
  const auto later = [this, requester](std::shared_ptr<const JobRecord> record) {
    tell_in_turn(requester, std::move(record));
  };
  request.client->waits_for.insert(job_id);
  if (for_start) {
    core_.waiting->for_start(job_id, later, request.client.get());
  } else {
    core_.waiting->for_end(job_id, later, request.client.get());
  }
}

// For a job that has left memory.
void Dispatch::tell_stored(const Requester& requester, Viewer viewer, uint32_t job_id) {
  const auto stored = core_.store.job(job_id);
  if (!stored) return requester.fail(stored.error());
  if (!*stored || !viewer.sees((*stored)->record.uid())) return requester.fail(Error{kInvalidJobId, {}});
  const auto told = std::make_shared<JobRecord>((*stored)->record);
  if (told->array_job_id() == 0) return tell(requester, *told, true);
  // For an array, the highest exit code of all its tasks is reported.
  store::AccountingQuery query;
  query.asker = viewer.uid;
  query.job_ids = {told->array_job_id()};
  core_.store.query(std::move(query), [this, requester, told](auto chunk) {
    core_.loop.post([this, requester, told, chunk = std::move(chunk)] {
      const bool more = chunk && !chunk->empty();
      if (!more) return tell(requester, *told, true);
      for (const store::AccountedJob& task : *chunk)
        told->set_exit_code(std::max(told->exit_code(), task.job.record.exit_code()));
    });
  });
}

void Dispatch::create_step(Request& request) {
  const api::CreateStepRequest& wanted = request.message.create_step();
  const Requester& requester = request.requester;
  // A key is searched only among the steps of a job whose owner asks.
  const Job* job = core_.state.find(wanted.job_id());
  if (job == nullptr) return requester.fail(Error{kInvalidJobId, {}});
  if (request.uid() != job->uid && request.uid() != 0)
    return requester.fail(Error{request.viewer.sees(job->uid) ? kAccessDenied : kInvalidJobId, {}});
  if (wanted.key().size() != Steps::kKeyBytes)
    return requester.fail(Error{kInternal, "a step's key has 16 bytes"});
  request.client->steps[wanted.key()] = wanted.job_id();
  Steps::Report report;
  report.client = request.client.get();
  report.tell = [weak = std::weak_ptr<ConnectedClient>(request.client),
                 request_id = request.message.request_id(), key = wanted.key()](const api::StepEvent& event) {
    const auto self = weak.lock();
    if (!self) return;
    if (event.has_ended()) self->steps.erase(key);
    rpc::ServerMessage message;
    *message.mutable_step() = event;
    self->send(message, request_id, event.has_ended());
  };
  const Status created = core_.steps->create(wanted, std::move(request.descriptors),
                                             owner_of_peer(request.peer()), std::move(report));
  if (created) return;
  request.client->steps.erase(wanted.key());
  requester.fail(created.error());
}

void Dispatch::forget(const ConnectedClient& client) {
  for (const auto& [key, job_id] : client.steps) core_.steps->forget_report(job_id, key, &client);
  for (const uint32_t job : client.waits_for) core_.waiting->forget(job, &client);
}

}  // namespace minke::engine
