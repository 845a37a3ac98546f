#include "text/mail_type.h"

#include <gtest/gtest.h>

namespace minke::text {
namespace {

TEST(MailType, OneKindIsOneBit) {
  EXPECT_EQ(parse_mail_types("BEGIN"), kMailBegin);
  EXPECT_EQ(parse_mail_types("time_limit_80"), kMailLimit80);
  EXPECT_EQ(parse_mail_types("TIME_LIMIT"), kMailLimit);
  EXPECT_EQ(parse_mail_types(" END , fail "), kMailEnd | kMailFail);
}

TEST(MailType, AllIsWhatTheManualSays) {
  EXPECT_EQ(format_mail_types(parse_mail_types("ALL")), "INVALID_DEPEND,BEGIN,END,FAIL,REQUEUE,STAGE_OUT");
  EXPECT_EQ(format_mail_types(parse_mail_types("ALL,ARRAY_TASKS,TIME_LIMIT_50")),
            "ARRAY_TASKS,INVALID_DEPEND,BEGIN,END,FAIL,REQUEUE,STAGE_OUT,TIME_LIMIT_50");
}

TEST(MailType, NoneIsNoneWhateverElseIsAsked) {
  EXPECT_EQ(parse_mail_types("NONE"), 0);
  EXPECT_EQ(parse_mail_types("BEGIN,NONE,END"), 0);
  EXPECT_EQ(parse_mail_types(""), 0);
}

TEST(MailType, UnknownWordsAreLeftOut) {
  EXPECT_EQ(parse_mail_types("BEGIN,foo"), kMailBegin);
  EXPECT_TRUE(is_mail_type("none"));
  EXPECT_FALSE(is_mail_type("foo"));
  EXPECT_FALSE(is_mail_type(""));
}

}  // namespace
}  // namespace minke::text
