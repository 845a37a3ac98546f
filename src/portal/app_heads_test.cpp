#include "portal/app_heads.h"

#include <gtest/gtest.h>

namespace minke::portal {
namespace {

const AppAddress kKept{"/apps/k", "https://apps.example.org", false, ""};
const AppAddress kStripped{"/apps/k", "https://apps.example.org", true, "Authorization: token s"};

std::string value_of(const HeadLines& lines, std::string_view name) {
  std::string all;
  for (const auto& [key, value] : lines)
    if (key == name) all += value + "|";
  return all;
}

Request asking(HeadLines headers) {
  Request request;
  request.headers = std::move(headers);
  return request;
}

TEST(AppHeads, AnApplicationDoesNotSeeThePortalsSecrets) {
  const HeadLines lines = app_request_lines(
      kKept,
      asking({{"host", "apps.example.org"},
              {"cookie", "minke-1234=s; _xsrf=a; __Host-minke=b; __Secure-minke-app=c; MINKE=d; other=e=f"},
              {"authorization", "Bearer t"},
              {"x-slurm-user-token", "t"},
              {"x-csrf-token", "t"},
              {"x-forwarded-for", "1.2.3.4"},
              {"connection", "keep-alive, x-secret"},
              {"x-secret", "1"},
              {"transfer-encoding", "chunked"},
              {"content-length", "5"},
              {"accept", "*/*"}}),
      false);
  EXPECT_EQ(value_of(lines, "cookie"), "_xsrf=a; other=e=f|");
  for (const char* gone : {"authorization", "x-slurm-user-token", "x-csrf-token", "x-forwarded-for",
                           "x-secret", "transfer-encoding", "content-length"})
    EXPECT_EQ(value_of(lines, gone), "") << gone;
  EXPECT_EQ(value_of(lines, "connection"), "close|");
  EXPECT_EQ(value_of(lines, "host"), "apps.example.org|");
  EXPECT_EQ(value_of(lines, "x-forwarded-proto"), "https|");
}

TEST(AppHeads, ItsOwnSecretTakesThePlaceOfWhatABrowserSays) {
  const HeadLines lines = app_request_lines(kStripped, asking({{"authorization", "token other"}}), true);
  EXPECT_EQ(value_of(lines, "authorization"), "token s|");
  EXPECT_EQ(value_of(lines, "connection") + value_of(lines, "upgrade"), "Upgrade|websocket|");
}

TEST(AppHeads, CookiesStayWithinTheAddress) {
  const auto set = [](const char* cookie) {
    return value_of(app_reply_lines(kKept, {{"Set-Cookie", cookie}}, false), "Set-Cookie");
  };
  EXPECT_EQ(set("a=1"), "a=1; Path=/apps/k/|");
  EXPECT_EQ(set("a=1; path=/; Domain=example.org; HttpOnly"), "a=1; HttpOnly; Path=/apps/k/|");
  EXPECT_EQ(set("a=1; Path=/apps/k/lab"), "a=1; Path=/apps/k/lab|");
  EXPECT_EQ(set("a=1; Path=/apps/other/"), "a=1; Path=/apps/k/|");
  EXPECT_EQ(set("a=1; Path=/apps/kk"), "a=1; Path=/apps/k/|");
  for (const char* refused : {"minke-1234=x", "Minke=x", "__Host-minke=x", "__Secure-minke-app=x",
                              "__host-other=x", "=minke=x", "minke", ""})
    EXPECT_EQ(set(refused), "") << refused;
}

TEST(AppHeads, AnApplicationDoesNotSpeakForTheOrigin) {
  const HeadLines lines = app_reply_lines(kKept,
                                          {{"Service-Worker-Allowed", "/"},
                                           {"Clear-Site-Data", "\"*\""},
                                           {"Strict-Transport-Security", "max-age=0"},
                                           {"X-Frame-Options", "ALLOWALL"},
                                           {"Content-Security-Policy", "default-src 'self'"},
                                           {"Connection", "X-Hop"},
                                           {"X-Hop", "1"},
                                           {"Content-Type", "text/html"}},
                                          false);
  for (const char* gone :
       {"Service-Worker-Allowed", "Clear-Site-Data", "Strict-Transport-Security", "X-Hop", "Connection"})
    EXPECT_EQ(value_of(lines, gone), "") << gone;
  EXPECT_EQ(value_of(lines, "Content-Security-Policy"), "default-src 'self'|frame-ancestors 'self'|");
  EXPECT_EQ(value_of(lines, "X-Frame-Options"), "SAMEORIGIN|");
}

TEST(AppHeads, AddressesAreThoseOfTheSession) {
  EXPECT_EQ(app_target(kKept, "/apps/k/lab?x=1"), "/apps/k/lab?x=1");
  EXPECT_EQ(app_target(kStripped, "/apps/k/lab?x=1"), "/lab?x=1");
  EXPECT_EQ(app_target(kStripped, "/apps/k"), "/");
  EXPECT_EQ(app_target(kStripped, "/apps/k?x"), "/?x");
  EXPECT_EQ(value_of(app_reply_lines(kStripped, {{"Location", "/login"}}, false), "Location"),
            "/apps/k/login|");
  EXPECT_EQ(value_of(app_reply_lines(kStripped, {{"Location", "//evil/x"}}, false), "Location"), "//evil/x|");
  for (const char* good : {"/apps/k", "/apps/k/", "/apps/k?a=..", "/apps/k/a%2Fb/..c", "/apps/k//x"})
    EXPECT_TRUE(is_app_target("/apps/k", good)) << good;
  for (const char* bad : {"/apps/kk", "/apps/k/../o", "/apps/k/%2e%2E/o", "/apps/k/.", "/apps/k/a b",
                          "/apps/k/\\x", "/apps", "/apps/k/\xc3\xa9"})
    EXPECT_FALSE(is_app_target("/apps/k", bad)) << bad;
}

}  // namespace
}  // namespace minke::portal
