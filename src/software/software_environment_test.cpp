#include "software/software_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "model/proxy.pb.h"
#include "os/files.h"

namespace minke::software {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class SoftwareEnvironmentTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/minke-software-XXXXXX";
    home_ = ::mkdtemp(name);
    ASSERT_TRUE(os::make_directories(home_ + "/software/init", 0700));
  }
  void TearDown() override { std::filesystem::remove_all(home_); }
  void write(const std::string& text) {
    ASSERT_TRUE(os::replace_file(home_ + "/software/init/job_environment", text, 0600));
  }
  std::string home_;
};

TEST_F(SoftwareEnvironmentTest, NothingWhereNothingIsSetUp) {
  SoftwareEnvironment software;
  software.load(home_);
  std::vector<std::string> variables;
  software.add_to(variables, "A=1");
  EXPECT_THAT(variables, IsEmpty());
  EXPECT_EQ(software.spooled("#!/bin/dash\nmodule load x\n"), "#!/bin/dash\nmodule load x\n");
}

TEST_F(SoftwareEnvironmentTest, TheUsersOwnIsKeptWhereItMayBe) {
  write("F%%=() { x=1; }\n?BASH_ENV=/m\n?OTHER=/n\n");
  SoftwareEnvironment software;
  software.load(home_);
  std::vector<std::string> variables;
  const std::string block("F%%=() { old; }\0OTHERS=1\0BASH_ENV=/own\0", 40);
  software.add_to(variables, block);
  EXPECT_THAT(variables, ElementsAre("F%%=() { x=1; }", "OTHER=/n"));
  variables.clear();
  software.add_to(variables, std::string("BASH_ENV=/usr/share/lmod/lmod/init/bash\0OTHER=\0", 47));
  EXPECT_THAT(variables, ElementsAre("F%%=() { x=1; }", "BASH_ENV=/m"));
}

TEST_F(SoftwareEnvironmentTest, WithoutModulesBashReadsWhatLoginShellsNeed) {
  ASSERT_TRUE(SoftwareEnvironment::write_login_shell_file(home_));
  SoftwareEnvironment software;
  software.load(home_);
  const std::string ours = "BASH_ENV=" + home_ + "/login-shell.sh";
  const auto added = [&](std::string block) {
    block.push_back('\0');
    std::vector<std::string> variables;
    software.add_to(variables, block);
    return variables;
  };
  EXPECT_THAT(added("A=1"), ElementsAre(ours));
  EXPECT_THAT(added("BASH_ENV=/another/home/login-shell.sh"), ElementsAre(ours));
  for (const char* own : {"BASH_ENV=/own", "BASH_ENV=/usr/share/lmod/lmod/init/bash"})
    EXPECT_THAT(added(own), IsEmpty());
  write("A=b\n?BASH_ENV=/m\n");
  software.load(home_);
  EXPECT_THAT(added("BASH_ENV=/another/home/login-shell.sh"), ElementsAre("A=b", "BASH_ENV=/m"));
}

TEST_F(SoftwareEnvironmentTest, OfflineJobsDoNotWaitForANetwork) {
  std::vector<std::string> variables;
  SoftwareEnvironment::add_offline(variables, std::string("A=1\0WANDB_MODE=disabled\0", 25), {});
  EXPECT_THAT(variables, testing::Contains("HF_HUB_OFFLINE=1"));
  EXPECT_THAT(variables, testing::Not(testing::Contains("WANDB_MODE=offline")));
  EXPECT_THAT(variables, testing::Not(testing::Contains(testing::HasSubstr("PROXY"))));
  variables.clear();
  SoftwareEnvironment::add_offline(variables, std::string("MINKE_OFFLINE=1\0", 16), {});
  EXPECT_THAT(variables, IsEmpty());
}

TEST_F(SoftwareEnvironmentTest, WhatTheProxyReachesNeedNotBeOffline) {
  model::ProxySettings proxy;
  proxy.set_port(3128);
  for (const char* host : {".Comet.com", "huggingface.co", ".andb.ai", "wandb.ai"}) proxy.add_allowed(host);
  std::vector<std::string> variables;
  SoftwareEnvironment::add_offline(variables, std::string("HF_HUB_OFFLINE=1\0", 17), proxy);
  EXPECT_THAT(variables, testing::Contains("WANDB_MODE=offline"));
  EXPECT_THAT(variables, testing::Contains("MINKE_HTTP_PROXY=http://127.0.0.1:3128"));
  EXPECT_THAT(variables,
              testing::Contains(
                  "MINKE_HTTP_PROXY_OPENS=COMET_START_ONLINE:HF_DATASETS_OFFLINE:TRANSFORMERS_OFFLINE"));
}

TEST_F(SoftwareEnvironmentTest, OnlyShellsThatNeedItHaveAnotherInterpreter) {
  write("A=b\n");
  SoftwareEnvironment software;
  software.load(home_);
  const std::string interpreter = "#!" + home_ + "/bin/minke script-shell ";
  EXPECT_EQ(software.spooled("#!/bin/dash -e\nmodule load x\n"),
            interpreter + "/bin/dash -e\nmodule load x\n");
  EXPECT_EQ(software.spooled("#! /usr/bin/tcsh\n ml x\n"), interpreter + "/usr/bin/tcsh\n ml x\n");
  for (const char* same :
       {"#!/bin/bash\nmodule load x\n", "#!/bin/dash\necho modules load\n", "#!/bin/dash\nmodule_x a\n",
        "#!/usr/bin/python3\nmodule load\n", "module load x", "#!", ""})
    EXPECT_EQ(software.spooled(same), same);
}

TEST_F(SoftwareEnvironmentTest, LoginShellsHaveAnotherInterpreter) {
  SoftwareEnvironment software;
  software.load(home_);  // without modules
  const std::string interpreter = "#!" + home_ + "/bin/minke script-shell ";
  for (const char* command :
       {"/bin/bash -l", "/bin/bash --login", "/usr/bin/bash -le", "/bin/sh -l", "/usr/bin/zsh -l",
        "/usr/bin/env -S bash -l", "/usr/bin/env -S bash -e --login"})
    EXPECT_EQ(software.spooled("#!" + std::string(command) + "\necho\n"), interpreter + command + "\necho\n");
  EXPECT_EQ(software.spooled("#! /bin/bash  -l \necho"), interpreter + "/bin/bash  -l\necho");
  EXPECT_EQ(software.spooled("#!/bin/bash\t-l\necho\t"), interpreter + "/bin/bash -l\necho\t");
  for (const char* same : {"#!/bin/bash\n", "#!/bin/bash -e\n", "#!/bin/csh -l\n", "#!/usr/bin/env bash\n",
                           "#!/usr/bin/perl -l\n", "#!/bin/bash -cl\n", "#!/bin/bash -e l\n", "#!\n"})
    EXPECT_EQ(software.spooled(same), same);
  const std::string far = "#!/" + std::string(250, 'x') + "/bash -l\n";
  EXPECT_EQ(software.spooled(far), far);
}

}  // namespace
}  // namespace minke::software
