#include "submit/update.h"

#include <gtest/gtest.h>

#include "base/version.h"
#include "model/error.h"
#include "model/job_spec.pb.h"
#include "model/job_terms.pb.h"
#include "text/array_spec.h"
#include "text/tres.h"

namespace minke::submit {
namespace {

constexpr int64_t kNow = 1795219987;

class Update : public ::testing::Test {
 protected:
  Update() {
    spec.set_time_limit_minutes(10);
    spec.set_name("x");
    *spec.mutable_array() = *text::parse_array_spec("1-3");
  }
  // Returns "" or the message.
  std::string update(std::string_view name, std::string_view value) {
    auto changed = apply_update(spec, name, value, kNow);
    return changed ? "" : changed.error().message;
  }
  model::JobSpec spec;
};

TEST_F(Update, TimeLimits) {
  EXPECT_EQ(apply_update(spec, "TimeLimit", "+5", kNow).value(), Updated::kTimeLimit);
  EXPECT_EQ(spec.time_limit_minutes(), 15u);
  EXPECT_EQ(update("timelim", "-3"), "");
  EXPECT_EQ(spec.time_limit_minutes(), 12u);
  EXPECT_EQ(update("TIMELIMIT", "1-0"), "");
  EXPECT_EQ(spec.time_limit_minutes(), 1440u);
  EXPECT_EQ(update("TimeLimit", "-1:00:00:00"), "Invalid TimeLimit value");
  EXPECT_EQ(update("TimeLimit", "x"), "Invalid TimeLimit value");
  EXPECT_EQ(update("TimeLimit", "-1500"), "TimeLimit decrement larger than current time limit (1500 > 1440)");
  EXPECT_EQ(spec.time_limit_minutes(), 1440u);
  EXPECT_EQ(update("TimeLimit", "UNLIMITED"), "");
  EXPECT_NE(update("TimeLimit", "+1"), "");
}

TEST_F(Update, NamesAndTheirShortForms) {
  EXPECT_EQ(update("Name", "foo"), "");
  EXPECT_EQ(update("jobn", "bar"), "");
  EXPECT_EQ(spec.name(), "bar");
  EXPECT_EQ(update("Nam", "n"), "");
  EXPECT_EQ(spec.name(), "n");
  EXPECT_EQ(update("Prio", "3"), "");
  EXPECT_EQ(spec.priority(), 3u);
  EXPECT_EQ(update("ReqNodes", "1"), "");
  // These are the fields of Slurm 22.05.
  for (const char* name : {"time", "tim", "t", "Numtas", "MinMemory", "foo", "JobState", "ExitCode",
                           "Command", "NtasksPerNode", ""}) {
    EXPECT_EQ(update(name, "5"), "Update of this parameter is not supported: " + std::string(name) + "=5");
  }
  EXPECT_EQ(apply_update(spec, "foo", "5", kNow).error().code, model::kNotSupported);
}

TEST_F(Update, Resources) {
  EXPECT_EQ(apply_update(spec, "NumNodes", "2-3", kNow).value(), Updated::kResources);
  EXPECT_EQ(spec.min_nodes(), 2u);
  EXPECT_EQ(spec.max_nodes(), 3u);
  EXPECT_EQ(update("NumNodes", "3-2"), model::slurm_error_text(model::kInvalidNodeCount));
  EXPECT_EQ(update("CPUsPerTask", "2"), "");
  EXPECT_EQ(update("NumCPUs", "5"), "");  // on two nodes
  EXPECT_FALSE(spec.has_ntasks());
  EXPECT_EQ(spec.min_cpus(), 3u);
  EXPECT_EQ(update("NumTasks", "4"), "");
  EXPECT_EQ(update("NumCPUs", "6"), "");
  EXPECT_EQ(spec.ntasks(), 3u);
  EXPECT_EQ(update("MinMemoryNode", "500"), "");
  EXPECT_EQ(update("MinMemoryCPU", "1G"), "");
  EXPECT_FALSE(spec.has_mem_per_node_mib());
  EXPECT_EQ(spec.mem_per_cpu_mib(), 1024u);
  EXPECT_EQ(update("MinMemoryCPU", "+5"), "");
  EXPECT_EQ(update("CPUsPerTask", "+3"), "");
  EXPECT_EQ(spec.mem_per_cpu_mib() * 10 + spec.cpus_per_task(), 53u);
  EXPECT_EQ(update("TimeMin", "5"), "");
  EXPECT_EQ(update("TimeMin", "-1"), model::slurm_error_text(model::kInvalidTimeMin));
  EXPECT_EQ(spec.time_min_minutes(), 5u);
  EXPECT_EQ(update("TimeMin", "0"), "");
  EXPECT_FALSE(spec.has_time_min_minutes());
  EXPECT_EQ(update("MinMemoryCPU", "x"), "Invalid MinMemoryCPU value: x");
  EXPECT_EQ(update("TresPerNode", "gres:gpu:1"), "");
  EXPECT_EQ(spec.gres_per_node_size(), 1);
  EXPECT_EQ(update("Gres", "gpu:+1"), "");  // a type, which no node has
  EXPECT_EQ(spec.gres_per_node(0).type(), "+1");
  EXPECT_EQ(update("Gres", ""), "");
  EXPECT_EQ(spec.gres_per_node_size(), 0);
  EXPECT_EQ(update("ReqNodeList", "n[1-2]"), "");
  EXPECT_EQ(update("ExcNodeList", "n[1-"), model::slurm_error_text(model::kInvalidNodeName));
  EXPECT_EQ(spec.node_list(), "n[1-2]");
  EXPECT_EQ(update("ReqNodeList", ""), "");
  EXPECT_EQ(spec.node_list(), "");
}

TEST_F(Update, DependenciesAndTimes) {
  EXPECT_EQ(apply_update(spec, "Dependency", "afterok:1?singleton", kNow).value(), Updated::kDependency);
  EXPECT_EQ(spec.dependencies_size(), 2);
  EXPECT_EQ(apply_update(spec, "Dependency", "x", kNow).error().code, model::kDependency);
  EXPECT_EQ(spec.dependencies_size(), 2);
  EXPECT_EQ(update("Dependency", ""), "");
  EXPECT_EQ(spec.dependencies_size(), 0);
  EXPECT_EQ(apply_update(spec, "StartTime", "now+1hour", kNow).value(), Updated::kBeginTime);
  EXPECT_EQ(spec.begin_time(), kNow + 3600);
  EXPECT_EQ(update("EligibleTime", "now"), "");
  EXPECT_EQ(spec.begin_time(), kNow);
  EXPECT_EQ(update("StartTime", "x"), "Invalid time specification (pos=0): x");
  EXPECT_EQ(update("Deadline", "now+1day"), "");
  EXPECT_EQ(spec.deadline(), kNow + 86400);
}

TEST_F(Update, Others) {
  EXPECT_EQ(apply_update(spec, "ArrayTaskThrottle", "2", kNow).value(), Updated::kArrayThrottle);
  EXPECT_EQ(spec.array().max_running(), 2u);
  EXPECT_NE(update("ArrayTaskThrottle", "x"), "");
  spec.clear_array();
  EXPECT_NE(update("ArrayTaskThrottle", "2"), "");
  EXPECT_EQ(update("Requeue", "0"), "");
  EXPECT_TRUE(spec.has_requeue() && !spec.requeue());
  EXPECT_EQ(update("Requeue", "2"), "");
  EXPECT_TRUE(spec.requeue());
  EXPECT_EQ(update("Requeue", ""), "");
  EXPECT_FALSE(spec.requeue());
  EXPECT_EQ(update("Requeue", "70000"), "Invalid Requeue value: 70000");
  EXPECT_EQ(update("Requeue", "x"), "Invalid Requeue value: x");
  EXPECT_EQ(update("MinMemoryNode", ""), "");
  EXPECT_EQ(spec.mem_per_node_mib(), 0u);
  EXPECT_EQ(apply_update(spec, "Nice", "-7", kNow).value(), Updated::kPriority);
  EXPECT_EQ(spec.nice(), -7);
  EXPECT_EQ(update("Nice", ""), "");
  EXPECT_EQ(spec.nice(), 100);
  EXPECT_EQ(update("MailType", "end"), "");
  EXPECT_EQ(spec.mail_type(), "END");
  EXPECT_EQ(update("MailType", "x"), "Invalid MailType: x");
  EXPECT_EQ(update("StdOut", "/tmp/x"), "");
  EXPECT_EQ(update("Comment", "hi there"), "");
  EXPECT_EQ(spec.stdout_path() + " " + spec.comment(), "/tmp/x hi there");
  EXPECT_EQ(update("OverSubscribe", "yes"), "");
  EXPECT_TRUE(spec.oversubscribe());
}

TEST_F(Update, SocketsCoresAndThreads) {
  EXPECT_EQ(apply_update(spec, "ReqSockets", "2", kNow).value(), Updated::kResources);
  EXPECT_EQ(update("ReqCores", "4"), "");
  EXPECT_EQ(update("reqthr", "1"), "");
  EXPECT_EQ(spec.sockets_per_node() * 100 + spec.cores_per_socket() * 10 + spec.threads_per_core(), 241u);
  EXPECT_EQ(update("ReqCores", "x"), "Invalid ReqCores value: x");
}

TEST_F(Update, Switches) {
  EXPECT_EQ(update("Switches", "2"), "");
  EXPECT_EQ(spec.switches() * 1000 + spec.switches_wait_seconds(), 2300u);
  EXPECT_EQ(update("wait-for-switch", "30"), "");
  EXPECT_EQ(update("switch", "3"), "");
  EXPECT_EQ(spec.switches() * 1000 + spec.switches_wait_seconds(), 3030u);
  EXPECT_EQ(update("Switches", "1@2"), "");
  EXPECT_EQ(spec.switches_wait_seconds(), 120u);
  EXPECT_EQ(update("Switches", "1@10"), "");  // no longer than Slurm's default
  EXPECT_EQ(spec.switches_wait_seconds(), 300u);
  for (const char* bad : {"", "x", "2@x", "@5"})
    EXPECT_EQ(update("Switches", bad), "Invalid Switches value: " + std::string(bad));
  EXPECT_EQ(update("Switches", "0"), "");
  EXPECT_FALSE(spec.has_switches());
}

TEST_F(Update, Gpus) {
  const auto list = [](const auto& gres) {
    return text::format_gres_list(std::vector<model::Gres>(gres.begin(), gres.end()));
  };
  spec.set_tres_per_job("gres:gpu");
  EXPECT_EQ(update("TresPerJob", "gres:gpu:2"), "");
  EXPECT_EQ(list(spec.gpus()) + spec.tres_per_job(), "gpu:2");
  EXPECT_EQ(update("TresPerTask", "gres/gpu:a100=1"), "");
  EXPECT_EQ(list(spec.gpus_per_task()), "gpu:a100:1");
  EXPECT_EQ(update("TresPerSocket", "gpu:1"), "");
  EXPECT_EQ(update("TresPerSocket", ""), "");
  EXPECT_EQ(list(spec.gpus_per_socket()), "");
  EXPECT_NE(update("TresPerJob", "fpga:1"), "");
  EXPECT_EQ(update("CpusPerTres", "gpu:3"), "");
  EXPECT_EQ(update("MemPerTres", "gpu:100"), "");
  EXPECT_EQ(spec.cpus_per_gpu() * 1000 + spec.mem_per_gpu_mib(), 3100u);
  spec.clear_mem_per_gpu_mib();
  spec.set_mem_per_node_mib(5);
  EXPECT_NE(update("MemPerTres", "gpu:100"), "");  // one memory for each job
  EXPECT_EQ(update("TresFreq", "gpu:low"), "");
  for (const char* wrong : {"gpu:closest", "gres/gpu:x", "x", "gres/gpu:single:", "gres/:closest"})
    EXPECT_NE(update("TresBind", wrong), "") << wrong;
  for (const char* fine : {"gres/gpu:single:2", "gres/gpu:verbose,map:0,1", "gres/gpu:closest"})
    EXPECT_EQ(update("TresBind", fine), "") << fine;
  EXPECT_EQ(spec.gpu_freq() + "," + spec.tres_bind(), "low,gres/gpu:closest");
}

TEST_F(Update, TheEndOfAJobThatRuns) {
  EXPECT_EQ(update("EndTime", "now+1hour"), "Job is not running");
  EXPECT_EQ(apply_update(spec, "EndTime", "now+1hour", kNow, kNow - 90).value(), Updated::kTimeLimit);
  EXPECT_EQ(spec.time_limit_minutes(), 62u);
}

TEST_F(Update, WordsThatBeginYesOrNo) {
  EXPECT_EQ(update("Requeue", "y"), "");
  EXPECT_TRUE(spec.requeue());
  EXPECT_EQ(update("Requeue", "N"), "");
  EXPECT_FALSE(spec.requeue());
  EXPECT_EQ(update("OverSubscribe", "1"), "");
  EXPECT_TRUE(spec.oversubscribe());
  EXPECT_EQ(update("OverSubscribe", "2"), "");
  EXPECT_EQ(spec.oversubscribe(), spoken_release() >= kSlurm26);
  EXPECT_EQ(update("OverSubscribe", "0"), "");
  EXPECT_TRUE(spec.has_oversubscribe() && !spec.oversubscribe());
  EXPECT_EQ(update("OverSubscribe", "user"), "Invalid OverSubscribe value: user");
  EXPECT_EQ(update("Contiguous", ""), "Invalid Contiguous value: ");
}

TEST_F(Update, WhatThereIsNot) {
  for (const char* name : {"BurstBuffer", "Reboot", "Clusters"})
    EXPECT_EQ(apply_update(spec, name, "1", kNow).error().code, model::kNotSupported) << name;
  for (const char* name : {"CoreSpec", "ThreadSpec"})
    EXPECT_EQ(apply_update(spec, name, "1", kNow).error().code, model::kAccessDenied) << name;
}

}  // namespace
}  // namespace minke::submit
