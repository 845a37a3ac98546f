#include "submit/data_directives.h"

#include <gmock/gmock.h>

namespace minke::submit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(DataDirectives, stand_above_the_first_command) {
  const auto read = read_data_directives(
      "#!/bin/bash\n#SBATCH -t 1\n#MINKE stage=/data/a.tar stage=\"with space\"\n\n# text\n#MINKE "
      "collect=results\n"
      "echo\n#MINKE stage=late\n");
  ASSERT_TRUE(read);
  EXPECT_THAT(read->stage, ElementsAre("/data/a.tar", "with space"));
  EXPECT_THAT(read->collect, ElementsAre("results"));
}

TEST(DataDirectives, others_are_comments_or_refused) {
  EXPECT_TRUE(read_data_directives("#!/bin/sh\n#MINKEY stage\n# MINKE x\n")->empty());
  EXPECT_TRUE(read_data_directives("")->empty());
  for (const char* line :
       {"#MINKE stages=x", "#MINKE stage", "#MINKE collect=", "#MINKE word", "#MINKE stage=\"x"}) {
    const auto read = read_data_directives(std::string("#!/bin/sh\n") + line);
    ASSERT_FALSE(read) << line;
    EXPECT_THAT(read.error().message, HasSubstr("line 2")) << line;
  }
}

}  // namespace
}  // namespace minke::submit
