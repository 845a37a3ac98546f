#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "config/prologs.h"
#include "engine/embedded/launching/task_prologs.h"
#include "environment/prolog_environment.h"
#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"
#include "os/helper_program.h"

namespace minke::engine {
namespace {

using Paths = std::vector<std::string>;

TEST(PrologConfiguration, InSlurmsWords) {
  config::PrologConfiguration config;
  const auto set = [&](const char* name, const char* value) {
    return config::set_prolog_parameter(config, name, value, true);
  };
  EXPECT_TRUE(config::is_prolog_parameter("PROLOG") && config::is_prolog_parameter("srunepilog"));
  EXPECT_FALSE(config::is_prolog_parameter("ResvPrologue") || config::is_prolog_parameter("Prologue"));
  EXPECT_EQ(*set("prolog", "/a, /b/*"), true);
  EXPECT_EQ(*set("Prolog", "/c"), true);
  EXPECT_EQ(config.prolog, (Paths{"/a", "/b/*", "/c"}));
  EXPECT_EQ(config::prolog_parameter(config, "Prolog"), "/a,/b/*,/c");
  EXPECT_FALSE(set("Epilog", "relative"));
  EXPECT_FALSE(set("TaskProlog", "relative"));
  EXPECT_EQ(*set("TaskProlog", "/t"), true);
  EXPECT_EQ(*set("TaskProlog", "(null)"), true);
  EXPECT_EQ(config.task_prolog, "");
  EXPECT_EQ(*set("PrologFlags", "contain,SERIAL"), true);
  EXPECT_TRUE(config.at_allocation && config.one_at_a_time);
  EXPECT_EQ(config::prolog_parameter(config, "PrologFlags"), "Contain,Serial");
  EXPECT_EQ(*set("PrologFlags", "NoHold"), true);
  EXPECT_FALSE(config.at_allocation || config.one_at_a_time);
  EXPECT_FALSE(set("PrologFlags", "Allok"));
  EXPECT_EQ(config::prolog_parameter(config, "PrologEpilogTimeout"), "65534");
  EXPECT_EQ(*set("PrologEpilogTimeout", "30"), true);
  EXPECT_EQ(config::prolog_parameter(config, "PrologEpilogTimeout"), "30");
  EXPECT_FALSE(set("PrologEpilogTimeout", "soon"));
  EXPECT_FALSE(set("PrologEpilogTimeout", "65535"));
}

TEST(PrologConfiguration, WithoutWhatThisMachineLacks) {
  config::PrologConfiguration config;
  EXPECT_EQ(*config::set_prolog_parameter(config, "Prolog", "/bin/sh,/not/there", false), false);
  EXPECT_EQ(config.prolog, Paths{"/bin/sh"});
  EXPECT_EQ(*config::set_prolog_parameter(config, "Epilog", "/not/there/*", false), false);
  EXPECT_EQ(*config::set_prolog_parameter(config, "Epilog", "/bin/*.none", false), true);
  EXPECT_EQ(*config::set_prolog_parameter(config, "SrunProlog", "/not/there", false), false);
  EXPECT_TRUE(config::check_prologs(config, false));
  config.task_epilog = "/not/there";
  EXPECT_FALSE(config::check_prologs(config, true));
}

TEST(PrologEnvironment, HoldsWhatTheContextHas) {
  model::JobRecord record;
  record.set_job_id(7);
  record.set_array_job_id(5);
  record.set_array_task_id(3);
  record.set_user_name("ada");
  record.set_node_list("n[1-2]");
  record.set_exit_code(9);
  record.mutable_spec()->set_interactive(true);
  for (const char* name : {"n1", "n2"}) {
    auto& node = *record.add_nodes();
    node.set_node(name);
    node.set_cpus(2);
  }
  auto& gpus = *record.mutable_nodes(1)->add_gres();
  gpus.set_name("gpu");
  gpus.add_indices(1);
  gpus.add_indices(3);
  const environment::JobSurroundings around{
      .cluster_name = "c", .home = "/h", .config_path = "/etc/slurm.conf"};
  const auto has = [](const Paths& environment, const std::string& line) {
    return std::find(environment.begin(), environment.end(), line) != environment.end();
  };
  const auto named = [](const Paths& environment, const std::string& name) {
    return std::count_if(environment.begin(), environment.end(),
                         [&](const auto& line) { return line.starts_with(name + "="); });
  };
  const Paths before = environment::prolog_environment(record, around, environment::kProlog, "n2",
                                                       {{"CUDA_VISIBLE_DEVICES", "1,3"}});
  for (const char* line :
       {"SLURM_JOB_ID=7", "SLURM_ARRAY_TASK_ID=3", "SLURM_JOB_CPUS_PER_NODE=2(x2)", "SLURM_JOB_GPUS=1,3",
        "CUDA_VISIBLE_DEVICES=1,3", "SLURMD_NODENAME=n2", "SLURM_CONF=/etc/slurm.conf", "SLURM_JOB_USER=ada"})
    EXPECT_TRUE(has(before, line)) << line;
  EXPECT_EQ(named(before, "SLURM_JOB_EXIT_CODE") + named(before, "SLURM_JOB_STDOUT"), 0);
  const Paths after = environment::prolog_environment(record, around, environment::kEpilogSlurmctld, "", {});
  EXPECT_TRUE(has(after, "SLURM_JOB_EXIT_CODE=9") && has(after, "SLURM_JOB_EXIT_CODE2=0:9"));
  EXPECT_EQ(named(after, "SLURMD_NODENAME") + named(after, "SLURM_JOB_GPUS") + named(after, "SLURM_CONF"), 0);
  for (const Paths& one : {before, after})
    for (const std::string& line : one) EXPECT_EQ(named(one, line.substr(0, line.find('='))), 1) << line;
}

TEST(PrologEnvironment, IsBoundedWhateverTheJobSays) {
  const std::string much(size_t{1} << 20, 'x');
  model::JobRecord record;
  record.set_user_name("ada");
  model::JobSpec& spec = *record.mutable_spec();
  for (std::string* text :
       {spec.mutable_name(), spec.mutable_account(), spec.mutable_comment(), spec.mutable_constraint(),
        spec.mutable_licenses(), spec.mutable_qos(), spec.mutable_reservation(), spec.mutable_wckey()})
    *text = much;
  spec.set_work_dir("/" + much);
  spec.set_stdin_path("/" + much);
  spec.set_stdout_path("%x%x");
  spec.set_stderr_path("/err");
  size_t total = 0;
  for (const std::string& line :
       environment::prolog_environment(record, {}, environment::kProlog, "n1", {})) {
    EXPECT_LE(line.size(), environment::kMostPrologPath + 32) << line.substr(0, 32);
    EXPECT_FALSE(line.starts_with("SLURM_JOB_WORK_DIR=") || line.starts_with("SLURM_JOB_STDOUT="));
    total += line.size();
  }
  EXPECT_LE(total, size_t{32} << 10);
  spec.set_comment(std::string(environment::kMostPrologText - 1, 'x') + "\u00fc");
  const Paths cut = environment::prolog_environment(record, {}, environment::kProlog, "n1", {});
  EXPECT_EQ(std::count(cut.begin(), cut.end(),
                       "SLURM_JOB_COMMENT=" + std::string(environment::kMostPrologText - 1, 'x')),
            1);
}

TEST(TaskPrologs, NothingWhereNoneIsConfigured) {
  config::PrologConfiguration config;
  EXPECT_TRUE(task_prolog_words(config, true).empty());
  config.task_epilog = "/e";
  EXPECT_EQ(task_prolog_words(config, true),
            os::helper_command(os::Helper::kTask, {"--system=script", "--epilog=/e", "--"}));
}

}  // namespace
}  // namespace minke::engine
