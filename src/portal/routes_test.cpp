#include "portal/routes.h"

#include <gtest/gtest.h>

#include <set>

namespace minke::portal {
namespace {

Match find(const std::string& method, const std::string& target, Request& request) {
  request.method = method;
  request.target = target;
  EXPECT_TRUE(read_target(request));
  return find_route(request);
}

TEST(Routes, StandOnceEachAndNameTheirParameters) {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const Route* route : all_routes()) {
    EXPECT_TRUE(seen.emplace(route->method, route->path).second) << route->path;
    EXPECT_FALSE(route->is.empty()) << route->path;
    for (const Parameter& parameter : route->parameters) {
      const bool in_path =
          route->path.find("{" + std::string(parameter.name) + "}") != std::string_view::npos;
      EXPECT_EQ(in_path, parameter.in == In::kPath) << route->path << " " << parameter.name;
      EXPECT_LE(parameter.least, parameter.most) << route->path << " " << parameter.name;
    }
    // Only the log-in is everybody's.
    EXPECT_EQ(route->who == Who::kAnyone,
              route->path == "/login" || route->path.starts_with("/login/") || route->path == "/api/v1/login")
        << route->path;
  }
}

TEST(Routes, AreFoundByMethodAndAddress) {
  Request request;
  const Match match = find("GET", "/slurm/v0.0.42/job/12", request);
  ASSERT_NE(match.route, nullptr);
  Values values;
  ASSERT_TRUE(read_parameters(match, request, values));
  EXPECT_EQ(values.number("version"), 42);
  EXPECT_EQ(values.text("job"), "12");
  for (const char* version : {"39", "46", "042", "4x", ""}) {
    Request other;
    EXPECT_EQ(find("GET", "/slurm/v0.0." + std::string(version) + "/jobs", other).route, nullptr) << version;
  }
  Request wrong;
  const Match other = find("PUT", "/slurm/v0.0.42/job/12", wrong);
  EXPECT_EQ(other.route, nullptr);
  EXPECT_EQ(other.allowed, "POST, GET, DELETE");
}

TEST(Parameters, KeepTheirBounds) {
  for (const char* query :
       {"limit=0", "limit=1001", "limit=x", "limit=", "sort=-", "nosuch=1", "limit=1&limit=1", "user="}) {
    Request request;
    const Match match = find("GET", "/api/v1/jobs?" + std::string(query), request);
    Values values;
    EXPECT_FALSE(read_parameters(match, request, values)) << query;
  }
  Request request;
  const Match match = find("POST", "/api/v1/jobs/12_3/limit", request);
  for (const char* body :
       {"", "{}", "[]", "{\"time_limit\": []}", "{\"time_limit\": \"1\", \"x\": 1}", "{"}) {
    request.body = body;
    Values values;
    EXPECT_FALSE(read_parameters(match, request, values)) << body;
  }
  request.body = R"({"time_limit": 90})";
  Values values;
  ASSERT_TRUE(read_parameters(match, request, values));
  EXPECT_EQ(values.text("time_limit"), "90");
}

}  // namespace
}  // namespace minke::portal
