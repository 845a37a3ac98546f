#include "helpers/mail/compose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/mail.pb.h"

namespace minke::helpers {
namespace {

using testing::HasSubstr;

TEST(Compose, WhatWasBeyondTheLimitIsToldOnce) {
  MailContents mail;
  mail.message.set_event(model::MAIL_SUPPRESSED);
  mail.message.set_count(412);
  mail.message.set_to("me");
  mail.settings.set_domain("example.org");
  mail.settings.set_from("minke");
  mail.host = "here";
  EXPECT_EQ(mail_subject(mail), "Slurm: 412 messages about jobs were not sent");
  EXPECT_THAT(mail_body(mail), HasSubstr("412 messages about your jobs were not sent in the past hour"));
  const auto ready = compose_mail(mail);
  ASSERT_TRUE(ready);
  EXPECT_EQ(ready->to, std::vector<std::string>{"me@example.org"});
}

}  // namespace
}  // namespace minke::helpers
