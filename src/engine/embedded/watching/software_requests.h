// SoftwareRequests: packages that users ask the administrators for, and what becomes of each.
//
// Invariants: who asks is whom the kernel says. A user sees only their own requests; operators see all, and
// answer them. A user has a bounded number of open requests, and of answered ones: the oldest answered one is
// forgotten for a new one. All users together have a bounded number. Texts are bounded, and clean: they end
// on other users' terminals. The same package asked for again is the same request. State's thread.
#pragma once

#include <cstdint>
#include <map>

#include "base/result.h"
#include "model/software_request.pb.h"

namespace minke::api {
class AnswerSoftwareRequest;
class RequestSoftwareRequest;
class SoftwareReply;
}  // namespace minke::api

namespace minke::store {
class LoadedRows;
}  // namespace minke::store

namespace minke::engine {

struct Core;

class SoftwareRequests {
 public:
  explicit SoftwareRequests(Core& core) : core_(core) {}

  void restore(store::LoadedRows& rows);

  // Returns the number of the request.
  Result<uint32_t> ask(const api::RequestSoftwareRequest& request, uint32_t uid);
  Status answer(const api::AnswerSoftwareRequest& answer, uint32_t uid);
  void query(uint32_t uid, api::SoftwareReply& reply) const;

 private:
  Status make_room(uint32_t uid);
  void keep(const model::SoftwareRequest& request);

  Core& core_;
  std::map<uint32_t, model::SoftwareRequest> requests_;
  uint32_t next_id_ = 1;
};

}  // namespace minke::engine
