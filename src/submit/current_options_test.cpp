// Options that are kept, checked or combined, beyond the everyday ones: the spec that sbatch makes of each,
// as a line of fields.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "model/job_spec.pb.h"
#include "submit/job_request.h"
#include "text/tres.h"

namespace minke::submit {
namespace {

Result<std::string> one_file(const std::string& path) {
  if (path.ends_with("/hosts")) return std::string("n1*2  # two\n\n# none\n n[3-4]\n");
  return failure("No such file or directory");
}

Outcome<JobRequest> submitted(std::vector<std::string> arguments, std::string script = "#!/bin/sh\n",
                              std::vector<std::string> environment = {}, Command command = Command::kSbatch,
                              int release = kSlurm22) {
  arguments.push_back("job.sh");
  Invocation invocation;
  invocation.command = command;
  invocation.release = release;
  invocation.arguments = std::move(arguments);
  invocation.environment = std::move(environment);
  invocation.working_directory = "/home/u";
  invocation.now = 1795219987;
  invocation.is_own_user = [](std::string_view name) { return name == "u" || name == "1000"; };
  invocation.is_own_group = [](std::string_view name) { return name == "users" || name == "100"; };
  invocation.read_file = one_file;
  auto line = read_command_line(invocation);
  if (!line) return tl::unexpected(line.error());
  return make_job_request(invocation, *line, ScriptFile{"/home/u/job.sh", std::move(script)});
}

model::JobSpec spec(std::vector<std::string> arguments, int release = kSlurm22) {
  auto request = submitted(std::move(arguments), "#!/bin/sh\n", {}, Command::kSbatch, release);
  EXPECT_TRUE(request) << (request ? "" : request.error().text);
  return request ? request->spec : model::JobSpec();
}

std::string refusal(std::vector<std::string> arguments, int release = kSlurm22) {
  auto request = submitted(std::move(arguments), "#!/bin/sh\n", {}, Command::kSbatch, release);
  if (request) return "accepted";
  return std::to_string(request.error().exit_status) + ": " + request.error().text;
}

TEST(CurrentOptions, AreKeptWithTheJob) {
  auto kept = spec({"--acctg-freq=task=30,energy=0",
                    "--constraint=f",
                    "--batch=f",
                    "--bb=capacity=1G",
                    "--cluster-constraint=x",
                    "--cpu-freq=low-high:Performance",
                    "--extra=e",
                    "--gpu-bind=verbose,map_gpu:0,1",
                    "--gpu-freq=high,memory=low",
                    "--gres-flags=enforce-binding",
                    "--mcs-label=m",
                    "-O",
                    "--oom-kill-step",
                    "--power=level",
                    "--prefer=a|b",
                    "--profile=task,energy",
                    "--resv-ports=3",
                    "--segment=4",
                    "--stepmgr",
                    "--switches=2@5",
                    "--thread-spec=1",
                    "--tres-bind=gres/gpu:closest",
                    "--use-min-nodes",
                    "--wait-all-nodes=1",
                    "--consolidate-segments",
                    "--spread-segments"});
  EXPECT_EQ(kept.acctg_freq() + " " + kept.batch_features() + " " + kept.burst_buffer(),
            "task=30,energy=0 f capacity=1G");
  EXPECT_EQ(kept.cpu_freq() + " " + kept.gpu_bind() + " " + kept.gpu_freq(),
            "low-high:Performance verbose,map_gpu:0,1 high,memory=low");
  EXPECT_EQ(kept.extra() + kept.mcs_label() + " " + kept.prefer() + " " + kept.profile(),
            "em a|b Energy,Task");
  EXPECT_EQ(kept.cluster_features() + " " + kept.gres_flags() + " " + kept.power() + " " + kept.tres_bind(),
            "x enforce-binding level gres/gpu:closest");
  EXPECT_EQ(kept.switches(), 2u);
  EXPECT_EQ(kept.switches_wait_seconds(), 300u);
  EXPECT_EQ(kept.resv_ports() + kept.segment_size(), 7u);
  EXPECT_TRUE(kept.overcommit() && kept.oom_kill_step() && kept.stepmgr() && kept.use_min_nodes() &&
              kept.wait_all_nodes());
  EXPECT_FALSE(spec({"--oom-kill-step=0"}).oom_kill_step());
  EXPECT_TRUE(kept.consolidate_segments() && kept.spread_segments());
  kept = spec({"--requeue=expedite", "--mem-update=+20@1:30"});
  EXPECT_TRUE(kept.requeue() && kept.expedited_requeue());
  EXPECT_EQ(kept.mem_update(), "20@2");
  EXPECT_FALSE(spec({"--requeue"}).expedited_requeue());
  EXPECT_EQ(spec({"--segment="}).segment_size() + spec({"--segment=+1"}).segment_size(), 1u);
  EXPECT_EQ(spec({"--hint=NoMultithread,Compute_Bound"}).hint(), "compute_bound");
  EXPECT_EQ(spec({"-B+1"}).sockets_per_node(), 1u);
  EXPECT_TRUE(submitted({"--mem-per-gpu=0"}) && submitted({"--acctg-freq="}));
  EXPECT_EQ(refusal({"--profile=filesystem"}), "255: sbatch: error: invalid --profile=filesystem option\n");
  EXPECT_EQ(refusal({"--gpu-bind=gpu:closest"}),
            "255: sbatch: error: Invalid --gpu-bind argument: gpu:gpu:closest\n");
  EXPECT_EQ(refusal({"-t", "x", "--nosuch"}), "255: sbatch: error: Invalid --time specification\n");
  EXPECT_THAT(refusal({"-t", "5", "--nosuch", "-n", "x"}),
              testing::HasSubstr("unrecognized option '--nosuch'"));
  EXPECT_EQ(refusal({"--export-file="}), "1: sbatch: error: Could not open user environment file \n");
  EXPECT_EQ(refusal({"--requeue=x"}), "255: sbatch: error: Invalid --requeue specification\n");
  EXPECT_THAT(refusal({"--resources=power"}), testing::HasSubstr("--resources cannot be used here"));
}

TEST(CurrentOptions, NodeGeometry) {
  auto kept = spec({"-B", "1:2:3"});
  EXPECT_EQ(kept.sockets_per_node() * 100 + kept.cores_per_socket() * 10 + kept.threads_per_core(), 123u);
  EXPECT_EQ(kept.ntasks(), 6u);
  EXPECT_EQ(spec({"-B1:2:1", "-N2"}).ntasks(), 4u);
  EXPECT_EQ(spec({"-B1:2:1", "-n1"}).ntasks(), 1u);
  EXPECT_EQ(spec({"-B1:2"}).ntasks(), 2u);
  EXPECT_FALSE(spec({"-B*:2"}).has_sockets_per_node());
  EXPECT_EQ(spec({"-B2-4"}).sockets_per_node(), 2u);
  EXPECT_EQ(refusal({"-Bx"}), "1: sbatch: error: Invalid numeric value \"x\" for first arg of -B.\n");
  EXPECT_EQ(spec({"--threads-per-core=1"}).threads_per_core(), 1u);
}

TEST(CurrentOptions, ExclusiveAgainstOthersLeavesTheNodesShared) {
  EXPECT_TRUE(spec({"--exclusive"}).exclusive());
  for (const char* mode : {"user", "mcs", "topo"}) {
    auto kept = spec({std::string("--exclusive=") + mode});
    EXPECT_FALSE(kept.exclusive());
    EXPECT_EQ(kept.exclusive_mode(), mode);
  }
}

TEST(CurrentOptions, FilesOfHosts) {
  EXPECT_EQ(spec({"-F", "hosts"}).node_list(), "n[1,3-4]");
  EXPECT_EQ(spec({"-w", "./hosts"}).node_list(), "n[1,3-4]");
  EXPECT_EQ(spec({"-x", "/home/u/hosts"}).exclude(), "n[1,3-4]");
  EXPECT_EQ(
      refusal({"-w", "./none"}),
      "1: sbatch: error: slurm_allocate_resources error opening file ./none, No such file or directory\n");
  EXPECT_EQ(
      refusal({"-F/none"}),
      "255: sbatch: error: slurm_allocate_resources error opening file /none, No such file or directory\n"
      "sbatch: error: Invalid --nodefile node file\n");
  EXPECT_EQ(refusal({"--bbf=/none"}), "1: sbatch: error: Invalid --bbf specification\n");
}

TEST(CurrentOptions, NobodyElsesJob) {
  for (const char* own : {"--uid=u", "--uid=1000", "--gid=users", "--gid=100"})
    EXPECT_EQ(refusal({own}), "accepted");
  EXPECT_EQ(refusal({"--uid=root"}), "1: sbatch: error: --uid=root: a job runs as whoever submits it\n");
  EXPECT_EQ(refusal({"--gid=0"}), "1: sbatch: error: --gid=0: a job runs as whoever submits it\n");
}

TEST(CurrentOptions, NothingIsReservedForTheSystem) {
  auto request = submitted({"-S1"});
  EXPECT_THAT(
      request->notes,
      ::testing::ElementsAre(
          "error: Ignoring -S since it's not allowed by configuration (AllowSpecResourcesUsage = No)"));
  EXPECT_FALSE(request->spec.has_core_spec());
  EXPECT_EQ(refusal({"-S1", "--thread-spec=1"}),
            "1: sbatch: fatal: -S/--core-spec and --thred-spec options are mutually exclusive\n");
  EXPECT_THAT(refusal({"-Sx"}), ::testing::StartsWith("1: sbatch: error: Invalid numeric value"));
}

TEST(CurrentOptions, MemUpdateIsAMarginAndADelay) {
  EXPECT_TRUE(submitted({"--mem-update=10@5"}));
  EXPECT_EQ(refusal({"--mem-update=10"}), "255: sbatch: error: --mem-update requires MARGIN@DELAY format\n");
  for (const char* wrong : {"--mem-update=0@5", "--mem-update=5@0", "--mem-update=5@5x", "--mem-update=@",
                            "--mem-update=5@infinite", "--mem-update=5%@5"})
    EXPECT_EQ(refusal({wrong}), "255: sbatch: error: Invalid --mem-update specification\n") << wrong;
}

TEST(CurrentOptions, VerboseAndQuietExcludeEachOther) {
  EXPECT_EQ(refusal({"-Q", "-v"}), "1: sbatch: error: don't specify both --verbose (-v) and --quiet (-Q)\n");
}

TEST(CurrentOptions, SetsOfNodeCounts) {
  const std::pair<const char*, std::vector<uint32_t>> sets[] = {
      {"4,2,8", {2, 4, 8}}, {"2-9:3", {2, 5, 8}}, {"2,6-8", {2, 6, 7, 8}}, {"2,3-8", {2, 3, 4, 5, 6, 7, 8}}};
  for (const auto& [counts, expected] : sets) {
    auto kept = spec({"-N", counts}, kSlurm26);
    EXPECT_EQ(kept.min_nodes() * 10 + kept.max_nodes(), 28u) << counts;
    EXPECT_EQ(std::vector<uint32_t>(kept.node_counts().begin(), kept.node_counts().end()), expected)
        << counts;
  }
  EXPECT_EQ(spec({"-N", "2,8", "-N", "3"}, kSlurm26).node_counts_size(), 0);
  EXPECT_EQ(spec({"-N2-4:2"}, kSlurm26).max_nodes(), 2u);  // the end is not one of them
  for (const char* none : {"1-4:3,5", "1,3:2", "2:2", "1-4:0", "1-:2"})
    EXPECT_THAT(refusal({"-N", none}, kSlurm26), ::testing::HasSubstr("is not a valid node count")) << none;
  // No number is 0, a range that goes backwards is nothing, and the part that is no count is named.
  const auto counts_of = [](const char* counts) {
    const auto kept = spec({"-N", counts}, kSlurm26).node_counts();
    return std::vector<uint32_t>(kept.begin(), kept.end());
  };
  EXPECT_EQ(counts_of("2,,4"), (std::vector<uint32_t>{0, 2, 4}));
  EXPECT_EQ(counts_of("1,"), (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(counts_of("2,-3"), (std::vector<uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(counts_of("3-1,5"), (std::vector<uint32_t>{5}));
  EXPECT_EQ(refusal({"-N1,2x"}, kSlurm26), "255: sbatch: error: \"2x\" is not a valid node count\n");
  EXPECT_EQ(refusal({"-N1-3:x"}, kSlurm26), "255: sbatch: error: \"x\" is not a valid node count\n");
  EXPECT_EQ(refusal({"-N2-2:1"}, kSlurm26), "1: sbatch: error: invalid number of nodes (-N -1--1)\n");
  std::string again = "-N1-65536";
  for (int i = 0; i < 10'000; ++i) again += ",1-65536";
  EXPECT_THAT(refusal({again.c_str()}, kSlurm26), ::testing::HasSubstr("is not a valid node count"));
  // Fewer tasks than the most: any number up to that of the tasks.
  const auto ranged = spec({"-N2-5:2", "-n3"}, kSlurm26);
  EXPECT_EQ(ranged.node_counts_size(), 0);
  EXPECT_EQ(ranged.min_nodes() * 10 + ranged.max_nodes(), 23u);
  EXPECT_EQ(refusal({"-N1-"}, kSlurm26),
            "255: sbatch: error: Maximum node count -1 is less than minimum node count 1\n");
  EXPECT_EQ(refusal({"-N1:"}, kSlurm26), "255: sbatch: error: \"1:\" is not a valid node count\n");
  EXPECT_EQ(refusal({"-N1,3"}), "255: sbatch: error: \"1,3\" is not a valid node count\n");  // of older ones
}

TEST(CurrentOptions, TresPerTask) {
  auto kept = spec({"-n4", "--tres-per-task=cpu=2,gres/gpu:a100=1,license/x=3,license/y", "-L", "z"});
  EXPECT_EQ(kept.cpus_per_task(), 2u);
  EXPECT_EQ(text::format_gres_list(std::vector(kept.gpus_per_task().begin(), kept.gpus_per_task().end())),
            "gpu:a100:1");
  EXPECT_EQ(kept.licenses(), "z,x:12,y:4");
  kept = spec({"-n2", "--tres-per-task=license/x=3,license/y=0", "-L", "z:1"}, kSlurm26);
  EXPECT_EQ(kept.licenses(), "z:1,x=6");
  EXPECT_EQ(spec({"-n1", "--tres-per-task=cpu:2,gres:gpu:1"}).cpus_per_task(), 2u);
  EXPECT_THAT(refusal({"--tres-per-task=mem=3"}), ::testing::StartsWith("1: "));
  kept = spec({"-n1", "--tres-per-task=gres/nic=3,gres/shard,gres:gpu:1"});
  EXPECT_EQ(text::format_gres_list(std::vector(kept.gpus_per_task().begin(), kept.gpus_per_task().end())),
            "nic:3,shard:1,gpu:1");
  EXPECT_THAT(refusal({"--tres-per-task=gres//nic=3"}), ::testing::StartsWith("255: "));
}

// The texts come from sbatch 22.05.
TEST(CurrentOptions, BadValues) {
  EXPECT_EQ(refusal({"--gpus-per-socket=1"}),
            "1: sbatch: error: --gpus-per-socket option requires --sockets-per-node specification\n"
            "sbatch: error: Invalid generic resource (gres) specification\n");
  EXPECT_EQ(refusal({"--gpu-bind=verbose,map_gpu:0,NaN"}),
            "255: sbatch: error: Failed to validate NaN, offending character is N\n"
            "sbatch: error: Invalid --gpu-bind argument: gpu:verbose,map_gpu:0,NaN\n");
  EXPECT_EQ(refusal({"--gpus=1", "--gres=gpu:2"}),
            "1: sbatch: error: Failed to ensure --gpus >= --gres=gpu/--gpus-per-node >= --gpus-per-socket\n"
            "sbatch: error: Invalid generic resource (gres) specification\n");
  EXPECT_EQ(refusal({"--gpus=1", "-N2"}),
            "1: sbatch: error: Failed to validate job spec, --gpus < -N\n"
            "sbatch: error: Invalid generic resource (gres) specification\n");
  EXPECT_EQ(refusal({"--exclusive=foo"}), "255: sbatch: error: Invalid --exclusive specification\n");
  EXPECT_EQ(refusal({"--gres-flags=foo"}), "255: sbatch: error: Invalid --gres-flags specification\n");
  EXPECT_EQ(refusal({"--cpu-freq=foo"}),
            "255: sbatch: error: unrecognized --cpu-freq argument \"foo\"\n"
            "sbatch: error: Invalid --cpu-freq argument\n");
  EXPECT_EQ(refusal({"--profile=foo"}), "255: sbatch: error: invalid --profile=foo option\n");
  EXPECT_EQ(refusal({"-mplane"}),
            "255: sbatch: error: Invalid plane size or size not specified\n"
            "sbatch: error: Invalid --distribution specification\n");
  EXPECT_EQ(refusal({"--switches=x"}), "1: sbatch: error: Invalid numeric value \"x\" for --switches.\n");
  EXPECT_EQ(refusal({"--acctg-freq=task=x"}),
            "255: sbatch: error: Invalid --acctg-freq specification: task=x\n");
  EXPECT_EQ(refusal({"--gpu-bind=foo"}), "255: sbatch: error: Invalid --gpu-bind argument: gpu:foo\n");
  EXPECT_EQ(refusal({"--gpu-freq=foo"}), "255: sbatch: error: Invalid --gpu-freq argument: gpu:foo\n");
  EXPECT_EQ(refusal({"--get-user-env=5X"}), "255: sbatch: error: Invalid --get-user-env specification\n");
}

TEST(CurrentOptions, GetUserEnv) {
  auto request = submitted({"--get-user-env=5S"});
  EXPECT_EQ(request->user_env_seconds, 5u);
  EXPECT_TRUE(request->user_env_without_login);
  request = submitted({"--get-user-env"});
  EXPECT_TRUE(request->spec.get_user_env() && !request->user_env_seconds && !request->user_env_without_login);
}

TEST(CurrentOptions, Variables) {
  auto with = [](std::vector<std::string> environment, std::vector<std::string> arguments = {}) {
    return *submitted(std::move(arguments), "#!/bin/sh\n", std::move(environment));
  };
  for (const char* yes : {"", "yes", "YES", "1", "2", "-1", "07"}) {
    EXPECT_TRUE(with({std::string("SBATCH_WAIT=") + yes}).wait) << yes;
  }
  for (const char* no : {"0", "no", "true", "on", "x", "00"}) {
    EXPECT_FALSE(with({std::string("SBATCH_WAIT=") + no}).wait) << no;
  }
  EXPECT_TRUE(with({"SBATCH_REQUEUE=1"}).spec.requeue() && with({"SBATCH_REQUEUE=expedite"}).spec.requeue());
  EXPECT_FALSE(with({"SBATCH_REQUEUE=0"}).spec.has_requeue());
  EXPECT_EQ(with({"SBATCH_DEBUG=2"}).verbose, 2u);
  EXPECT_EQ(with({}, {"-vvv"}).verbose, 3u);
  EXPECT_EQ(with({"SBATCH_REQ_SWITCH=1", "SBATCH_WAIT4SWITCH=2"}).spec.switches_wait_seconds(), 120u);
  EXPECT_EQ(with({"SLURM_HINT=nomultithread"}).spec.hint(), "nomultithread");
  EXPECT_EQ(with({"SLURM_UMASK=0027"}).umask, 027u);
  EXPECT_FALSE(submitted({}, "#!/bin/sh\n", {"SLURM_UMASK=9"}));
  EXPECT_EQ(
      submitted({}, "#!/bin/sh\n", {"SLURM_STEP_GRES=gpu:1"}, Command::kSrun)->spec.gres_per_node_size(), 0);
  EXPECT_EQ(submitted({}, "", {"SLURM_JOB_ID=3", "SLURM_STEP_GRES=gpu:1"}, Command::kSrun)
                ->spec.gres_per_node_size(),
            1);
}

// The values that sbatch -vv 22.05 lists for each component.
TEST(CurrentOptions, ComponentsOfHeterogeneousJobs) {
  auto plain = submitted({"-n2"});
  EXPECT_TRUE(plain->het_components.empty());
  const std::string script =
      "#!/bin/sh\n#SBATCH -J a -p short -c 2\n#SBATCH hetjob\n#SBATCH -n 3\n#SBATCH packjob\n#SBATCH -n 4\n";
  auto describe = [](const Outcome<JobRequest>& request) {
    std::string out;
    for (const model::JobSpec& spec : request->het_components) {
      out.append(spec.name()).append("/").append(spec.partition()).append("/");
      out.append(std::to_string(spec.ntasks())).append("/").append(std::to_string(spec.cpus_per_task()));
      out.append("/").append(std::to_string(spec.gres_per_node_size())).append(" ");
    }
    return out;
  };
  EXPECT_EQ(describe(submitted({}, script)), "a/short/0/2/0 a//3/0/0 a//4/0/0 ");
  EXPECT_EQ(describe(submitted({"-n7", "--gres=gpu:1"}, script)), "a/short/7/2/1 a//7/0/1 a//7/0/1 ");
  EXPECT_EQ(describe(submitted({"-n7", ":", "-n8", "--gres=gpu:1"}, script)),
            "a/short/7/2/0 a//8/0/1 a//8/0/1 ");
  EXPECT_EQ(describe(submitted({}, script, {"SBATCH_PARTITION=e"})), "a/e/0/2/0 a/e/3/0/0 a/e/4/0/0 ");
  EXPECT_EQ(describe(submitted({"-n1", "-A", "x", "--mem=5", ":", "-n2"})), "job.sh//1/0/0 job.sh//2/0/0 ");
  auto components = submitted({"-n1", "-A", "x", "--mem=5", ":", "-n2", "--mem-per-cpu=7"});
  EXPECT_EQ(components->het_components[1].account(), "x");
  EXPECT_EQ(components->het_components[1].mem_per_cpu_mib(), 7u);
  EXPECT_FALSE(components->het_components[1].has_mem_per_node_mib());
  EXPECT_EQ(components->spec.SerializeAsString(), components->het_components[0].SerializeAsString());
  EXPECT_EQ(refusal({"-n1", "-a1-3", ":", "-n2"}),
            "1: sbatch: error: Batch job submission failed: Invalid job array specification\n");
  auto steps = submitted({"-n1", "server", "-p", ":", "-n2"}, "", {}, Command::kSrun);
  EXPECT_EQ(steps->het_programs, (std::vector<std::vector<std::string>>{{"server", "-p"}, {"job.sh"}}));
}

TEST(CurrentOptions, StepsInAComponent) {
  const std::vector<std::string> environment = {"SLURM_HET_SIZE=2",
                                                "SLURM_JOB_ID=7",
                                                "SLURM_JOB_ID_HET_GROUP_0=7",
                                                "SLURM_JOB_ID_HET_GROUP_1=8",
                                                "SLURM_NTASKS=3",
                                                "SLURM_NTASKS_HET_GROUP_0=3",
                                                "SLURM_NTASKS_HET_GROUP_1=4",
                                                "SLURM_CPUS_PER_TASK=2",
                                                "SLURM_JOBID=7",
                                                "SLURM_NNODES=1",
                                                "SLURM_MEM_PER_NODE=9",
                                                "SLURM_LABELIO=1"};
  auto step = [&](std::vector<std::string> arguments) {
    return submitted(std::move(arguments), "", environment, Command::kSrun);
  };
  EXPECT_EQ(step({})->job_id, 7u);
  EXPECT_EQ(step({})->spec.ntasks(), 3u);
  auto second = step({"--het-group=1"});
  EXPECT_EQ(second->job_id, 8u);
  EXPECT_EQ(second->spec.ntasks(), 4u);
  EXPECT_FALSE(second->spec.has_cpus_per_task());
  EXPECT_TRUE(second->label);
  EXPECT_EQ(step({"--pack-group=0"})->spec.cpus_per_task(), 2u);
  for (const char* wrong : {"--het-group=2", "--het-group=0,1", "--het-group=0-1", "--het-group=x"}) {
    EXPECT_FALSE(step({wrong})) << wrong;
  }
}

TEST(CurrentOptions, ForeignLinesCountMoreThanSbatchLines) {
  const std::string script = "#!/bin/sh\n#PBS -N b -l mem=2gb -W umask=027\n#SBATCH -J a -n 3\n";
  auto request = submitted({}, script);
  EXPECT_EQ(request->spec.name(), "b");
  EXPECT_EQ(request->spec.ntasks(), 3u);
  EXPECT_EQ(request->spec.mem_per_node_mib(), 2048u);
  EXPECT_EQ(request->umask, 027u);
  EXPECT_EQ(submitted({"-J", "c"}, script)->spec.name(), "c");
  for (const auto& ignored :
       {submitted({"--ignore-pbs"}, script), submitted({}, script, {"SBATCH_IGNORE_PBS="}),
        submitted({}, script + "#SBATCH --ignore-pbs\n")}) {
    EXPECT_EQ(ignored->spec.name(), "a");
    EXPECT_FALSE(ignored->umask);
  }
}

}  // namespace
}  // namespace minke::submit
