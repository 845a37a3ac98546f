#include "submit/defined_options.h"

#include <gtest/gtest.h>

namespace minke::submit {
namespace {

TEST(DefinedOptions, AreListedByNameWithWhatTheyMean) {
  Invocation invocation;
  invocation.command = Command::kSbatch;
  invocation.arguments = {"-v", "-t1", "--mem=2G", "--exclusive", "--wrap=true"};
  invocation.environment = {"SBATCH_PARTITION=long"};
  const auto line = read_command_line(invocation);
  ASSERT_TRUE(line);
  const auto request = make_job_request(invocation, *line);
  ASSERT_TRUE(request);
  const std::string dashes = "-------------------- --------------------";
  EXPECT_EQ(request->notes,
            (std::vector<std::string>{"defined options", dashes, "exclusive           : set",
                                      "mem                 : 2048", "partition           : long",
                                      "time                : 00:01:00", "verbose             : 1",
                                      "wrap                : true", dashes, "end of defined options"}));
}

TEST(DefinedOptions, AreListedOnlyWhereAsked) {
  Invocation invocation;
  invocation.command = Command::kSbatch;
  invocation.arguments = {"-t1", "--wrap=true"};
  EXPECT_TRUE(make_job_request(invocation, *read_command_line(invocation))->notes.empty());
  invocation.arguments = {"job.sh"};
  const ScriptFile script{"job.sh", "#!/bin/sh\n#SBATCH --verbose\n"};
  EXPECT_TRUE(make_job_request(invocation, *read_command_line(invocation), script)->notes.empty());
}

}  // namespace
}  // namespace minke::submit
