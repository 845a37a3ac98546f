// What becomes of a request that fails a MINKE_CHECK: the second line behind the rule that none does.
//
// While there is a RequestGuard on a thread, and nothing has been changed for the request, a check that fails
// throws CheckFailed: nothing has happened, so the request is answered with an error, and the state is as it
// was. What changes the state says so first (changing()). From then on a check that fails ends the program,
// as everywhere else: the state may be half changed, and must not be committed. Nothing of it has been, so
// the next daemon has the state as it was.
//
// Of the thread that makes it. They do not nest.
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

  // The state changes from here on. Without a guard: nothing.
  static void changing();
  static bool has_changed();  // since the guard was made
};

}  // namespace minke
