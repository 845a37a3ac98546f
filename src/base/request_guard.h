// Handles a request that fails a MINKE_CHECK: a second line of defence behind the rule that none does.
//
// While a thread has a RequestGuard, and nothing has been changed for the request, a check that fails throws
// CheckFailed: nothing has happened, so the request is answered with an error, and the state is unchanged.
// Code that changes the state calls changing() first. From then on a check that fails ends the program, as
// everywhere else: the state may be half changed, and must not be committed. Nothing of it has been, so the
// next daemon has the state as it was.
//
// It belongs to the thread that makes it. Guards do not nest.
#pragma once

#include <stdexcept>

namespace minke {

class CheckFailed : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

class RequestGuard {
 public:
  RequestGuard();
  ~RequestGuard();
  RequestGuard(const RequestGuard&) = delete;
  RequestGuard& operator=(const RequestGuard&) = delete;

  // Marks that the state changes from here on. Does nothing without a guard.
  static void changing();
  static bool has_changed();  // since the guard was made
};

}  // namespace minke
