// What is told later: how a job goes on that a client waits for, and a step that it has begun.
#include <algorithm>
#include <memory>
#include <utility>

#include "api/jobs.pb.h"
#include "api/steps.pb.h"
#include "engine/embedded/core.h"
#include "engine/embedded/dispatch.h"
#include "engine/embedded/launching.h"
#include "engine/embedded/peer_owner.h"
#include "engine/embedded/prologs.h"
#include "engine/embedded/rights.h"
#include "engine/embedded/steps.h"
#include "engine/embedded/users.h"
#include "engine/embedded/waiting.h"
#include "environment/job_environment.h"
#include "model/error.h"
#include "rpc/messages.pb.h"

namespace minke::engine {

using namespace model;

void Dispatch::wait_job(const std::shared_ptr<ConnectedClient>& client, uint32_t request_id,
                        const api::WaitJobRequest& request, Ticket ticket) {
  const auto answer = [this, weak = std::weak_ptr<ConnectedClient>(client), request_id,
                       ticket = std::move(ticket)](const JobRecord& record, bool last) {
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
  if (job == nullptr && array == nullptr) return tell_end(client, request_id, request.job_id(), answer);
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

void Dispatch::tell_end(const std::shared_ptr<ConnectedClient>& client, uint32_t request_id, uint32_t job_id,
                        const std::function<void(const JobRecord& record, bool last)>& answer) {
  const auto stored = core_.store.job(job_id);
  if (!stored) return client->send_error(request_id, stored.error());
  if (!*stored) return client->send_error(request_id, Error{kInvalidJobId, {}});
  const JobRecord& record = (*stored)->record;
  if (!core_.rights->viewer(client->peer.uid).sees(record.uid()))
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
}

void Dispatch::create_step(const std::shared_ptr<ConnectedClient>& client, uint32_t request_id,
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
  report.tell = [weak = std::weak_ptr<ConnectedClient>(client), request_id,
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

void Dispatch::forget(const ConnectedClient& client) {
  for (const auto& [key, job_id] : client.steps) core_.steps->forget_report(job_id, key, &client);
  for (const uint32_t job : client.waits_for) core_.waiting->forget(job, &client);
}

}  // namespace minke::engine
