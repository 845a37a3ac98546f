#include "portal/message.h"

#include <gtest/gtest.h>

namespace minke::portal {
namespace {

Request read(const std::string& target) {
  Request request;
  request.target = target;
  EXPECT_TRUE(read_target(request)) << target;
  return request;
}

TEST(Target, IsSplitAndDecoded) {
  const Request request = read("/api/v1/jobs?search=a%20b+c&x");
  EXPECT_EQ(request.segments, (std::vector<std::string>{"api", "v1", "jobs"}));
  EXPECT_EQ(request.query,
            (std::vector<std::pair<std::string, std::string>>{{"search", "a b c"}, {"x", ""}}));
  EXPECT_TRUE(read("/").segments.empty());
  EXPECT_EQ(read("/slurm/v0.0.45/jobs/").segments.back(), "jobs");
  EXPECT_EQ(read("/caf%C3%A9").segments.back(), "caf\xc3\xa9");
}

TEST(Target, ThatLeavesItsPlaceIsRefused) {
  for (const char* target : {"", "x", "//", "/a//b", "/.", "/..", "/a/../b", "/%2e%2e/x", "/a%2fb", "/a%5cb",
                             "/a\\b", "/%", "/%g0", "/%1", "/%00", "/%0a", "/a?b=%0d", "/a#b", "/a?%zz"}) {
    Request request;
    request.target = target;
    EXPECT_FALSE(read_target(request)) << target;
  }
}

TEST(Cookie, IsFoundByItsWholeName) {
  Request request;
  request.headers = {{"cookie", "other-minke=1; minke-1=two;minke-12=3"}};
  EXPECT_EQ(cookie_of(request, "minke-1"), "two");
  EXPECT_EQ(cookie_of(request, "minke"), "");
}

}  // namespace
}  // namespace minke::portal
