// Desk: what all requests of a portal share. Any thread.
#pragma once

#include <sys/types.h>

#include <string>

#include "portal/queue.h"
#include "portal/remembered.h"

namespace minke::portal {

class Desk {
 public:
  // `is_shared`: of a worker at a shared portal, which has not its user's own environment.
  Desk(std::string user, uid_t uid, bool is_shared = false)
      : user_(std::move(user)), uid_(uid), is_shared_(is_shared) {}

  const std::string& user() const { return user_; }  // who is asked for by "me"
  uid_t uid() const { return uid_; }
  bool is_shared() const { return is_shared_; }
  Queue& queue() { return queue_; }
  Remembered& remembered() { return remembered_; }

 private:
  const std::string user_;
  const uid_t uid_;
  const bool is_shared_;
  Queue queue_;
  Remembered remembered_;
};

}  // namespace minke::portal
