#include "base/request_guard.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/result.h"

namespace minke {

namespace {

enum class Phase : char { kNoRequest, kChecking, kChanging };
thread_local Phase phase = Phase::kNoRequest;

}  // namespace

RequestGuard::RequestGuard() {
  MINKE_CHECK(phase == Phase::kNoRequest);
  phase = Phase::kChecking;
}

RequestGuard::~RequestGuard() {
  phase = Phase::kNoRequest;
}

void RequestGuard::changing() {
  if (phase == Phase::kChecking) phase = Phase::kChanging;
}

bool RequestGuard::has_changed() {
  return phase == Phase::kChanging;
}

void check_failed(const char* expression, const char* file, int line) {
  const std::string what =
      std::string(file) + ":" + std::to_string(line) + ": internal error: " + expression + " does not hold";
  if (phase == Phase::kChecking) throw CheckFailed(what);
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

}  // namespace minke
