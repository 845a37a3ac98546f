#include "submit/dead_directives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace minke::submit {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(DeadDirectives, MisspeltOnesAreNamedWithWhatToWrite) {
  EXPECT_THAT(
      dead_directives("#!/bin/bash\n# SBATCH --time=5\n##SBATCH -n 2\n#sbatch --mem=1G\ntrue\n", "job.sh"),
      ElementsAre("warning: job.sh line 2: \"# SBATCH --time=5\" is a comment, without effect; write #SBATCH "
                  "--time=5",
                  HasSubstr("line 3: \"##SBATCH -n 2\""), HasSubstr("line 4: \"#sbatch --mem=1G\"")));
}

TEST(DeadDirectives, ThoseBelowTheFirstCommandAreNamed) {
  EXPECT_THAT(dead_directives("#!/bin/bash\n#SBATCH --time=5\n\ncd x\n#SBATCH --gpus=1\n", "job.sh"),
              ElementsAre(HasSubstr("line 5: \"#SBATCH --gpus=1\" has no effect below the first command")));
}

TEST(DeadDirectives, PlainCommentsAndHereDocumentsAreNone) {
  for (const std::string_view line :
       {"#   sbatch --array=0-9 job.sh", "# Submit with -t", "# SBATCH lines follow", "#---",
        "#SBATCH --time=5", "# to submit: sbatch --time=5 job.sh"})
    EXPECT_THAT(dead_directives("#!/bin/bash\n" + std::string(line) + "\ntrue\n", "job.sh"), IsEmpty())
        << line;
  EXPECT_THAT(
      dead_directives("#!/bin/bash\ncat > x.sh <<'EOF'\n#SBATCH --gpus=1\nEOF\necho <<< y\n", "job.sh"),
      IsEmpty());
  EXPECT_THAT(dead_directives("", "job.sh"), IsEmpty());
}

TEST(DeadDirectives, ThreeAreEnough) {
  std::string script = "#!/bin/sh\ntrue\n";
  for (int i = 0; i < 9; ++i) script += "#SBATCH --time=5\n";
  const auto warnings = dead_directives(script, "x");
  ASSERT_EQ(warnings.size(), 4u);
  EXPECT_EQ(warnings.back(), "warning: x has 6 more such lines");
}

}  // namespace
}  // namespace minke::submit
