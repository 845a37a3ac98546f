// Desk: what all requests of a portal share. Any thread.
#pragma once

#include <sys/types.h>

#include <string>

#include "portal/queue.h"
#include "portal/remembered.h"

namespace minke::portal {

class Desk {
 public:
  Desk(std::string user, uid_t uid) : user_(std::move(user)), uid_(uid) {}

  const std::string& user() const { return user_; }  // who is asked for by "me"
  uid_t uid() const { return uid_; }
  Queue& queue() { return queue_; }
  Remembered& remembered() { return remembered_; }

 private:
  const std::string user_;
  const uid_t uid_;
  Queue queue_;
  Remembered remembered_;
};

}  // namespace minke::portal
