// A connection that is passed on: what comes from one socket goes to the other, in both directions, until
// both have ended. Whoever has several waits for all of them with poll(). One thread.
#pragma once

#include <poll.h>

#include <array>
#include <cstddef>
#include <list>
#include <vector>

#include "os/fd.h"

namespace minke::helpers {

class RelayedConnection {
 public:
  RelayedConnection(os::UniqueFd a, os::UniqueFd b);
  RelayedConnection(const RelayedConnection&) = delete;
  RelayedConnection& operator=(const RelayedConnection&) = delete;

  // Adds two entries. Those that wait for nothing have no descriptor: a hang-up would be reported again and
  // again.
  void await(std::vector<pollfd>& polled) const;
  // After poll(), with its two entries. Returns false if it is over.
  bool move(const pollfd* polled);

 private:
  struct Stream {  // one direction
    int from, to;
    std::array<char, 16384> bytes;
    size_t begin = 0, end = 0;  // read and not written yet
    bool ended = false;         // nothing more comes
    bool closed = false;        // and that was passed on

    short wanted_of(int fd) const;
    bool move();
  };
  os::UniqueFd a_, b_;
  Stream out_, in_;
};

using RelayedConnections = std::list<RelayedConnection>;
void await_all(const RelayedConnections& connections, std::vector<pollfd>& polled);
// `at`: where await_all() began. Removes those that are over.
void move_all(RelayedConnections& connections, const std::vector<pollfd>& polled, size_t at);

}  // namespace minke::helpers
