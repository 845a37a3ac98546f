#include "submit/job_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/job_spec.pb.h"
#include "model/job_terms.pb.h"
#include "text/array_spec.h"
#include "text/dependency.h"
#include "text/tres.h"

namespace minke::submit {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kNow = 1795219987;

struct Case {
  Command command = Command::kSbatch;
  std::vector<std::string> arguments;
  std::vector<std::string> environment;
  std::string script = "#!/bin/sh\n";

  Outcome<JobRequest> run() const {
    Invocation invocation;
    invocation.command = command;
    invocation.arguments = arguments;
    invocation.environment = environment;
    invocation.working_directory = "/home/u";
    invocation.now = kNow;
    auto line = read_command_line(invocation);
    if (!line) return tl::unexpected(line.error());
    std::optional<ScriptFile> file;
    if (command == Command::kSbatch && !line->wrap) file = ScriptFile{"/home/u/job.sh", script};
    return make_job_request(invocation, *line, file);
  }
};

JobRequest sbatch(std::vector<std::string> arguments, std::string script = "#!/bin/sh\n") {
  arguments.push_back("job.sh");
  Case c;
  c.arguments = std::move(arguments);
  c.script = std::move(script);
  auto request = c.run();
  EXPECT_TRUE(request) << (request ? "" : request.error().text);
  return request ? *request : JobRequest{};
}
// "<exit status>: <text>" without the last line end.
std::string refusal(const Outcome<JobRequest>& request) {
  if (request) return "accepted";
  std::string out = std::to_string(request.error().exit_status) + ": " + request.error().text;
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}
std::string refused(std::vector<std::string> arguments) {
  arguments.push_back("job.sh");
  Case c;
  c.arguments = std::move(arguments);
  return refusal(c.run());
}

TEST(JobRequest, EverydayOptions) {
  JobRequest request = sbatch({"-J",
                               "train",
                               "-o",
                               "%x-%j.out",
                               "-e",
                               "err",
                               "-i",
                               "none",
                               "-D",
                               "sub",
                               "-t1-2:30",
                               "--time-min=10",
                               "-N2-4",
                               "-n8",
                               "-c2",
                               "--mem=4G",
                               "-A",
                               "def-prof",
                               "-pgpu",
                               "-qhigh",
                               "--comment=c",
                               "--wckey=w",
                               "-C",
                               "a&b",
                               "-w",
                               "n[1-2]",
                               "-x",
                               "n3",
                               "--exclusive",
                               "-H",
                               "--nice",
                               "--priority=5",
                               "--requeue",
                               "--mail-type=end,fail",
                               "--mail-user=a@b",
                               "--open-mode=append",
                               "--signal=B:USR1@90",
                               "-L",
                               "x",
                               "--tmp=2G"});
  const model::JobSpec& spec = request.spec;
  EXPECT_EQ(spec.name(), "train");
  EXPECT_EQ(spec.stdin_path() + " " + spec.stdout_path() + " " + spec.stderr_path(),
            "/dev/null %x-%j.out err");
  EXPECT_EQ(spec.work_dir(), "/home/u/sub");
  EXPECT_EQ(spec.time_limit_minutes(), 1590u);
  EXPECT_EQ(spec.time_min_minutes(), 10u);
  EXPECT_THAT((std::vector{spec.min_nodes(), spec.max_nodes(), spec.ntasks(), spec.cpus_per_task()}),
              ElementsAre(2, 4, 8, 2));
  EXPECT_EQ(spec.mem_per_node_mib(), 4096u);
  EXPECT_EQ(spec.account() + "/" + spec.partition() + "/" + spec.qos(), "def-prof/gpu/high");
  EXPECT_EQ(spec.comment() + spec.wckey() + spec.constraint(), "cwa&b");
  EXPECT_EQ(spec.node_list() + " " + spec.exclude(), "n[1-2] n3");
  EXPECT_TRUE(spec.exclusive() && spec.hold());
  EXPECT_EQ(spec.nice(), 100);
  EXPECT_EQ(spec.priority(), 5u);
  EXPECT_TRUE(spec.has_requeue() && spec.requeue());
  EXPECT_EQ(spec.mail_type() + " " + spec.mail_user(), "END,FAIL a@b");
  EXPECT_EQ(spec.open_mode(), model::OPEN_APPEND);
  EXPECT_EQ(spec.warning_signal().number(), 10u);
  EXPECT_TRUE(spec.warning_signal().batch_only());
  EXPECT_EQ(spec.licenses(), "x");
  EXPECT_EQ(spec.tmp_mib(), 2048u);
  EXPECT_EQ(spec.command(), "/home/u/job.sh");
  EXPECT_THAT(spec.arguments(), ElementsAre("job.sh"));
  EXPECT_EQ(request.script, "#!/bin/sh\n");
  EXPECT_FALSE(spec.interactive());
}

TEST(JobRequest, WhatIsNotAskedForIsAbsent) {
  JobRequest request = sbatch({});
  model::JobSpec bare;
  bare.set_name("job.sh");
  bare.set_work_dir("/home/u");
  bare.set_command("/home/u/job.sh");
  bare.add_arguments("job.sh");
  EXPECT_EQ(request.spec.SerializeAsString(), bare.SerializeAsString());
  EXPECT_TRUE(request.given.empty());
  EXPECT_TRUE(request.notes.empty());
}

TEST(JobRequest, ArraysDependenciesAndTimes) {
  JobRequest request = sbatch({"-a", "0-4%2", "-d", "afterok:1:2?singleton", "-b", "now+1hour",
                               "--deadline=uts9999999999", "--kill-on-invalid-dep=yes", "-t", "0"});
  EXPECT_EQ(text::format_array_spec(request.spec.array()), "0-4%2");
  EXPECT_EQ(request.spec.dependencies_size(), 3);
  EXPECT_TRUE(request.spec.dependency_any());
  EXPECT_EQ(request.spec.begin_time(), kNow + 3600);
  EXPECT_EQ(request.spec.deadline(), 9999999999);
  EXPECT_TRUE(request.spec.kill_on_invalid_dependency());
  EXPECT_EQ(request.spec.time_limit_minutes(), 4294967295u);
}

TEST(JobRequest, Gpus) {
  auto list = [](const auto& field) {
    return text::format_gres_list(std::vector(field.begin(), field.end()));
  };
  EXPECT_EQ(list(sbatch({"--gres=gpu:a100:2,shard"}).spec.gres_per_node()), "gpu:a100:2,shard:1");
  EXPECT_EQ(list(sbatch({"--gpus-per-node=v100:2"}).spec.gres_per_node()), "gpu:v100:2");
  EXPECT_EQ(list(sbatch({"--gres=gpu:1,shard:2", "--gpus-per-node=4"}).spec.gres_per_node()),
            "shard:2,gpu:4");
  EXPECT_EQ(list(sbatch({"-G", "3"}).spec.gpus()), "gpu:3");
  EXPECT_EQ(list(sbatch({"--gpus-per-task=1", "-n2"}).spec.gpus_per_task()), "gpu:1");
  JobRequest request = sbatch({"--tres-per-task=cpu=3,gres/gpu:a100=1", "-n", "2"});
  EXPECT_EQ(request.spec.cpus_per_task(), 3u);
  EXPECT_EQ(list(request.spec.gpus_per_task()), "gpu:a100:1");
  EXPECT_EQ(sbatch({"--mem-per-gpu=8G", "--cpus-per-gpu=4", "-G1"}).spec.mem_per_gpu_mib(), 8192u);
}

TEST(JobRequest, CommandLineWinsOverEnvironmentOverScript) {
  const std::string script = "#!/bin/sh\n#SBATCH -t 5 -J scr -n 2\n#SBATCH --mem=100 --no-requeue\n";
  Case c{Command::kSbatch, {"job.sh"}, {"SBATCH_TIMELIMIT=7", "SBATCH_JOB_NAME=env"}, script};
  auto request = c.run();
  ASSERT_TRUE(request);
  EXPECT_EQ(request->spec.time_limit_minutes(), 7u);
  EXPECT_EQ(request->spec.name(), "env");
  EXPECT_EQ(request->spec.ntasks(), 2u);
  EXPECT_EQ(request->given.find("time")->second, Source::kEnvironment);
  EXPECT_EQ(request->given.find("ntasks")->second, Source::kScript);
  c.arguments = {"-t", "9", "--mem-per-cpu=50", "--requeue", "job.sh"};
  request = c.run();
  ASSERT_TRUE(request);
  EXPECT_EQ(request->spec.time_limit_minutes(), 9u);
  EXPECT_EQ(request->spec.mem_per_cpu_mib(), 50u);
  EXPECT_FALSE(request->spec.has_mem_per_node_mib());
  EXPECT_TRUE(request->spec.requeue());
}

TEST(JobRequest, InputVariables) {
  auto with = [](Command command, std::vector<std::string> environment) {
    Case c{command, {"prog"}, std::move(environment), "#!/bin/sh\n"};
    auto request = c.run();
    EXPECT_TRUE(request) << refusal(request);
    return *request;
  };
  EXPECT_TRUE(with(Command::kSbatch, {"SBATCH_REQUEUE="}).spec.requeue());
  EXPECT_TRUE(with(Command::kSbatch, {"SBATCH_EXCLUSIVE="}).spec.exclusive());
  EXPECT_TRUE(with(Command::kSbatch, {"SBATCH_WAIT=1"}).wait);
  EXPECT_FALSE(with(Command::kSbatch, {"SBATCH_WAIT=0"}).wait);
  EXPECT_EQ(with(Command::kSbatch, {"SBATCH_ARRAY_INX=1-3"}).spec.array().ranges_size(), 1);
  EXPECT_FALSE(with(Command::kSbatch, {"SALLOC_TIMELIMIT=3", "SLURM_NTASKS=4"}).spec.has_ntasks());
  EXPECT_EQ(with(Command::kSrun, {"SLURM_DISTRIBUTION=plane", "SLURM_DIST_PLANESIZE=2"}).spec.distribution(),
            "plane=2");
  EXPECT_EQ(with(Command::kSalloc, {"SALLOC_TIMELIMIT=3"}).spec.time_limit_minutes(), 3u);
  JobRequest step =
      with(Command::kSrun, {"SLURM_JOB_ID=12", "SLURM_NTASKS=4", "SLURM_NNODES=2", "SLURM_JOB_NUM_NODES=2",
                            "SLURM_LABELIO=1", "SLURM_CPUS_PER_TASK=9"});
  EXPECT_EQ(step.job_id, 12u);
  EXPECT_EQ(step.spec.ntasks(), 4u);
  EXPECT_EQ(step.spec.min_nodes(), 2u);
  EXPECT_TRUE(step.label);
  EXPECT_EQ(step.spec.cpus_per_task(), 9u);  // as current Slurm has it again
  EXPECT_EQ(refusal(Case{Command::kSbatch, {"job.sh"}, {"SBATCH_TIMELIMIT=x"}, "#!/bin/sh\n"}.run()),
            "255: sbatch: error: Invalid --time specification");
  EXPECT_EQ(
      refusal(
          Case{Command::kSbatch, {"job.sh"}, {"SLURM_EXIT_ERROR=9", "SBATCH_GRES=:"}, "#!/bin/sh\n"}.run()),
      "9: sbatch: error: Invalid generic resource (gres) specification");
}

TEST(JobRequest, AScriptCannotSilenceTheNumberOfItsJob) {
  EXPECT_FALSE(sbatch({}, "#!/bin/sh\n#SBATCH -Q\n").quiet);
  EXPECT_TRUE(sbatch({"-Q"}, "#!/bin/sh\n#SBATCH --quiet\n").quiet);
}

// The texts and exit statuses come from sbatch 22.05.
TEST(JobRequest, BadValuesAreRefusedAsSlurmDoes) {
  const std::pair<const char*, const char*> cases[] = {
      {"--mem=x", "255: sbatch: error: Invalid --mem specification"},
      {"--mem=-1", "255: sbatch: error: Invalid --mem specification"},
      {"--mem-per-cpu=x", "255: sbatch: error: Invalid --mem-per-cpu specification"},
      {"--mem-per-gpu=x", "255: sbatch: error: Invalid --mem-per-gpu specification"},
      {"-tx", "255: sbatch: error: Invalid --time specification"},
      {"--time-min=x", "255: sbatch: error: Invalid --time-min specification"},
      {"-n0", "1: sbatch: error: Invalid numeric value \"0\" for --ntasks."},
      {"-n-1", "1: sbatch: error: Invalid numeric value \"-1\" for --ntasks."},
      {"-n++1", "1: sbatch: error: Invalid numeric value \"++1\" for --ntasks."},
      {"-nx", "1: sbatch: error: Invalid numeric value \"x\" for --ntasks."},
      {"-n4294967296", "1: sbatch: error: Invalid numeric value \"4294967296\" for --ntasks."},
      {"-c0", "1: sbatch: error: Invalid numeric value \"0\" for --cpus-per-task."},
      {"--ntasks-per-node=0", "1: sbatch: error: Invalid numeric value \"0\" for --ntasks-per-node."},
      {"--begin=foo",
       "255: Invalid time specification (pos=0): foo\nsbatch: error: Invalid --begin specification"},
      {"--deadline=foo",
       "255: Invalid time specification (pos=0): foo\nsbatch: error: Invalid --deadline specification"},
      {"--begin=now+1month",
       "255: Invalid time specification (pos=4): now+1month\nsbatch: error: Invalid --begin specification"},
      {"--begin=4pm",
       "255: Invalid time specification (pos=1): 4pm\nsbatch: error: Invalid --begin specification"},
      {"--mem-bind=x", "255: sbatch: error: unrecognized --mem-bind argument \"x\""},
      {"--partition=",
       "1: sbatch: error: invalid partition specified: (null)\nsbatch: error: Batch job submission failed: "
       "Invalid "
       "partition name specified"},
      {"--gres=gpu=1", "1: sbatch: error: Invalid generic resource (gres) specification"},
      {"--mem-per-gpu=1G",
       "1: sbatch: error: Requested mem_per_tres=gres:gpu:1024 but did not request any GPU.\nsbatch: error: "
       "Invalid "
       "generic resource (gres) specification"},
      {"-dexpand:5",
       "1: sbatch: error: Batch job submission failed: Requested operation not supported on this system"},
      {"-afoo", "1: sbatch: error: Batch job submission failed: Invalid job array specification"},
      {"-dfoo", "1: sbatch: error: Batch job submission failed: Job dependency problem"},
      {"--signal=foo", "255: sbatch: error: Invalid --signal specification"},
      {"--mail-type=foo", "255: sbatch: error: Invalid --mail-type specification"},
      {"--nice=99999999999", "255: sbatch: error: Invalid --nice value, out of range (+/- 2147483645)"},
      {"--priority=-1", "255: sbatch: error: Priority must be >= 0"},
      {"--open-mode=x", "255: sbatch: error: Invalid --open-mode specification"},
      {"--cpus-per-gpu=x", "1: sbatch: error: Invalid numeric value \"x\" for --cpus-per-gpu."},
      {"--exclusive=foo", "255: sbatch: error: Invalid --exclusive specification"},
      {"--tmp=x", "255: sbatch: error: Invalid --tmp specification"},
      {"--get-user-env=5Q", "255: sbatch: error: Invalid --get-user-env specification"},
      {"--propagate=FOO",
       "1: sbatch: error: Bad rlimit name: FOO\nsbatch: error: --propagate=FOO is not valid."},
      {"--kill-on-invalid-dep=foo", "255: sbatch: error: Invalid --kill-on-invalid-dep specification"},
      {"--distribution=foo", "255: sbatch: error: Invalid --distribution specification"},
      {"--hint=foo", "1: sbatch: error: unrecognized --hint argument \"foo\", see --hint=help"},
      {"--hint=nomultithread,exclusive",
       "1: sbatch: error: unrecognized --hint argument \"exclusive\", see --hint=help"},
      {"--gres=gpu:2,gpu:a100:1",
       "1: sbatch: error: Invalid GRES specification (with and without type identification)"},
      {"--wait-all-nodes=5", "255: sbatch: error: Invalid --wait-all-nodes specification"},
      {"-N4-2", "255: sbatch: error: Maximum node count 2 is less than minimum node count 4"},
      {"-Nx", "255: sbatch: error: \"x\" is not a valid node count"},
      {"-N-x", "255: sbatch: error: \"x\" is not a valid node count"},
      {"-N1-x", "255: sbatch: error: \"x\" is not a valid node count"},
      {"-wn[1-", "1: sbatch: error: Batch job submission failed: Invalid node name specified"},
      {"--gpus-per-task=1",
       "1: sbatch: error: Failed to validate job spec. --gpus-per-task used without either --gpus or "
       "-n/--ntasks is not "
       "allowed.\nsbatch: error: Invalid generic resource (gres) specification"},
  };
  for (const auto& [argument, text] : cases) EXPECT_EQ(refused({argument}), text);
  EXPECT_EQ(refused({"--mem=4G", "--mem-per-cpu=1G"}),
            "1: sbatch: fatal: --mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.");
  EXPECT_EQ(refused({"--time-min=10", "-t5"}),
            "1: sbatch: error: Batch job submission failed: Invalid time-min specification (exceeds job's "
            "time or other "
            "limits)");
}

TEST(JobRequest, GoodValuesThatLookOdd) {
  EXPECT_EQ(sbatch({"-N2k"}).spec.min_nodes(), 2048u);
  EXPECT_EQ(sbatch({"-N3 "}).spec.min_nodes(), 3u);
  EXPECT_EQ(sbatch({"--mem=0"}).spec.mem_per_node_mib(), 0u);
  EXPECT_TRUE(sbatch({"--mem=0"}).spec.has_mem_per_node_mib());
  EXPECT_EQ(sbatch({"--mail-type=BEGIN,foo"}).spec.mail_type(), "BEGIN");
  EXPECT_EQ(sbatch({"--mail-type=BEGIN,none"}).spec.mail_type(), "NONE");
  EXPECT_EQ(sbatch({"--mail-type=NONE,END"}).spec.mail_type(), "NONE");
  EXPECT_EQ(sbatch({"--mail-type=FAIL", "--mail-type=NONE"}).spec.mail_type(), "FAIL");
  EXPECT_EQ(sbatch({"--nice=-5"}).spec.nice(), -5);
  EXPECT_TRUE(sbatch({"--no-kill"}).spec.no_kill());
  EXPECT_FALSE(sbatch({"--no-kill=off"}).spec.no_kill());
  EXPECT_TRUE(sbatch({"--get-user-env=10L"}).spec.get_user_env());
  EXPECT_EQ(sbatch({"--export=ALL"}).spec.export_option(), "");
  EXPECT_EQ(sbatch({"--export=ALL,A=1"}).spec.export_option(), "ALL,A=1");
  EXPECT_THAT(sbatch({"--propagate=nofile,RLIMIT_CORE"}).propagate.value(), ElementsAre("NOFILE", "CORE"));
  EXPECT_TRUE(sbatch({"--propagate=NONE"}).propagate->empty());
  EXPECT_FALSE(sbatch({"--propagate"}).propagate);
  EXPECT_EQ(sbatch({"-vvv"}).verbose, 3u);
  EXPECT_EQ(sbatch({"-a", ""}).spec.array().ranges_size(), 0);
  EXPECT_EQ(sbatch({"-D", "/abs"}).spec.work_dir(), "/abs");
}

TEST(JobRequest, TasksAndNodes) {
  JobRequest request = sbatch({"-n", "2", "-N", "5"});
  EXPECT_EQ(request.spec.min_nodes(), 2u);
  EXPECT_THAT(request.notes, ElementsAre("Warning: can't run 2 processes on 5 nodes, setting nnodes to 2"));
  EXPECT_EQ(sbatch({"-N", "3", "--ntasks-per-node=4"}).spec.ntasks(), 12u);
  EXPECT_EQ(sbatch({"--tasks-per-node=4", "-N1", "-n2"}).spec.ntasks(), 2u);
  EXPECT_THAT(refused({"-N", "1000000", "--ntasks-per-node=1000000"}), HasSubstr("too many tasks"));
}

TEST(JobRequest, ContainersAreBundlesOrImages) {
  EXPECT_EQ(sbatch({"--container=b"}).spec.container(), "b");
  const auto image = sbatch({"--container-image=oci:/l:v1", "--container-mounts=/a,/b:/c:ro+bind",
                             "--container-name=box:auto", "--no-container-mount-home"})
                         .spec.container_image();
  EXPECT_EQ(image.image(), "oci:/l:v1");
  EXPECT_THAT(image.mounts(), ElementsAre("/a:/a", "/b:/c:ro+bind"));
  EXPECT_EQ(image.name(), "box");
  EXPECT_TRUE(image.has_mount_home() && !image.mount_home());
  EXPECT_THAT(refused({"--container-image=ubuntu"}), HasSubstr("skopeo copy docker://"));
  EXPECT_THAT(refused({"--container-name=../x"}), HasSubstr("does not begin with '.'"));
  EXPECT_THAT(refused({"--container-workdir=/x"}), HasSubstr("need --container-image"));
}

TEST(JobRequest, RefusedOptionsSayWhy) {
  EXPECT_THAT(refused({"--uid=root"}), HasSubstr("a job runs as whoever submits it"));
  EXPECT_THAT(refusal(Case{Command::kSrun, {"--mpi=lam", "a"}, {}, ""}.run()),
              HasSubstr("srun: error: Invalid MPI type 'lam', --mpi=list for acceptable types"));
  // Harmless ones are accepted.
  EXPECT_EQ(refused({"--switches=1@5", "--network=x", "--hint=nomultithread", "-M", "c", "--profile=all"}),
            "accepted");
}

TEST(JobRequest, ScriptsWithBadLines) {
  auto with = [](std::string script) {
    return refusal(Case{Command::kSbatch, {"job.sh"}, {}, std::move(script)}.run());
  };
  EXPECT_EQ(with("#!/bin/sh\n#SBATCH hostname\n"),
            "255: sbatch: error: Invalid directive found in batch script: hostname");
  EXPECT_EQ(with("#!/bin/sh\n#SBATCH --foo\n"),
            "255: sbatch: unrecognized option '--foo'\nTry \"sbatch --help\" for more information");
  EXPECT_EQ(with("#!/bin/sh\n#SBATCH -J \"x\n"),
            "1: sbatch: fatal: job.sh: line 2: Unmatched `\"` in [ \"x]");
  EXPECT_EQ(with(""), "1: sbatch: error: Batch script is empty!");
  EXPECT_EQ(with("hostname\n"),
            "1: sbatch: error: This does not look like a batch script.  The first\n"
            "sbatch: error: line must start with #! followed by the path to an interpreter.\n"
            "sbatch: error: For instance: #!/bin/sh");
  // A line in a script shows neither help nor version.
  EXPECT_EQ(with("#!/bin/sh\n#SBATCH --help -V\n"), "accepted");
}

TEST(JobRequest, LinesOfOtherSystemsAreMentioned) {
  EXPECT_EQ(sbatch({}, "#!/bin/sh\n#PBS -l nodes=2\n").spec.min_nodes(), 2u);
  EXPECT_FALSE(sbatch({"--ignore-pbs"}, "#!/bin/sh\n#PBS -l nodes=2\n").spec.has_min_nodes());
}

TEST(JobRequest, WrapAndStandardInput) {
  Case c{Command::kSbatch, {"--wrap=echo hi", "-n2"}, {}, ""};
  auto request = c.run();
  ASSERT_TRUE(request);
  EXPECT_EQ(request->script, "#!/bin/sh\n# This script was created by sbatch --wrap.\n\necho hi\n");
  EXPECT_EQ(request->spec.name(), "wrap");
  EXPECT_EQ(request->spec.command(), "");
  c.arguments = {};
  c.script = "#!/bin/sh\nhostname\n";
  request = c.run();
  ASSERT_TRUE(request);
  EXPECT_EQ(request->spec.name(), "sbatch");
}

TEST(JobRequest, HintGivesWayToWhatItStandsFor) {
  EXPECT_EQ(sbatch({"--hint=nomultithread", "--threads-per-core=2"}).spec.hint(), "");
  EXPECT_EQ(sbatch({"--hint=nomultithread"}).spec.hint(), "nomultithread");
  EXPECT_EQ(sbatch({"--hint=compute_bound,memory_bound"}).spec.hint(), "memory_bound");
  Case of_script{Command::kSbatch, {"--hint=nomultithread"}, {}, "#!/bin/sh\n#SBATCH --ntasks-per-core=1\n"};
  EXPECT_EQ(of_script.run()->spec.hint(), "nomultithread");
}

TEST(JobRequest, Salloc) {
  auto request = Case{Command::kSalloc, {"-I5", "-K", "-n2", "bash", "-l"}, {}, ""}.run();
  ASSERT_TRUE(request);
  EXPECT_EQ(request->immediate_seconds, 5u);
  EXPECT_EQ(request->kill_command_signal, 15u);
  EXPECT_THAT(request->arguments, ElementsAre("bash", "-l"));
  EXPECT_EQ(request->spec.name(), "interactive");
  EXPECT_TRUE(request->spec.interactive());
  EXPECT_EQ((Case{Command::kSalloc, {"--no-shell"}, {}, ""}.run())->spec.name(), "interactive");
  EXPECT_EQ(refusal(Case{Command::kSalloc, {"-dfoo"}, {}, ""}.run()),
            "1: salloc: error: Job submit/allocate failed: Job dependency problem");
}

TEST(JobRequest, Srun) {
  auto request = Case{Command::kSrun,
                      {"-n4", "-l", "-u", "--pty", "--overlap", "--exact", "-K", "-W", "30", "-r1",
                       "--jobid=7", "--mpi=none", "-X", "./prog", "-n", "x"},
                      {},
                      ""}
                     .run();
  ASSERT_TRUE(request) << refusal(request);
  EXPECT_TRUE(request->label && request->unbuffered && request->pty && request->overlap && request->exact);
  EXPECT_EQ(request->kill_on_bad_exit, true);
  EXPECT_EQ(request->wait_seconds, 30u);
  EXPECT_EQ(request->relative_node, 1u);
  EXPECT_EQ(request->job_id, 7u);
  EXPECT_THAT(request->arguments, ElementsAre("./prog", "-n", "x"));
  EXPECT_EQ(request->spec.name(), "prog");
  EXPECT_EQ((Case{Command::kSrun, {"-K0", "a"}, {}, ""}.run())->kill_on_bad_exit, false);
  EXPECT_EQ(refusal(Case{Command::kSrun, {"-n2"}, {}, ""}.run()),
            "1: srun: fatal: No command given to execute.");
  EXPECT_EQ(refusal(Case{Command::kSrun, {"-K=x", "a"}, {}, ""}.run()),
            "1: srun: error: Invalid numeric value \"=x\" for --kill-on-bad-exit.");
  EXPECT_EQ(refusal(Case{Command::kSrun, {"--jobid=x", "a"}, {}, ""}.run()),
            "1: srun: error: Invalid numeric value \"x\" for --jobid.");
}

TEST(JobRequest, SrunExclusiveDependsOnWhere) {
  auto within = Case{Command::kSrun, {"--exclusive", "a"}, {"SLURM_JOB_ID=3"}, ""}.run();
  EXPECT_TRUE(within->exact && !within->spec.exclusive());
  auto alone = Case{Command::kSrun, {"--exclusive", "a"}, {}, ""}.run();
  EXPECT_TRUE(!alone->exact && alone->spec.exclusive());
}

}  // namespace
}  // namespace minke::submit
