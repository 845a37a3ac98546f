// From a SubmitRequest to a job: checks what needs the cluster, and makes the job durable before anybody is
// told.
//
// Invariants: nothing of a refused submission remains; a job may start only once its submission is durable;
// the same key submits once, however often it comes. State's thread.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "engine/embedded/job.h"
#include "rpc/messages.pb.h"
#include "rpc/socket.h"

namespace minke::engine {

struct Core;

class Submitting {
 public:
  explicit Submitting(Core& core) : core_(core) {}
  using Reply = std::function<void(Result<rpc::SubmitReply>)>;
  void submit(const rpc::SubmitRequest& request, const rpc::Peer& peer, Reply reply);

 private:
  // Fills in what the user left to the configuration; the result is what is stored.
  Result<model::JobSpec> complete_spec(const model::JobSpec& given) const;
  Status check(const rpc::SubmitRequest& request, model::JobSpec& spec) const;
  Result<rpc::SubmitReply> test(const model::JobSpec& spec) const;
  void committed(uint32_t job_id, const std::string& key, Status outcome);

  Core& core_;
  std::unordered_map<std::string, std::vector<Reply>> in_flight_;  // by key
};

}  // namespace minke::engine
