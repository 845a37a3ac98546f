#include "config/webhooks.h"

#include <gtest/gtest.h>

namespace minke::config {
namespace {

using Reach = WebhookRules::Reach;

WebhookRules rules_of(const std::vector<std::string>& words) {
  WebhookRules rules;
  for (const std::string& word : words) EXPECT_TRUE(add_webhook_rule(rules, word)) << word;
  return rules;
}

TEST(Webhooks, WhereTheyLead) {
  EXPECT_EQ(rules_of({}).reach, Reach::kNone);
  EXPECT_EQ(rules_of({"none"}).reach, Reach::kNone);
  EXPECT_EQ(rules_of({"public"}).reach, Reach::kPublic);
  EXPECT_EQ(rules_of({"any"}).reach, Reach::kAny);
  const WebhookRules hosts = rules_of({"Chat.example.org", ".ntfy.sh"});
  EXPECT_EQ(hosts.reach, Reach::kHosts);
  for (const char* in : {"chat.example.org", "ntfy.sh", "a.ntfy.sh", "a.b.ntfy.sh"})
    EXPECT_TRUE(admits_host(hosts, in)) << in;
  for (const char* out :
       {"example.org", "x.chat.example.org", "antfy.sh", "ntfy.sh.evil.org", "", "127.0.0.1"})
    EXPECT_FALSE(admits_host(hosts, out)) << out;
  EXPECT_FALSE(admits_host(rules_of({}), "example.org"));
  EXPECT_TRUE(admits_host(rules_of({"public"}), "example.org"));
}

TEST(Webhooks, WordsThatAreNone) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"https://example.org"},
                                             {""},
                                             {"a b"},
                                             {"a..b"},
                                             {"public", "example.org"},
                                             {"example.org", "any"}}) {
    WebhookRules rules;
    bool failed = false;
    for (const std::string& word : words) failed = failed || !add_webhook_rule(rules, word);
    EXPECT_TRUE(failed) << words.front();
  }
}

TEST(Webhooks, TheHostOfAnAddress) {
  EXPECT_EQ(*webhook_host("https://Hooks.example.org/services/T0/B0?x=1"), "hooks.example.org");
  EXPECT_EQ(*webhook_host("http://localhost:8080"), "localhost");
  EXPECT_EQ(*webhook_host("http://[::1]:80/"), "::1");
  for (const char* wrong :
       {"", "ftp://a/", "file:///etc/passwd", "https://", "https:///x", "http://a@b/", "http://a:b@c/",
        "http://a:x/", "http://a b/", "http://a\\@b/", "http://a\n/", "http://[::1/", "http://[x]/",
        "http://a..b/", "HTTP//a", "http://a:99999/", "javascript:alert(1)"})
    EXPECT_FALSE(webhook_host(wrong)) << wrong;
}

TEST(Webhooks, TheFileOfAUser) {
  EXPECT_EQ(*webhook_address("chat = \"https://a/b\"\nphone = 'https://ntfy.sh/x'\n", "phone"),
            "https://ntfy.sh/x");
  EXPECT_NE(webhook_address("chat = 5\n", "chat").error().message.find("has no chat = "), std::string::npos);
  EXPECT_NE(webhook_address("", "chat").error().message.find("has no chat = "), std::string::npos);
  EXPECT_NE(webhook_address("a = 1\nchat = \n", "chat").error().message.find("line 2"), std::string::npos);
}

}  // namespace
}  // namespace minke::config
