#include "cli/scontrol/show.h"

#include <gtest/gtest.h>

#include "api/field.pb.h"
#include "api/machine.pb.h"
#include "model/cluster.pb.h"
#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"
#include "model/job_state.pb.h"
#include "model/job_terms.pb.h"
#include "model/step_record.pb.h"
#include "view/test_records.h"
#include "view/text.h"

namespace minke::cli {
namespace {

namespace test = view::test;
using view::test::at;

class ScontrolShow : public testing::Test {
 protected:
  void SetUp() override { test::use_utc(); }
  view::DisplayContext context_ = test::context_at(0, 33, 3);

  std::string block(const model::JobRecord& job, view::ShowOptions options = {},
                    const uint32_t* task = nullptr) {
    std::string out;
    append_job_block(out, job, task, context_, options);
    return out;
  }
  static model::JobRecord training() {
    model::JobRecord job = test::job(65, "train_resnet50_big", model::JOB_RUNNING);
    job.set_priority(4294901711);
    job.set_time_limit_minutes(120);
    job.set_submit_time(at(0, 33, 0));
    job.set_eligible_time(at(0, 33, 0));
    job.set_num_nodes(2);
    job.set_num_cpus(4);
    job.set_num_tasks(4);
    job.set_memory_mib(2048);
    job.set_start_time(at(0, 33, 2));
    job.set_node_list("n[1-2]");
    job.set_batch_host("n1");
    for (const char* name : {"n1", "n2"}) {
      model::NodeAllocation& node = *job.add_nodes();
      node.set_node(name);
      node.set_cpus(2);
      node.set_memory_mib(1024);
      model::GresAllocation& gres = *node.add_gres();
      gres.set_name("gpu");
      gres.set_type("a100");
      gres.add_indices(0);
    }
    model::JobSpec& spec = *job.mutable_spec();
    spec.set_ntasks_per_node(2);
    spec.set_mem_per_node_mib(1024);
    spec.set_command("/tmp/realslurm/w/train.sh");
    spec.add_arguments("train.sh");
    spec.set_comment("a comment");
    test::add_gres(*spec.mutable_gres_per_node(), "a100", 1);
    return job;
  }
};

TEST_F(ScontrolShow, RunningJob) {
  EXPECT_EQ(block(training()),
            "JobId=65 JobName=train_resnet50_big\n"
            "   UserId=root(0) GroupId=root(0) MCS_label=N/A\n"
            "   Priority=4294901711 Nice=0 Account=(null) QOS=(null)\n"
            "   JobState=RUNNING Reason=None Dependency=(null)\n"
            "   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0\n"
            "   RunTime=00:00:01 TimeLimit=02:00:00 TimeMin=N/A\n"
            "   SubmitTime=2026-11-21T00:33:00 EligibleTime=2026-11-21T00:33:00\n"
            "   AccrueTime=2026-11-21T00:33:00\n"
            "   StartTime=2026-11-21T00:33:02 EndTime=2026-11-21T02:33:02 Deadline=N/A\n"
            "   SuspendTime=None SecsPreSuspend=0 LastSchedEval=Unknown Scheduler=Main\n"
            "   Partition=main AllocNode:Sid=localhost:0\n"
            "   ReqNodeList=(null) ExcNodeList=(null)\n"
            "   NodeList=n[1-2]\n"
            "   BatchHost=n1\n"
            "   NumNodes=2 NumCPUs=4 NumTasks=4 CPUs/Task=1 ReqB:S:C:T=0:0:*:*\n"
            "   TRES=cpu=4,mem=2G,node=2,billing=4\n"
            "   Socks/Node=* NtasksPerN:B:S:C=2:0:*:* CoreSpec=*\n"
            "   MinCPUsNode=2 MinMemoryNode=1G MinTmpDiskNode=0\n"
            "   Features=(null) DelayBoot=00:00:00\n"
            "   OverSubscribe=OK Contiguous=0 Licenses=(null) Network=(null)\n"
            "   Command=/tmp/realslurm/w/train.sh\n"
            "   WorkDir=/tmp/realslurm/w\n"
            "   Comment=a comment \n"
            "   StdErr=/tmp/realslurm/w/slurm-65.out\n"
            "   StdIn=/dev/null\n"
            "   StdOut=/tmp/realslurm/w/slurm-65.out\n"
            "   Power=\n"
            "   TresPerNode=gres:gpu:a100:1\n"
            "   \n\n");
}

TEST_F(ScontrolShow, CurrentReleasesHaveFieldsOfTheirOwn) {
  model::JobRecord job = training();
  job.mutable_spec()->set_submit_line("sbatch train.sh");
  context_.release = kSlurm24;
  const std::string older = block(job);
  EXPECT_NE(
      older.find("\n   ReqTRES=cpu=4,mem=2G,node=2,billing=4\n   AllocTRES=cpu=4,mem=2G,node=2,billing=4\n"),
      std::string::npos)
      << older;
  EXPECT_NE(older.find("\n   TresPerNode=gres/gpu:a100:1\n   \n\n"), std::string::npos) << older;
  EXPECT_EQ(older.find("Power="), std::string::npos);
  context_.release = kSlurm26;
  const std::string newest = block(job);
  EXPECT_NE(
      newest.find(
          "OverSubscribe=NO Exclusive=NO Contiguous=0 Licenses=(null) LicensesAlloc=(null) Network=(null)\n"),
      std::string::npos)
      << newest;
  EXPECT_NE(newest.find("\n   SubmitLine=sbatch train.sh\n"), std::string::npos) << newest;
  EXPECT_NE(newest.find("\n   Comment=a comment\n   StdErr=\n"), std::string::npos) << newest;
  EXPECT_TRUE(newest.ends_with("\n   TresPerNode=gres/gpu:a100:1\n\n")) << newest;
}

TEST_F(ScontrolShow, TheNewestReleaseTellsSegmentsAndWhatMemoryIsGivenBack) {
  model::JobRecord job = training();
  job.mutable_spec()->set_mem_update("20@5");
  job.mutable_spec()->set_spread_segments(true);
  job.mutable_spec()->set_consolidate_segments(true);
  context_.release = kSlurm26;
  EXPECT_EQ(block(job).find("Segment"), std::string::npos);
  EXPECT_NE(block(job).find(" MinTmpDiskNode=0 MemUpdate=20%@5min\n"), std::string::npos);
  job.mutable_spec()->set_segment_size(2);
  EXPECT_NE(block(job).find("\n   SegmentSize=2 SpreadSegments=Yes ConsolidateSegments=Yes\n"),
            std::string::npos);
  context_.release = kSlurm24;
  EXPECT_EQ(block(job).find("Segment"), std::string::npos);
  EXPECT_EQ(block(job).find("MemUpdate"), std::string::npos);
}

TEST_F(ScontrolShow, CurrentReleasesTellTheMostNodesOfWaitingJobs) {
  model::JobRecord job = test::job(49, "wide", model::JOB_PENDING);
  job.mutable_spec()->set_ntasks(4);
  const auto nodes = [&](int release) {
    context_.release = release;
    const std::string text = block(job);
    const size_t at = text.find("NumNodes=");
    return text.substr(at, text.find(' ', at) - at);
  };
  EXPECT_EQ(nodes(kSlurm22), "NumNodes=1");
  EXPECT_EQ(nodes(kSlurm24), "NumNodes=1-1");
  EXPECT_EQ(nodes(kSlurm26), "NumNodes=1-4");
  job.mutable_spec()->set_cpus_per_task(2);
  EXPECT_EQ(nodes(kSlurm24), "NumNodes=1");
}

TEST_F(ScontrolShow, DetailsTellNodesThatHoldTheSameTogether) {
  std::string text = block(training(), {.one_line = false, .details = true});
  EXPECT_NE(text.find("ExitCode=0:0\n   DerivedExitCode=0:0\n   RunTime="), std::string::npos);
  EXPECT_NE(text.find("     Nodes=n[1-2] CPU_IDs=N/A Mem=1024 GRES=gpu:a100:1(IDX:0)\n   MinCPUsNode="),
            std::string::npos)
      << text;
}

TEST_F(ScontrolShow, WaitingArrayOnOneLine) {
  model::JobRecord job = test::job(49, "arrh", model::JOB_PENDING, model::WAIT_HELD_USER);
  job.set_submit_time(at(0, 29, 52));
  job.set_array_job_id(49);
  for (uint32_t index : {1, 3, 5, 7, 9, 11, 20}) test::add_range(*job.mutable_array_pending(), index, index);
  test::add_range(*job.mutable_array_pending(), 22, 30);
  EXPECT_EQ(
      block(job, {.one_line = true, .details = false}),
      "JobId=49 ArrayJobId=49 ArrayTaskId=1,3,5,7,9,11,20,22-30 JobName=arrh UserId=root(0) GroupId=root(0) "
      "MCS_label=N/A Priority=0 Nice=0 Account=(null) QOS=(null) JobState=PENDING Reason=JobHeldUser "
      "Dependency=(null) Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0 RunTime=00:00:00 "
      "TimeLimit=01:00:00 TimeMin=N/A SubmitTime=2026-11-21T00:29:52 EligibleTime=Unknown AccrueTime=Unknown "
      "StartTime=Unknown EndTime=Unknown Deadline=N/A SuspendTime=None SecsPreSuspend=0 "
      "LastSchedEval=Unknown "
      "Scheduler=Main Partition=main AllocNode:Sid=localhost:0 ReqNodeList=(null) ExcNodeList=(null) "
      "NodeList= "
      "NumNodes=1 NumCPUs=1 NumTasks=1 CPUs/Task=1 ReqB:S:C:T=0:0:*:* TRES=cpu=1,mem=256M,node=1,billing=1 "
      "Socks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=* MinCPUsNode=1 MinMemoryCPU=256M MinTmpDiskNode=0 "
      "Features=(null) DelayBoot=00:00:00 OverSubscribe=OK Contiguous=0 Licenses=(null) Network=(null) "
      "Command=(null) WorkDir=/tmp/realslurm/w StdErr=/tmp/realslurm/w/slurm-49.out StdIn=/dev/null "
      "StdOut=/tmp/realslurm/w/slurm-49.out Power= \n");
}

TEST_F(ScontrolShow, OneWaitingTaskHasItsOwnFiles) {
  model::JobRecord job = test::job(49, "arrh", model::JOB_PENDING, model::WAIT_HELD_USER);
  job.set_array_job_id(49);
  test::add_range(*job.mutable_spec()->mutable_array(), 1, 9);
  test::add_range(*job.mutable_array_pending(), 1, 9);
  uint32_t task = 3;
  std::string text = block(job, {}, &task);
  EXPECT_NE(text.find("ArrayTaskId=3 "), std::string::npos);
  EXPECT_NE(text.find("StdOut=/tmp/realslurm/w/slurm-49_3.out\n"), std::string::npos) << text;
}

TEST_F(ScontrolShow, RequestsOfAWaitingJob) {
  model::JobRecord job = test::job(85, "wrap", model::JOB_PENDING, model::WAIT_HELD_USER);
  job.set_num_nodes(1);
  model::JobSpec& spec = *job.mutable_spec();
  spec.set_min_nodes(1);
  spec.set_max_nodes(2);
  spec.set_cpus_per_gpu(1);
  spec.set_mem_per_gpu_mib(100);
  spec.set_mail_user("x");
  spec.set_mail_type("END,FAIL");
  spec.set_exclusive(true);
  spec.set_time_min_minutes(5);
  spec.set_ntasks_per_socket(2);
  spec.set_tmp_mib(2048);
  test::add_gres(*spec.mutable_gpus_per_task(), "", 1);
  std::string text = block(job);
  EXPECT_NE(text.find("   NumNodes=1-2 NumCPUs=1 "), std::string::npos);
  EXPECT_NE(text.find(" TimeMin=00:05:00\n"), std::string::npos);
  EXPECT_NE(text.find("NtasksPerN:B:S:C=0:0:2:* "), std::string::npos);
  EXPECT_NE(text.find(" MinTmpDiskNode=2G\n"), std::string::npos);
  EXPECT_NE(text.find("   OverSubscribe=NO "), std::string::npos);
  EXPECT_NE(
      text.find(
          "   Power=\n   CpusPerTres=gres:gpu:1\n   MemPerTres=gres:gpu:100\n   TresPerTask=gres:gpu:1\n"
          "   MailUser=x MailType=END,FAIL\n   \n\n"),
      std::string::npos)
      << text;
}

TEST_F(ScontrolShow, Node) {
  model::NodeRecord node = test::node("n2", true);
  node.set_state(model::NODE_DRAIN);
  node.set_allocated_cpus(2);
  node.set_allocated_memory_mib(512);
  node.set_running_jobs(1);
  test::add_gres(*node.mutable_allocated_gres(), "a100", 1);
  node.set_cpu_load(2.97);
  node.set_free_memory_mib(20358);
  node.set_os("Linux 6.1");
  node.set_boot_time(at(0, 0, 28));
  node.set_daemon_start_time(at(0, 34, 43));
  node.set_reason("r2");
  node.set_reason_time(at(0, 46, 8));
  std::string out;
  append_node_block(out, node, context_, {});
  EXPECT_EQ(out,
            "NodeName=n2 Arch=x86_64 CoresPerSocket=4 \n"
            "   CPUAlloc=2 CPUEfctv=4 CPUTot=4 CPULoad=2.97\n"
            "   AvailableFeatures=skylake,avx512\n"
            "   ActiveFeatures=skylake,avx512\n"
            "   Gres=gpu:a100:2\n"
            "   NodeAddr=127.0.0.1 NodeHostName=localhost Version=22.05.8\n"
            "   OS=Linux 6.1 \n"
            "   RealMemory=4000 AllocMem=512 FreeMem=20358 Sockets=1 Boards=1\n"
            "   State=MIXED+DRAIN ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A\n"
            "   Partitions=main,short \n"
            "   BootTime=2026-11-21T00:00:28 SlurmdStartTime=2026-11-21T00:34:43\n"
            "   LastBusyTime=Unknown\n"
            "   CfgTRES=cpu=4,mem=4000M,billing=4,gres/gpu=2\n"
            "   AllocTRES=cpu=2,mem=512M,gres/gpu=1\n"
            "   CapWatts=n/a\n"
            "   CurrentWatts=0 AveWatts=0\n"
            "   ExtSensorsJoules=n/s ExtSensorsWatts=0 ExtSensorsTemp=n/s\n"
            "   Reason=r2 [root@2026-11-21T00:46:08]\n\n");
}

TEST_F(ScontrolShow, Partition) {
  std::string out;
  append_partition_block(out, test::partition("short", false), context_, {});
  EXPECT_EQ(out,
            "PartitionName=short\n"
            "   AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL\n"
            "   AllocNodes=ALL Default=NO QoS=N/A\n"
            "   DefaultTime=NONE DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 Hidden=NO\n"
            "   MaxNodes=UNLIMITED MaxTime=03:00:00 MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED\n"
            "   Nodes=n[1-2]\n"
            "   PriorityJobFactor=1 PriorityTier=1 RootOnly=NO ReqResv=NO OverSubscribe=NO\n"
            "   OverTimeLimit=NONE PreemptMode=OFF\n"
            "   State=UP TotalCPUs=8 TotalNodes=2 SelectTypeParameters=NONE\n"
            "   JobDefaults=(null)\n"
            "   DefMemPerNode=UNLIMITED MaxMemPerNode=UNLIMITED\n"
            "   TRES=cpu=8,mem=8000M,node=2,billing=8\n\n");
  out.clear();
  append_partition_block(out, test::partition("main", true), context_, {.one_line = true, .details = false});
  EXPECT_TRUE(out.starts_with("PartitionName=main AllowGroups=ALL ")) << out;
  EXPECT_NE(out.find(" Default=YES "), std::string::npos);
  EXPECT_NE(out.find(" DefaultTime=01:00:00 "), std::string::npos);
  EXPECT_NE(out.find(" MaxTime=UNLIMITED "), std::string::npos);
  EXPECT_EQ(out.find('\n'), out.size() - 1);
}

TEST_F(ScontrolShow, Step) {
  model::StepRecord step;
  step.set_job_id(65);
  step.set_name("sleep");
  step.set_state(model::JOB_RUNNING);
  step.set_start_time(at(0, 33, 2));
  step.set_node_list("n[1-2]");
  step.set_num_nodes(2);
  step.set_num_cpus(4);
  step.set_num_tasks(2);
  step.set_memory_mib(2048);
  std::string out;
  append_step_block(out, step, training(), context_, {});
  EXPECT_EQ(out,
            "StepId=65.0 UserId=0 StartTime=2026-11-21T00:33:02 TimeLimit=UNLIMITED\n"
            "   State=RUNNING Partition=main NodeList=n[1-2]\n"
            "   Nodes=2 CPUs=4 Tasks=2 Name=sleep Network=(null)\n"
            "   TRES=cpu=4,mem=2G,node=2\n"
            "   ResvPorts=(null)\n"
            "   CPUFreqReq=Default Dist=Block\n"
            "   SrunHost:Pid=(null):0\n   TresPerNode=gres:gpu:a100:1\n\n");
}

TEST_F(ScontrolShow, StepOfAJobWithGpus) {
  model::StepRecord step;
  step.set_job_id(65);
  step.set_num_tasks(4);
  model::Gres& of_step = *step.add_tres_gres();
  of_step.set_name("gpu");
  of_step.set_count(4);
  model::JobRecord job = training();
  model::JobSpec& spec = *job.mutable_spec();
  spec.clear_gres_per_node();
  spec.set_cpus_per_gpu(1);
  spec.set_mem_per_gpu_mib(10);
  spec.set_gpu_bind("closest");
  spec.set_gpu_freq("medium");
  *spec.add_gpus() = of_step;
  model::Gres& of_task = *spec.add_gpus_per_task();
  of_task.set_name("gpu");
  of_task.set_count(2);
  std::string out;
  append_step_block(out, step, job, context_, {});
  EXPECT_TRUE(
      out.ends_with("SrunHost:Pid=(null):0\n   CpusPerTres=gres:gpu:1\n   MemPerTres=gres:gpu:10\n"
                    "   TresBind=gpu:closest\n   TresFreq=gpu:medium\n   TresPerStep=cpu:8,gres:gpu:4\n"
                    "   TresPerTask=gres:gpu:2\n\n"))
      << out;
}

TEST_F(ScontrolShow, Configuration) {
  api::ConfigReply config;
  api::Field& name = *config.add_values();
  name.set_name("ClusterName");
  name.set_value("minke");
  config.add_values()->set_name("AcctGatherFilesystemType");
  std::string out;
  append_configuration(out, config, context_);
  EXPECT_EQ(out,
            "Configuration data as of 2026-11-21T00:33:03\n"
            "ClusterName             = minke\n"
            "AcctGatherFilesystemType = (null)\n\n");
}

}  // namespace
}  // namespace minke::cli
