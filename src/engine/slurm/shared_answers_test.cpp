#include "engine/slurm/shared_answers.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "engine/slurm/programs.h"
#include "model/error.h"
#include "store/testing.h"

namespace minke::engine::slurm {
namespace {

using namespace std::chrono_literals;

class SharedAnswersTest : public testing::Test {
 protected:
  SharedAnswers::Question question(std::chrono::milliseconds period) {
    return {.kind = "jobs",
            .ask = [this](const SharedAnswers::TakePart& give) -> Status {
              ++asked_;
              // For who counts from another process.
              std::ofstream(directory_ + "/count", std::ios::app) << "x";
              if (!problem_.empty()) return failure(problem_, ECONNREFUSED);
              if (const Status given = give("one"); !given) return given;
              return give("answer " + std::to_string(asked_));
            },
            .period = [period] { return period; }};
  }
  Result<std::vector<std::string>> get(const SharedAnswers& answers, std::chrono::milliseconds period = 1h,
                                       std::chrono::milliseconds newest = std::chrono::milliseconds::max()) {
    std::vector<std::string> parts;
    const auto got = answers.get(
        question(period),
        [&](std::string_view part) -> Status {
          parts.emplace_back(part);
          return {};
        },
        newest);
    if (!got) return failure(got.error());
    return parts;
  }

  const store::testing::TemporaryDirectory temporary_;
  const std::string directory_ = temporary_.path();
  std::string problem_;
  int asked_ = 0;
};

TEST_F(SharedAnswersTest, OneIsAskedForOnceInItsPeriod) {
  const SharedAnswers one(directory_), two(directory_);
  const std::vector<std::string> expected = {"one", "answer 1"};
  for (int i = 0; i < 100; ++i) EXPECT_EQ(get(i % 2 == 0 ? one : two), expected);
  EXPECT_EQ(asked_, 1);
}

TEST_F(SharedAnswersTest, ManyProcessesAtOnceAskOnce) {
  std::vector<pid_t> children;
  for (int i = 0; i < 20; ++i) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(get(SharedAnswers(directory_)) ? 0 : 1);
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(std::filesystem::file_size(directory_ + "/count"), 1u);
}

TEST_F(SharedAnswersTest, OneThatIsTooOldOrForgottenIsAskedForAgain) {
  const SharedAnswers answers(directory_);
  ASSERT_TRUE(get(answers));
  answers.forget("jobs");
  ASSERT_TRUE(get(answers));
  EXPECT_EQ(asked_, 2);
  ASSERT_TRUE(get(answers, 1h, -1ms));
  EXPECT_EQ(asked_, 3);
}

TEST_F(SharedAnswersTest, AFailureIsKeptForAMoment) {
  const SharedAnswers answers(directory_);
  problem_ = "slurmctld does not answer";
  EXPECT_EQ(get(answers).error().code, ECONNREFUSED);
  const auto again = get(answers);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().message, problem_);
  EXPECT_EQ(again.error().code, ECONNREFUSED);
  EXPECT_EQ(asked_, 1);
}

TEST_F(SharedAnswersTest, NobodyElseCanReadThem) {
  ASSERT_TRUE(get(SharedAnswers(directory_)));
  struct stat info {};
  ASSERT_EQ(::stat((directory_ + "/jobs").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(SharedAnswersTest, WhatIsBrokenOrAnothersIsAskedForAnew) {
  const SharedAnswers answers(directory_);
  std::ofstream(directory_ + "/jobs") << "minke-answer 0.0.0 99999999999999 99999999999999 -1\nrubbish";
  ASSERT_TRUE(get(answers));
  EXPECT_EQ(asked_, 1);
  std::filesystem::remove(directory_ + "/jobs");
  std::filesystem::create_symlink("/etc/passwd", directory_ + "/jobs");
  ASSERT_TRUE(get(answers));
  EXPECT_EQ(asked_, 2);
}

TEST_F(SharedAnswersTest, WithoutADirectoryEverybodyAsksForHimself) {
  const SharedAnswers answers("");
  ASSERT_TRUE(get(answers));
  ASSERT_TRUE(get(answers));
  EXPECT_EQ(asked_, 2);
}

TEST_F(SharedAnswersTest, TheirDirectoryIsNobodyElses) {
  ::setenv("XDG_RUNTIME_DIR", directory_.c_str(), 1);
  const std::string made = answers_directory("/etc/slurm/slurm.conf");
  EXPECT_TRUE(made.starts_with(directory_ + "/minke-slurm/"));
  EXPECT_NE(made, answers_directory("/opt/slurm/slurm.conf"));
  ASSERT_EQ(::chmod((directory_ + "/minke-slurm").c_str(), 0777), 0);
  ::setenv("HOME", directory_.c_str(), 1);
  EXPECT_TRUE(answers_directory("/etc/slurm/slurm.conf").starts_with(directory_ + "/.cache/"));
  ::unsetenv("XDG_RUNTIME_DIR");
}

// What real ones said when a daemon was gone.
TEST(SlurmErrors, NameWhoDoesNotAnswer) {
  const auto squeue =
      error_of("squeue", 1, "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n");
  EXPECT_EQ(squeue.code, ECONNREFUSED);
  EXPECT_EQ(squeue.message,
            "slurmctld does not answer (squeue: Unable to contact slurm controller (connect failure))");
  const auto sacct = error_of("sacct", 1,
                              "sacct: error: slurm_persist_conn_open_without_init: failed to open persistent "
                              "connection to host:localhost:6819: Connection refused\n"
                              "sacct: error: Sending PersistInit msg: Connection refused\n"
                              "sacct: error: Problem talking to the database: Connection refused\n");
  EXPECT_EQ(sacct.code, ECONNREFUSED);
  EXPECT_NE(sacct.message.find("slurmdbd"), std::string::npos) << sacct.message;
  EXPECT_EQ(
      error_of("scancel", 1, "scancel: error: Kill job error on job id 7: Invalid job id specified\n").code,
      model::kInvalidJobId);
  EXPECT_EQ(error_of("scontrol", 1, "Access/permission denied for job 7\n").message,
            "scontrol: Access/permission denied for job 7");
  EXPECT_EQ(error_of("sinfo", 3, "").message, "sinfo ended with exit code 3");
}

TEST(SlurmMarks, AreNeverTheSame) {
  EXPECT_NE(unguessed_mark(), unguessed_mark());
  EXPECT_EQ(unguessed_mark().size(), 16u);
}

TEST(SlurmPrograms, SayWhereTheyLookForWhatIsNotThere) {
  const Programs programs({.directory = "/nowhere", .cluster = "", .found_by = ""});
  const auto said = programs.text({"squeue"});
  ASSERT_FALSE(said);
  EXPECT_NE(said.error().message.find("/nowhere"), std::string::npos);
}

}  // namespace
}  // namespace minke::engine::slurm
