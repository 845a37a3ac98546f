#include "engine/slurm/shared_answers.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
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

TEST_F(SharedAnswersTest, ThoseOfThePollerDoUntilTheUserChangesSomething) {
  const std::string polled = directory_ + "/polled", own = directory_ + "/own";
  std::filesystem::create_directory(polled);
  std::filesystem::create_directory(own);
  const SharedAnswers poller = SharedAnswers::of_poller(polled), user(own, polled);
  ASSERT_TRUE(get(poller));
  EXPECT_TRUE(user.is_polled("jobs"));
  EXPECT_EQ(get(user), (std::vector<std::string>{"one", "answer 1"}));
  EXPECT_EQ(asked_, 1);
  user.forget("jobs");
  EXPECT_EQ(get(user), (std::vector<std::string>{"one", "answer 2"}));
  // Everybody may read it; what others may write is not believed, nor a failure.
  struct stat info {};
  ASSERT_EQ(::stat((polled + "/jobs").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0644u);
  ASSERT_EQ(::chmod((polled + "/jobs").c_str(), 0666), 0);
  EXPECT_FALSE(SharedAnswers(directory_, polled).is_polled("jobs"));
  ASSERT_EQ(::unlink((polled + "/jobs").c_str()), 0);
  problem_ = "slurmctld does not answer";
  EXPECT_FALSE(get(poller));
  problem_.clear();
  std::filesystem::remove_all(own);
  std::filesystem::create_directory(own);
  EXPECT_EQ(get(user), (std::vector<std::string>{"one", "answer 4"}));
}

TEST_F(SharedAnswersTest, ThePollerAsksAgainBeforeItsAnswersAreTooOld) {
  const SharedAnswers poller = SharedAnswers::of_poller(directory_);
  EXPECT_FALSE(poller.is_fresh("jobs"));
  ASSERT_TRUE(get(poller));
  EXPECT_TRUE(poller.is_fresh("jobs"));
  // As if four fifths of an hour had gone.
  std::ifstream in(directory_ + "/jobs");
  std::string name, version, asked, rest;
  in >> name >> version >> asked;
  std::getline(in, rest, '\0');
  std::ostringstream all;
  all << in.rdbuf();
  in.close();
  const std::string earlier = std::to_string(std::stoll(asked) - 48LL * 60 * 1000);
  std::ofstream(directory_ + "/jobs")
      << name << " " << version << " " << earlier << rest << '\0' << all.str();
  EXPECT_FALSE(poller.is_fresh("jobs"));
  EXPECT_EQ(get(SharedAnswers(directory_ + "/none", directory_)),
            (std::vector<std::string>{"one", "answer 1"}));
  EXPECT_EQ(get(poller), (std::vector<std::string>{"one", "answer 2"}));
}

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

TEST_F(SharedAnswersTest, OnAFullDiskEverybodyAsksForHimself) {
  const SharedAnswers answers(directory_);
  EXPECT_TRUE(answers.keeps());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handled = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit nothing{.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &nothing), 0);
  const auto first = get(answers), second = get(answers);
  const bool keeps = answers.keeps();
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handled);
  EXPECT_EQ(first, (std::vector<std::string>{"one", "answer 1"}));
  EXPECT_EQ(second, (std::vector<std::string>{"one", "answer 2"}));
  EXPECT_FALSE(keeps);
  EXPECT_EQ(get(answers), (std::vector<std::string>{"one", "answer 3"}));
  EXPECT_EQ(get(answers), (std::vector<std::string>{"one", "answer 3"}));
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
  const auto ending = error_of("scontrol", 1, "slurm_suspend error: Unexpected message received\n");
  EXPECT_EQ(ending.code, ECONNREFUSED);
  EXPECT_TRUE(ending.message.starts_with("slurmctld does not answer (scontrol: ")) << ending.message;
  EXPECT_EQ(error_of("sinfo", 3, "").message, "sinfo ended with exit code 3");
  EXPECT_EQ(
      error_of("sbatch", 1,
               "sbatch: error: Batch job submission failed: I/O error writing script/environment to file\n")
          .message,
      "slurmctld cannot write to the disk that has its state, which may be full (sbatch: I/O error "
      "writing script/environment to file)");
  const auto clock = error_of("squeue", 1, "slurm_load_jobs error: Protocol authentication error\n");
  EXPECT_EQ(clock.code, EACCES);
  EXPECT_NE(clock.message.find("a clock that is wrong"), std::string::npos) << clock.message;
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
