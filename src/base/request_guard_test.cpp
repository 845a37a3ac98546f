#include "base/request_guard.h"

#include <gtest/gtest.h>

#include "base/result.h"

namespace minke {
namespace {

TEST(RequestGuard, ACheckThatFailsBeforeAnythingIsChangedEndsTheRequestAlone) {
  const RequestGuard guard;
  EXPECT_THROW(MINKE_CHECK(1 > 2), CheckFailed);
  EXPECT_FALSE(RequestGuard::has_changed());
}

TEST(RequestGuardDeathTest, OtherwiseItEndsTheProgram) {
  EXPECT_DEATH(MINKE_CHECK(1 > 2), "1 > 2 does not hold");
  const auto change_and_fail = [] {
    const RequestGuard guard;
    RequestGuard::changing();
    MINKE_CHECK(2 > 3);
  };
  EXPECT_DEATH(change_and_fail(), "2 > 3 does not hold");
  { const RequestGuard guard; }
  RequestGuard::changing();
  EXPECT_DEATH(MINKE_CHECK(1 > 2), "does not hold");
}

}  // namespace
}  // namespace minke
