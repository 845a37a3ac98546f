#include "text/mail_address.h"

#include <gtest/gtest.h>

namespace minke::text {
namespace {

TEST(MailAddress, OrdinaryOnesAreTaken) {
  for (const char* address : {"me", "me@example.org", "_svc", "first.last+list@mail.example.org", "a=b%c@h",
                              "x@127.0.0.1", "m1@a-b.c"})
    EXPECT_TRUE(is_mail_address(address)) << address;
}

TEST(MailAddress, WhatAProgramWouldActUponIsNone) {
  for (const char* address :
       {"",        "@",       "@example.org", "me@",         "-f",        "--help@x.org",
        "|/tmp/x", "/tmp/x",  "=/tmp/x",      "+/tmp/x",     "a/b",       "./x",
        "../x@h",  "me@/tmp", "me@-h",        "me@h-",       "me@h..org", "me@.h",
        "a..b",    "a.@h",    ".a",           "a b",         "a;b",       "a|b",
        "a&b",     "$(x)",    "`x`",          "a'b",         "a\"b",      "<a@b>",
        "a:b",     "a\\b",    "a\nb",         "a!b",         "~root",     "#x",
        "*",       "?",       "a@b@c",        "a@[1.2.3.4]", "\"|x\"@h",  "m\xc3\xbc@x.org",
        "%"})
    EXPECT_FALSE(is_mail_address(address)) << address;
  EXPECT_FALSE(is_mail_address(std::string("a\0b", 3)));
  EXPECT_FALSE(is_mail_address(std::string(65, 'a')));
  EXPECT_TRUE(is_mail_address(std::string(64, 'a')));
  EXPECT_FALSE(is_mail_address("a@" + std::string(64, 'b')));
  EXPECT_FALSE(is_mail_address("a@" + std::string(60, 'b') + "." + std::string(60, 'b') + "." +
                               std::string(60, 'b') + "." + std::string(60, 'b') + "." +
                               std::string(20, 'b')));
}

TEST(MailAddress, ListsAreBounded) {
  EXPECT_EQ(parse_mail_addresses(" a@b , c,,").value(), (std::vector<std::string>{"a@b", "c"}));
  EXPECT_FALSE(parse_mail_addresses(""));
  EXPECT_FALSE(parse_mail_addresses(" ,, "));
  EXPECT_FALSE(parse_mail_addresses("a,|b"));
  EXPECT_TRUE(parse_mail_addresses("1a,2a,3a,4a,5a,6a,7a,8a,9a,10a"));
  EXPECT_FALSE(parse_mail_addresses("1a,2a,3a,4a,5a,6a,7a,8a,9a,10a,11a"));
  EXPECT_EQ(parse_mail_addresses("\x1b[31m").error().message.find('\x1b'), std::string::npos);
}

TEST(MailAddress, WebHooksAreSentToApart) {
  EXPECT_EQ(webhook_name("chat@webhook"), "chat");
  for (const char* none :
       {"chat", "@webhook", "chat@webhook.org", "chat@webhooks", "a|b@webhook", "-f@webhook", ""})
    EXPECT_FALSE(webhook_name(none)) << none;
  using List = std::vector<std::string>;
  EXPECT_EQ(addresses_apart("me"), List{"me"});
  EXPECT_EQ(addresses_apart("me, you@x"), List{"me,you@x"});
  EXPECT_EQ(addresses_apart("a@webhook,me,b@webhook,you"), (List{"me,you", "a@webhook", "b@webhook"}));
  EXPECT_EQ(addresses_apart("a@command,me,b@webhook"), (List{"me", "a@command", "b@webhook"}));
  EXPECT_EQ(command_name("phone@command"), "phone");
  for (const char* none : {"phone@webhook", "@command", "a|b@command", "../x@command", "x@command.org", ""})
    EXPECT_FALSE(command_name(none)) << none;
  EXPECT_EQ(addresses_apart("a@webhook,b@webhook"), (List{"a@webhook", "b@webhook"}));
  EXPECT_EQ(addresses_apart("|x,a@webhook"), List{"|x,a@webhook"});
}

TEST(MailAddress, AJobIsRefusedForWhatCouldDoHarmAlone) {
  for (const char* text : {"", "me@example.org", "a,b@c", "<Your Email>", "<your_email>", "$USER@example.org",
                           "m\xc3\xbc@x.org", "me@x, you@y", "(me)"})
    EXPECT_TRUE(check_mail_user(text)) << text;
  for (const char* text :
       {"|/tmp/x",       "| x",  "me,|x", "me, |x", "/tmp/x", "=/tmp/x", "=x",  "+x",   "-f",
        "a,-f",          "~x",   "./x",   "a/b",    "a|b",    "a;b",     "`x`", "a\\b", "a\nb",
        "a\r\nBcc: c@d", "a\tb", "!x",    "#x"})
    EXPECT_FALSE(check_mail_user(text)) << text;
  EXPECT_FALSE(check_mail_user(std::string("a\0b", 3)));
  EXPECT_FALSE(check_mail_user(std::string(1025, 'a')));
}

}  // namespace
}  // namespace minke::text
