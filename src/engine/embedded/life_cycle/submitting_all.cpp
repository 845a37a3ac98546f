// Several jobs of one request, all or none: the entries of a crontab.
#include <utility>

#include "engine/embedded/accounts/accounts.h"
#include "engine/embedded/core.h"
#include "engine/embedded/life_cycle/submitting.h"
#include "model/error.h"
#include "store/store.h"

namespace minke::engine {

using namespace model;

Result<uint32_t> Submitting::enter_one(const api::SubmitRequest& request, const rpc::Peer& peer,
                                       store::Batch& batch) {
  auto specs = specs_of(request);
  if (!specs) return failure(specs.error());
  Checked checked{request, peer, std::move(*specs), {}};
  if (const Status possible = check(request, checked.specs, peer.uid, checked.charges); !possible)
    return failure(possible.error());
  if (const Status room = has_room(checked); !room) return failure(room.error());
  ToStore to_store;
  const std::vector<uint32_t> ids = {core_.state.next_job_id()};
  Jobs jobs = as_jobs(checked, ids, to_store);
  if (const Status paid = pay_for(checked, to_store.new_bytes); !paid) return failure(paid.error());
  for (auto& content : to_store.batch.contents) batch.contents.push_back(std::move(content));
  enter(checked, ids, std::move(jobs), batch);
  return ids.front();
}

void Submitting::submit_all(const std::vector<api::SubmitRequest>& requests, const rpc::Peer& peer,
                            ReplyToAll reply) {
  store::Batch batch;
  std::vector<uint32_t> ids;
  for (const api::SubmitRequest& request : requests) {
    const auto id = enter_one(request, peer, batch);
    if (!id) {
      take_back(ids);
      return reply(tl::unexpected(Refused{ids.size(), id.error()}));
    }
    ids.push_back(*id);
  }
  core_.committer.submit(std::move(batch), [this, ids, reply = std::move(reply)](const Status& outcome) {
    if (!outcome) {
      take_back(ids);
      return reply(tl::unexpected(Refused{ids.size(), Error{kWritingToFile, outcome.error().message}}));
    }
    for (const uint32_t id : ids) core_.state.find(id)->committed = true;
    reply(ids);
    for (const uint32_t id : ids) let_go(*core_.state.find(id));
  });
}

}  // namespace minke::engine
