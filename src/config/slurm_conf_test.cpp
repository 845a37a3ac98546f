#include "config/slurm_conf.h"

#include <gtest/gtest.h>

#include <map>

#include "model/cluster.pb.h"

namespace minke::config {
namespace {

model::NodeRecord machine() {
  model::NodeRecord node;
  node.set_name("here");
  node.set_cpus(8);
  node.set_sockets(1);
  node.set_cores_per_socket(4);
  node.set_threads_per_core(2);
  node.set_memory_mib(16000);
  return node;
}

struct Applied {
  Configuration config;
  Status status;
};

Applied apply(const std::string& text, const std::string& toml = "",
              const std::map<std::string, std::string>& files = {}) {
  Applied applied{.config = parse_configuration(toml, "minke.toml", machine()).value(), .status = {}};
  const auto gres = files.find("/etc/slurm/gres.conf");
  const SlurmConfFile beside{.path = "/etc/slurm/gres.conf", .text = gres == files.end() ? "" : gres->second};
  applied.status = apply_slurm_conf(
      {.path = "/etc/slurm/slurm.conf", .text = text}, machine(),
      [&](const std::string& path) -> Result<std::string> {
        const auto file = files.find(path);
        if (file == files.end()) return failure("there is no " + path);
        return file->second;
      },
      applied.config, gres == files.end() ? nullptr : &beside);
  return applied;
}

const model::PartitionRecord& partition(const Configuration& config, const std::string& name) {
  for (const auto& one : config.partitions) {
    if (one.name() == name) return one;
  }
  static const model::PartitionRecord kNone;
  return kNone;
}

TEST(SlurmConfiguration, DeclaresNodesAndPartitions) {
  const auto [config, status] = apply(R"(
ClusterName=Lab
NodeName=DEFAULT RealMemory=64000 Sockets=2 CoresPerSocket=8 ThreadsPerCore=2 State=UNKNOWN
NodeName=cn[01-03] Feature=icelake,ib NodeAddr=10.0.0.[1-3] Weight=5
NodeName=gpu1 Gres=gpu:a100:4,gpu:h100:2,shard:6,nvme:1T CPUs=32 TmpDisk=900000
NodeName=later State=FUTURE
NodeSet=fast Feature=icelake
NodeSet=one Nodes=cn02
PartitionName=DEFAULT MaxTime=7-0 State=UP OverSubscribe=YES:4
PartitionName=cpu Nodes=fast,later Default=YES DefaultTime=1:00:00 AllowAccounts=a,b
PartitionName=gpu Nodes=gpu1 MaxTime=1-0 OverSubscribe=EXCLUSIVE LLN=YES PreemptMode=SUSPEND,GANG
PartitionName=some Nodes=one Default=YES
PartitionName=none
)");
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(config.cluster_name, "lab");
  ASSERT_EQ(config.nodes.size(), 4u);
  const auto& first = config.nodes[0];
  EXPECT_EQ(first.name(), "cn01");
  EXPECT_EQ(first.cpus(), 32u);
  EXPECT_EQ(first.sockets(), 2u);
  EXPECT_EQ(first.memory_mib(), 64000u);
  EXPECT_EQ(first.weight(), 5u);
  EXPECT_TRUE(first.is_virtual());
  ASSERT_EQ(first.features_size(), 2);
  const auto& gpus = config.nodes[3];
  EXPECT_EQ(gpus.tmp_disk_mib(), 900000u);
  ASSERT_EQ(gpus.gres_size(), 3);
  EXPECT_EQ(gpus.gres(0).type(), "a100");
  EXPECT_EQ(gpus.gres(0).count(), 4u);
  EXPECT_TRUE(gpus.virtual_gres());
  ASSERT_EQ(config.partitions.size(), 4u);
  EXPECT_EQ(partition(config, "cpu").nodes(), "cn[01-03]");
  EXPECT_EQ(partition(config, "cpu").max_time_minutes(), 7u * 24 * 60);
  EXPECT_EQ(partition(config, "cpu").allow_accounts_size(), 2);
  EXPECT_EQ(partition(config, "gpu").max_time_minutes(), 24u * 60);
  EXPECT_TRUE(partition(config, "gpu").exclusive());
  EXPECT_EQ(partition(config, "gpu").preempt_mode(), "SUSPEND");
  EXPECT_FALSE(partition(config, "cpu").is_default());
  EXPECT_TRUE(partition(config, "some").is_default());
  EXPECT_EQ(partition(config, "some").nodes(), "cn02");
  EXPECT_EQ(partition(config, "none").nodes(), "");
  EXPECT_EQ(config.unused, (std::vector<std::string>{"/etc/slurm/slurm.conf:5: Gres=nvme",
                                                     "/etc/slurm/slurm.conf:10: OverSubscribe=YES:4"}));
  EXPECT_TRUE(partition(config, "gpu").least_loaded_node());
}

TEST(SlurmConfiguration, CountsCpusAsSlurmDoes) {
  struct Case {
    const char* words;
    uint32_t cpus, sockets, cores, threads;
  };
  for (const Case& one : {Case{"", 8, 1, 4, 2}, Case{"CPUs=6", 6, 6, 1, 1},
                          Case{"Sockets=2 CoresPerSocket=4 ThreadsPerCore=2", 16, 2, 4, 2},
                          Case{"CPUs=8 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2", 8, 2, 4, 1},
                          Case{"Boards=2 SocketsPerBoard=2 CoresPerSocket=4", 16, 4, 4, 1},
                          Case{"Procs=4 CoresPerSocket=4", 4, 1, 4, 1}}) {
    const auto [config, status] = apply(std::string("NodeName=a ") + one.words);
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_EQ(config.nodes[0].cpus(), one.cpus) << one.words;
    EXPECT_EQ(config.nodes[0].sockets(), one.sockets) << one.words;
    EXPECT_EQ(config.nodes[0].cores_per_socket(), one.cores) << one.words;
    EXPECT_EQ(config.nodes[0].threads_per_core(), one.threads) << one.words;
  }
}

TEST(SlurmConfiguration, SaysWhereTheShellOfSallocIs) {
  EXPECT_TRUE(apply("KillWait=7").config.interactive_step);
  EXPECT_FALSE(apply("NodeName=a CPUs=1").config.interactive_step);
  EXPECT_FALSE(apply("LaunchParameters=send_gids").config.interactive_step);
  EXPECT_TRUE(apply("LaunchParameters=use_interactive_step\nNodeName=a CPUs=1").config.interactive_step);
}

TEST(SlurmConfiguration, ComesBeforeMinkeToml) {
  const auto [config, status] = apply(
      "KillWait=7\nMinJobAge=10\nLicenses=matlab:3,ansys\nPriorityType=priority/multifactor\n"
      "PriorityWeightAge=1000 PriorityMaxAge=1-0\nPriorityDecayHalfLife=0\nPriorityCalcPeriod=5\n"
      "AccountingStorageEnforce=limits,qos\nPreemptType=preempt/qos\nPreemptMode=GANG,SUSPEND\n"
      "PrivateData=jobs,usage\nEnforcePartLimits=ALL\nOverTimeLimit=2\nDefMemPerCPU=100\n"
      "JobAcctGatherFrequency=task=5,energy=3\nTrackWCKey=yes\nMpiDefault=pmix_v4\nJobRequeue=0\nTaskPlugin="
      "task/none\n",
      "kill_wait = 3\nfirst_job_id = 50\n[[partition]]\nname = \"p\"\n[[partition]]\nname = \"q\"\n"
      "over_time_limit = 9\ndefault_mem_per_node = \"1G\"\n");
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(config.kill_wait_seconds, 7u);
  EXPECT_EQ(config.first_job_id, 50u);
  EXPECT_EQ(config.min_job_age_seconds, 10u);
  EXPECT_EQ(config.licenses, (std::vector<std::pair<std::string, uint32_t>>{{"matlab", 3}, {"ansys", 1}}));
  EXPECT_TRUE(config.priority.multifactor);
  EXPECT_EQ(config.priority.weights.age, 1000u);
  EXPECT_EQ(config.priority.weights.max_age, 86400);
  EXPECT_EQ(config.priority.half_life, 0);
  EXPECT_EQ(config.priority.calc_period, 300);
  EXPECT_TRUE(config.accounting.limits && config.accounting.qos && config.accounting.associations);
  EXPECT_FALSE(config.accounting.safe);
  EXPECT_EQ(config.preemption.type, PreemptType::kQos);
  EXPECT_EQ(config.preemption.mode, PreemptMode::kSuspend);
  EXPECT_TRUE(config.private_jobs);
  EXPECT_EQ(config.part_limits, PartLimits::kAll);
  EXPECT_EQ(config.measuring_interval, 5u);
  EXPECT_EQ(config.mpi_default, "pmix");
  EXPECT_FALSE(config.requeue_by_default);
  EXPECT_FALSE(config.bind_cpus);
  EXPECT_TRUE(config.accounting.track_wckey);
  EXPECT_EQ(partition(config, "p").over_time_limit_minutes(), 2u);
  EXPECT_EQ(partition(config, "p").default_mem_per_cpu_mib(), 100u);
  EXPECT_EQ(partition(config, "q").over_time_limit_minutes(), 9u);
  EXPECT_FALSE(partition(config, "q").has_default_mem_per_cpu_mib());
}

TEST(SlurmConfiguration, SaysWhatBecomesOfJobsOverLimitsOfPartitions) {
  EXPECT_EQ(apply("").config.part_limits, PartLimits::kAny);
  EXPECT_EQ(apply("EnforcePartLimits=no").config.part_limits, PartLimits::kNo);
  EXPECT_EQ(apply("EnforcePartLimits=Yes").config.part_limits, PartLimits::kAll);
  EXPECT_FALSE(apply("EnforcePartLimits=some").status);
}

TEST(SlurmConfiguration, JobsThatTakeTurnsAloneArePreemptedByNobody) {
  const auto [config, status] =
      apply("PreemptMode=GANG\nNodeName=a CPUs=1\nPartitionName=p Nodes=a PreemptMode=gang\n");
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(config.preemption.mode, PreemptMode::kOff);
  EXPECT_EQ(partition(config, "p").preempt_mode(), "");
  EXPECT_EQ(config.unused.size(), 2u);
}

// As in Slurm, whatever their order.
TEST(SlurmConfiguration, MemoryOfNodesGoesBeforeThatOfCpus) {
  for (const char* text :
       {"DefMemPerCPU=100 DefMemPerNode=900\nNodeName=a CPUs=1\nPartitionName=p\n",
        "DefMemPerNode=900\nDefMemPerCPU=100\nNodeName=a CPUs=1\nPartitionName=p\n",
        "DefMemPerCPU=7\nNodeName=a CPUs=1\nPartitionName=p DefMemPerNode=900 DefMemPerCPU=100\n"}) {
    const auto [config, status] = apply(text);
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_EQ(partition(config, "p").default_mem_per_node_mib(), 900u) << text;
    EXPECT_FALSE(partition(config, "p").has_default_mem_per_cpu_mib()) << text;
  }
  const auto [config, status] = apply(
      "DefMemPerNode=900\nNodeName=a CPUs=1\nPartitionName=DEFAULT DefMemPerNode=800\nPartitionName=p "
      "DefMemPerCPU=100\n");
  ASSERT_TRUE(status);
  EXPECT_EQ(partition(config, "p").default_mem_per_cpu_mib(), 100u);
}

TEST(SlurmConfiguration, MailProgTakesThePlaceOfMail) {
  const auto [config, status] = apply("MailDomain=b.org\nMailProg=/bin/mail\n",
                                      "[mail]\nserver = \"smtp://x\"\ndomain = \"a.org\"\nlog_lines = 3\n");
  ASSERT_TRUE(status);
  EXPECT_EQ(config.mail->settings.mail_program(), "/bin/mail");
  EXPECT_EQ(config.mail->settings.domain(), "b.org");
  EXPECT_EQ(config.mail->settings.log_lines(), 3u);
  EXPECT_FALSE(apply("MailDomain=b.org\n").config.mail);
  EXPECT_EQ(apply("MailProg=/bin/mail\nMailDomain=b.org\n").config.mail->settings.domain(), "b.org");
  EXPECT_FALSE(apply("MailProg=mail\n").status);
}

TEST(SlurmConfiguration, ReadsWhatItIncludes) {
  const auto [config, status] =
      apply("Include nodes.conf\nInclude /srv/more.conf\nKillWait=x\n", "",
            {{"/etc/slurm/nodes.conf", "NodeName=a\nMinJobAge=4\n"}, {"/srv/more.conf", "NodeName=b\n"}});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "/etc/slurm/slurm.conf:3: KillWait=x: must be a number from 0 to 65533");
  const auto [good, read] = apply("Include nodes.conf\n", "", {{"/etc/slurm/nodes.conf", "NodeName=a\n"}});
  ASSERT_TRUE(read);
  EXPECT_EQ(good.nodes[0].name(), "a");
  EXPECT_EQ(good.partitions[0].nodes(), "a");
}

TEST(SlurmConfiguration, WhatItCannotReadItNames) {
  for (const auto& [text, message] : {
           std::pair{"KilWait=5", "1: KilWait=5: no parameter of slurm.conf"},
           std::pair{"\nNodeName=a[1", "2: Invalid hostlist"},
           std::pair{"NodeName=a Colour=red", "1: Colour is not known of nodes"},
           std::pair{"NodeName=a\nNodeName=a", "2: there are two nodes a"},
           std::pair{"NodeName=a CPUs=0", "1: CPUs=0: must be"},
           std::pair{"NodeName=a Gres=gpu:513", "1: a node can have 512 GPUs at most"},
           std::pair{"PartitionName=p Nodes=a", "1: partition p names node a, which no NodeName declares"},
           std::pair{"PartitionName=p\nPartitionName=p", "2: there are two partitions p"},
           std::pair{"PartitionName=p MaxTime=soon", "1: Invalid input MaxTime=soon"},
           std::pair{"PartitionName=p Colour=red", "1: a partition's Colour"},
           std::pair{"NodeSet=s", "1: a NodeSet needs"},
           std::pair{"Include x", "1: there is no /etc/slurm/x"},
           std::pair{"PreemptType=preempt/qos", " PreemptMode must be"},
           std::pair{"PriorityWeightAge=-1", "1: PriorityWeightAge=-1: must be a number"},
           std::pair{"KillWait", "1: \"KillWait\" is not"},
       }) {
    const auto [config, status] = apply(text);
    ASSERT_FALSE(status) << text;
    EXPECT_TRUE(status.error().message.starts_with("/etc/slurm/slurm.conf:" + std::string(message)))
        << status.error().message;
  }
  EXPECT_FALSE(apply("Include slurm.conf\n", "", {{"/etc/slurm/slurm.conf", "Include slurm.conf\n"}}).status);
}

TEST(SlurmConfiguration, GresOfOtherNamesCountIfGresTypesNamesThem) {
  const auto [config, status] = apply(
      "NodeName=n[1-2] Gres=nic:2,fpga:u250:1,bandwidth:lustre:no_consume:4096,disk:1T,many:10k\n"
      "NodeName=here Gres=gpu:8,nic:1\nGresTypes=nic,bandwidth\nGresTypes=gpu,disk,many\n");
  ASSERT_TRUE(status) << status.error().message;
  for (size_t i = 0; i < 2; ++i) {
    ASSERT_EQ(config.nodes[i].gres_size(), 3);
    EXPECT_EQ(config.nodes[i].gres(0).name(), "nic");
    EXPECT_EQ(config.nodes[i].gres(0).count(), 2u);
    EXPECT_EQ(config.nodes[i].gres(1).type(), "lustre:no_consume");
    EXPECT_EQ(config.nodes[i].gres(2).count(), 10u * 1024);
  }
  ASSERT_EQ(config.nodes[2].gres_size(), 1);
  EXPECT_EQ(config.nodes[2].gres(0).name(), "nic");
  EXPECT_EQ(config.unused,
            (std::vector<std::string>{"/etc/slurm/slurm.conf:2: Gres", "/etc/slurm/slurm.conf:1: Gres=fpga",
                                      "/etc/slurm/slurm.conf:1: Gres=disk"}));
  std::string types = "GresTypes=x", kinds = "NodeName=n Gres=x:a0:1";
  for (int i = 1; i <= 16; ++i) kinds += ",x:a" + std::to_string(i) + ":1";
  EXPECT_TRUE(apply(types + "\n" + kinds + "\n")
                  .status.error()
                  .message.starts_with("/etc/slurm/slurm.conf:2: a node can have 16 kinds of GRES at most"));
}

TEST(SlurmConfiguration, GresConfAddsFlagsAndChecksFiles) {
  const std::string nodes = "GresTypes=gpu,nic,fpga\nNodeName=n[1-2] Gres=gpu:2,nic:4,fpga:a:1\n";
  const auto with = [&](const std::string& gres, const std::string& more = "") {
    return apply(nodes, "", {{"/etc/slurm/gres.conf", gres}, {"/etc/slurm/more.conf", more}});
  };
  const auto [config, status] = with(
      "Name=nic Count=1 Flags=explicit\nNodeName=n2 Name=gpu File=/dev/tty[0-1] Cores=0-3\n"
      "Name=disk Count=3\nName=fpga Type=b\nNodeName=else Name=fpga Type=c\nInclude more.conf\n",
      "NodeName=n1 Name=fpga Flags=no_gpu_env,explicit");
  ASSERT_TRUE(status) << status.error().message;
  ASSERT_EQ(config.nodes[0].explicit_gres_size(), 2);
  EXPECT_EQ(config.nodes[0].explicit_gres(0), "nic");
  EXPECT_EQ(config.nodes[0].explicit_gres(1), "fpga");
  EXPECT_EQ(config.nodes[1].explicit_gres_size(), 1);
  EXPECT_EQ(config.nodes[0].gres(1).count() + config.nodes[0].gres(0).count(), 6u);
  EXPECT_EQ(config.unused,
            (std::vector<std::string>{"/etc/slurm/more.conf:1: Flags=no_gpu_env",
                                      "/etc/slurm/gres.conf:3: Name=disk (GresTypes has no disk)",
                                      "/etc/slurm/gres.conf:4: Name=fpga (no node has Gres=fpga:b)"}));
  for (const auto& [gres, message] :
       {std::pair{"Name=gpu File=/dev/tty[0-1]\n\nNodeName=n2 Name=nic Colour=red", "3: Colour is not known"},
        std::pair{"Name=gpu File=/dev/tty0", "1: node n1 has 1 gpu here, fewer than slurm.conf's Gres=gpu:2"},
        std::pair{"Name=nic Count=many", "1: Count=many: must be a number"},
        std::pair{"Name=nic Flags=implicit", "1: Flags=implicit: no flag"},
        std::pair{"NodeName=n[1 Name=nic", "1: NodeName=n[1: "},
        std::pair{"AutoDetect=eyes", "1: AutoDetect=eyes: must be"},
        std::pair{"Include none.conf", "1: there is no /etc/slurm/none.conf"},
        std::pair{"Include gres.conf", "1: files that include one another"}}) {
    const auto [refused, problem] = with(gres);
    ASSERT_FALSE(problem) << gres;
    EXPECT_TRUE(problem.error().message.starts_with("/etc/slurm/gres.conf:" + std::string(message)))
        << problem.error().message;
  }
  EXPECT_TRUE(with("AutoDetect=nvml\nName=gpu File=/dev/nvidia0\n").status);
}

TEST(SlurmConfiguration, AccountingStorageTresSaysWhichGresCount) {
  const auto [config, status] =
      apply("AccountingStorageTRES=gres/nic,gres/gpu:a100\nAccountingStorageTRES=license/x\n");
  ASSERT_TRUE(status);
  for (const char* listed : {"gres/nic", "gres/gpu", "gres/gpu:a100", "license/x"})
    EXPECT_TRUE(lists_tres(config.accounting, listed)) << listed;
  for (const char* other : {"gres/ni", "gres/gpu:h100", "license/y", "gres/fpga"})
    EXPECT_FALSE(lists_tres(config.accounting, other)) << other;
}

TEST(SlurmConfiguration, ThisMachinesNodeKeepsItsOwnGpus) {
  const auto [config, status] = apply("NodeName=here Gres=gpu:8\nNodeName=localhost Gres=gpu:8\n");
  ASSERT_TRUE(status);
  EXPECT_EQ(config.nodes[0].gres_size(), 0);
  EXPECT_FALSE(config.nodes[0].is_virtual());
  EXPECT_EQ(config.nodes[1].gres_size(), 0);
  EXPECT_EQ(config.unused, std::vector<std::string>{"/etc/slurm/slurm.conf:1: Gres"});
}

}  // namespace
}  // namespace minke::config
