// Requests that were carried out, by the keys that their senders chose, with what was answered: who asks
// again because the answer was lost with the daemon gets the same answer, and nothing is done twice.
//
// Durable, and in the same batch as what the request changed: so either both are known to the next daemon, or
// neither. A request for so many jobs that it takes several turns is noted with the last of them; the jobs
// that it changed before are changed again, to the same.
//
// A key is its sender's alone: the same key of another user is another key. What is kept is paid from the
// sender's budget stored_bytes, kept for an hour, and of each user no more than his latest 200 and 256 KiB; a
// command that asks again does so within a minute or two. State's thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "api/actions.pb.h"
#include "base/result.h"
#include "model/lasting_state.pb.h"

namespace minke::store {
class LoadedRows;
}  // namespace minke::store

namespace minke::engine {

struct Core;

class AnsweredRequests {
 public:
  explicit AnsweredRequests(Core& core) : core_(core) {}

  void restore(store::LoadedRows& rows);
  // What was answered; nothing: there is no key, or nothing has been done under it. Fails where it cannot be
  // a key.
  Result<std::optional<api::ActionReply>> find(const std::string& key, uint32_t uid) const;
  // Pays for keeping an answer, before anything is changed: who cannot pay is refused.
  Status pay(const std::string& key, uint32_t uid);
  // To be called in the burst that has changed what was asked for. Does nothing where there is no key, and
  // where the answer is so long that it costs more, which cannot be paid.
  void note(const std::string& key, uint32_t uid, const api::ActionReply& reply);

 private:
  struct OfUser {
    std::deque<model::AnsweredRequest> answers;  // the oldest first
    size_t bytes = 0;                            // of all of them
  };

  void add(model::AnsweredRequest row);
  static void forget(OfUser& user, const std::string& digits);
  void forget_old();

  Core& core_;
  std::map<uint32_t, OfUser> users_;
};

}  // namespace minke::engine
