// tests/test_attack_work.py covers every other text.
#include "submit/text_limits.h"

#include <gtest/gtest.h>

#include "model/error.h"
#include "model/job_spec.pb.h"

namespace minke::submit {
namespace {

TEST(TextLimits, OrdinaryTextsPass) {
  model::JobSpec spec;
  spec.set_name(std::string(1024, 'x'));
  spec.set_work_dir("/" + std::string(4095, 'x'));
  spec.set_submit_line(std::string(100000, 'x'));
  EXPECT_TRUE(check_texts(spec));
}

TEST(TextLimits, TheOptionAndItsLimitAreTold) {
  model::JobSpec spec;
  spec.set_name(std::string(1025, 'x'));
  const Status refused = check_texts(spec);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "--job-name has 1025 bytes, at most 1024 are allowed");
  EXPECT_EQ(refused.error().code, model::kPathnameTooLong);
}

TEST(TextLimits, ListsHaveLimitsToo) {
  model::JobSpec spec;
  for (int i = 0; i < 2; ++i) spec.add_arguments(std::string(kMostLineBytes / 2, 'x'));
  EXPECT_FALSE(check_texts(spec));
  spec.Clear();
  spec.add_gres_per_node()->set_type(std::string(2000, 'x'));
  EXPECT_FALSE(check_texts(spec));
}

}  // namespace
}  // namespace minke::submit
