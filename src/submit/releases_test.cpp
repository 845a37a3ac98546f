// What sbatch 24.11 and 26.05 accept, refuse and say otherwise than 22.05; and what all of them do.
#include <gtest/gtest.h>

#include "model/job_spec.pb.h"
#include "model/job_terms.pb.h"
#include "submit/job_request.h"

namespace minke::submit {
namespace {

Outcome<JobRequest> sbatch(int release, std::vector<std::string> arguments,
                           const std::string& script = "#!/bin/sh\n") {
  Invocation invocation;
  invocation.release = release;
  invocation.arguments = std::move(arguments);
  invocation.arguments.emplace_back("job.sh");
  invocation.working_directory = "/home/u";
  auto line = read_command_line(invocation);
  if (!line) return tl::unexpected(line.error());
  return make_job_request(invocation, *line, ScriptFile{"/home/u/job.sh", script});
}

// The last line of the refusal; "accepted".
std::string said(const Outcome<JobRequest>& outcome) {
  if (outcome) return "accepted";
  std::string text = outcome.error().text;
  if (text.ends_with('\n')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

TEST(Releases, RefuseWhatNewerOnesRefuse) {
  const struct {
    std::vector<std::string> options;
    int since;
    const char* words;
  } cases[] = {
      {{"--cpus-per-gpu=2"}, kSlurm24, "sbatch: error: Invalid generic resource (gres) specification"},
      {{"--gpus-per-task=1", "--ntasks-per-node=2"},
       kSlurm24,
       "sbatch: error: Invalid generic resource (gres) specification"},
      {{"--gres=gres:gpu:1"}, kSlurm24, "sbatch: error: Invalid generic resource (gres) specification"},
      {{"--signal=R:USR1"},
       kSlurm24,
       "sbatch: error: Batch job submission failed: Preemption is required but is disabled on this system"},
      {{"--exclusive", "--oversubscribe"},
       kSlurm24,
       "sbatch: fatal: --exclusive and --oversubscribe options are mutually exclusive"},
      {{"--power=level"}, kSlurm24, "Try \"sbatch --help\" for more information"},
      {{"--constraint=fast*2&slow*1"},
       kSlurm24,
       "sbatch: error: Batch job submission failed: Invalid feature specification "
       "(--constraint=fast*2&slow*1: put counts of nodes in brackets, as in \"[fast*2&slow*1]\")"},
      {{"--wckey=*key"}, kSlurm26, "sbatch: error: Batch job submission failed: Invalid wckey specification"},
      {{"--get-user-env=5"}, kSlurm26, "Try \"sbatch --help\" for more information"},
      {{"--mem-bind=sort"}, kSlurm26, "sbatch: error: unrecognized --mem-bind argument \"sort\""},
      {{"--cpu-freq=low-high"}, kSlurm26, "sbatch: error: Invalid --cpu-freq argument"},
      {{"--cpu-freq=schedutil"}, kSlurm26, "sbatch: error: Invalid --cpu-freq argument"},
      {{"--gres-flags=disable-binding,enforce-binding"},
       kSlurm26,
       "sbatch: error: Invalid --gres-flags combo: disable-binding and enforce-binding are mutually "
       "exclusive."},
      {{"--distribution=plane=2", "-N3", "-n3"},
       kSlurm26,
       "sbatch: error: Too few processes for the requested {plane,node} distribution"},
      {{"--constraint=[fast*2&slow]"},
       kSlurm26,
       "sbatch: error: Batch job submission failed: Invalid feature specification "
       "(--constraint=[fast*2&slow]: each feature between the brackets needs its count)"},
      {{"--tres-per-task=cpu=2", "-c2", "-n1"},
       kSlurm26,
       "sbatch: fatal: You can not have --tres-per-task=cpu= and --cpus-per-task please use one or the "
       "other"},
      {{"--gpus-per-task=1", "-N2", "-c2"},
       kSlurm26,
       "sbatch: error: Invalid generic resource (gres) specification"},
      {{"--propagate=nofile"}, kSlurm26, "sbatch: error: --propagate=nofile is not valid."},
      {{"--gpus-per-node=1", "--gres=gpu:1"},
       kSlurm26,
       "sbatch: fatal: --gpus-per-node and --gres=gpu are mutually exclusive."},
  };
  for (const auto& [options, since, words] : cases) {
    for (const int release : {kSlurm22, kSlurm24, kSlurm26})
      EXPECT_EQ(said(sbatch(release, options)), release < since ? "accepted" : words)
          << options[0] << release;
  }
}

TEST(Releases, AcceptWhatNewerOnesAccept) {
  for (const auto& [options, since] : {std::pair{std::vector<std::string>{"-wn[1-3]", "-N2"}, kSlurm24},
                                       std::pair{std::vector<std::string>{"--gres=gpu=1"}, kSlurm24},
                                       std::pair{std::vector<std::string>{"--partition="}, kSlurm26},
                                       std::pair{std::vector<std::string>{"--gres=gpu:1,"}, kSlurm24},
                                       std::pair{std::vector<std::string>{"--gres-flags="}, kSlurm26},
                                       std::pair{std::vector<std::string>{"-B", "1:2:1:1"}, kSlurm26}}) {
    for (const int release : {kSlurm22, kSlurm24, kSlurm26})
      EXPECT_EQ(said(sbatch(release, options)) == "accepted", release >= since) << options[0] << release;
  }
}

TEST(Releases, AllAcceptNumbersThatMeanNothing) {
  for (const char* option : {"--array=0-", "--array=%2", "--array=3%2%1", "--switches=1@", "--signal=99",
                             "--signal=-1", "--gpus=gpu:2", "--gres=gpu:3090:1", "--begin=elevenses"})
    EXPECT_EQ(said(sbatch(kSlurm26, {option})), "accepted") << option;
}

TEST(Releases, NumbersAreReadAsFarAsTheyGo) {
  const struct {
    const char* option;
    int64_t value;
    const char* note;  // behind "warning: "; nullptr: none
  } cases[] = {
      {"--nice=5x", 5, "--nice=5x is read as 5"},         {"--nice=-5x", -5, "--nice=-5x is read as -5"},
      {"--nice=1.5", 1, "--nice=1.5 is read as 1"},       {"--nice=x", 0, "--nice=x is read as 0"},
      {"--nice=+-5", 0, "--nice=+-5 is read as 0"},       {"--nice= +5", 5, nullptr},
      {"--priority=2x", 2, "--priority=2x is read as 2"}, {"--priority=", 0, "--priority= is read as 0"},
      {"--priority=-x", 0, "--priority=-x is read as 0"},
  };
  for (const auto& [option, value, note] : cases) {
    const auto request = sbatch(kSlurm26, {option});
    ASSERT_TRUE(request) << option;
    const bool nice = std::string_view(option).starts_with("--nice");
    EXPECT_EQ(nice ? request->spec.nice() : static_cast<int64_t>(request->spec.priority()), value) << option;
    EXPECT_EQ(request->notes.empty() ? "" : request->notes[0],
              note == nullptr ? "" : std::string("warning: ") + note);
  }
  EXPECT_EQ(said(sbatch(kSlurm26, {"--priority=99999999999999999999999"})),
            "sbatch: error: Priority must be < 4294967294");
  EXPECT_EQ(said(sbatch(kSlurm26, {"--nice=-99999999999999999999999"})),
            "sbatch: error: Invalid --nice value, out of range (+/- 2147483645)");
}

TEST(Releases, NegativeLimitsAreDaysOfTheOtherSide) {
  for (const auto& [option, minutes] : {std::pair{"-t-5", 4294960097u}, std::pair{"-t-100", 4294823297u},
                                        std::pair{"-t-0", 4294967295u}, std::pair{"-t-1", 4294967295u}}) {
    const auto request = sbatch(kSlurm26, {option});
    ASSERT_TRUE(request) << option;
    EXPECT_EQ(request->spec.time_limit_minutes(), minutes) << option;
  }
  for (const char* wrong : {"-t-5:30", "-t--5", "-t-1-0", "-t-99999999"})
    EXPECT_NE(said(sbatch(kSlurm26, {wrong})), "accepted") << wrong;
}

TEST(Releases, WhatIsNoCountIsAType) {
  const auto types = [](const char* option) {
    const auto request = sbatch(kSlurm26, {option});
    if (!request) return said(request);
    std::string out;
    for (const auto* list : {&request->spec.gpus(), &request->spec.gres_per_node()})
      for (const model::Gres& gres : *list)
        out += (out.empty() ? "" : ",") + gres.type() + "*" + std::to_string(gres.count());
    return out;
  };
  const std::string no_count = "sbatch: error: Invalid Trackable RESource (TRES) specification";
  const std::string no_gres = "sbatch: error: Invalid generic resource (gres) specification";
  EXPECT_EQ(types("--gpus=+1"), "+1*1");
  EXPECT_EQ(types("--gpus=-1"), "-1*1");
  EXPECT_EQ(types("--gpus= 2"), " 2*1");
  EXPECT_EQ(types("--gpus=,2,"), "*2");
  EXPECT_EQ(types("--gpus=:2"), "*2");
  EXPECT_EQ(types("--gres=gpu:a100:1:2"), "a100:1*2");
  EXPECT_EQ(types("--gres=gpu:0.5"), "0.5*1");
  EXPECT_EQ(types("--gres=gpu::2"), "*2");
  EXPECT_EQ(types("--gres=gpu:a100=2"), "a100*2");
  // As listings show it.
  EXPECT_EQ(sbatch(kSlurm26, {"--gres=gpu:1,"})->spec.tres_per_node(), "gres:gpu:1,gres:");
  EXPECT_EQ(sbatch(kSlurm26, {"-G=1"})->spec.tres_per_job(), "gres:gpu:=1");
  EXPECT_EQ(sbatch(kSlurm26, {"--gpus=,1"})->spec.tres_per_job(), "");
  EXPECT_EQ(types("--gpus=a100:+1"), no_count);
  EXPECT_EQ(types("--gpus=a100:"), no_count);
  EXPECT_EQ(types("--gres=gpu=a100:2"), no_count);
  EXPECT_EQ(types("--gres=gpu=1x"), no_count);
  EXPECT_EQ(types("--gres=gpu:a100:1x"), no_count);
  EXPECT_EQ(types("--gres=gpu=a100=2"), no_gres);
  EXPECT_EQ(types("--gres= gpu:1"), no_gres);
  EXPECT_EQ(types("--gres=gpu:1, gpu:2"), no_gres);
  EXPECT_EQ(said(sbatch(kSlurm26, {"-n2", "--gpus-per-task=-1"})), no_count);
  EXPECT_EQ(sbatch(kSlurm26, {"-n2", "--gpus-per-task=+1"})->spec.gpus_per_task(0).count(), 1u);
}

TEST(Releases, OddValuesOfSmallOptions) {
  EXPECT_EQ(said(sbatch(kSlurm26, {"--x11"})), "Try \"sbatch --help\" for more information");
  EXPECT_EQ(said(sbatch(kSlurm26, {"--segment=0"})), "accepted");
  EXPECT_EQ(said(sbatch(kSlurm26, {"--segment=x"})), "sbatch: error: Invalid --segment specification");
  EXPECT_EQ(said(sbatch(kSlurm26, {"--switches=+1"})), "accepted");
  EXPECT_EQ(sbatch(kSlurm26, {"--switches=1@x"})->notes.size(), 1u);
  EXPECT_EQ(said(sbatch(kSlurm26, {"--tres-per-task=cpu=2x", "-n1"})),
            "sbatch: error: Batch job submission failed: Invalid Trackable RESource (TRES) specification");
  EXPECT_EQ(said(sbatch(kSlurm26, {"--cpu-freq="})), "sbatch: error: Invalid --cpu-freq argument");
  EXPECT_EQ(sbatch(kSlurm26, {"--distribution=block:"})->spec.distribution(), "block:cyclic");
}

TEST(Releases, AllRefuseBindingsWithoutTheirNumber) {
  for (const char* option :
       {"--gpu-bind=single", "--gpu-bind=verbose", "--gpu-bind=map_gpu", "--distribution=fcyclic"})
    EXPECT_NE(said(sbatch(kSlurm26, {"--gpus=1", option})), "accepted") << option;
  EXPECT_EQ(said(sbatch(kSlurm22, {"--gpus=1", "--ntasks-per-gpu=2", "--ntasks-per-node=2"})),
            "sbatch: fatal: --ntasks-per-node is mutually exclusive with --ntasks-per-gpu and "
            "SLURM_NTASKS_PER_GPU");
}

TEST(Releases, NumbersTooLargeAndCountsThatAreMissing) {
  EXPECT_EQ(said(sbatch(kSlurm26, {"-n2147483648"})),
            "sbatch: error: Numeric argument (2147483648) too large for --ntasks.");
  EXPECT_EQ(said(sbatch(kSlurm22, {"-n2147483648"})),
            "sbatch: error: Invalid numeric value \"2147483648\" for --ntasks.");
  EXPECT_EQ(said(sbatch(kSlurm26, {"-N,3"})), "sbatch: error: invalid number of nodes (-N -1--1)");
  EXPECT_EQ(said(sbatch(kSlurm22, {"-N,3"})), "sbatch: error: \",3\" is not a valid node count");
  EXPECT_EQ(said(sbatch(kSlurm26, {"--priority=4294967295"})),
            "sbatch: error: Priority must be < 4294967294");
  EXPECT_EQ(sbatch(kSlurm26, {"--priority=TOP"})->spec.priority(), 4294967293u);
}

TEST(Releases, AListOfNodesForTheArbitraryDistributionCountsTasks) {
  const auto request = sbatch(kSlurm26, {"-marbitrary", "-wn2,n1,n1"});
  ASSERT_TRUE(request);
  EXPECT_EQ(request->spec.ntasks(), 3u);
  EXPECT_EQ(request->spec.node_list(), "n[2,1,1]");
}

TEST(Releases, OfOneResourceTheLastCounts) {
  const auto request = sbatch(kSlurm26, {"--gres=gpu:1,gpu:2"});
  ASSERT_TRUE(request);
  ASSERT_EQ(request->spec.gres_per_node_size(), 1);
  EXPECT_EQ(request->spec.gres_per_node(0).count(), 2u);
}

TEST(Releases, HelpOfAValueGoesToStandardOutput) {
  for (const auto& [option, status] : {std::pair{"--hint=help", 1}, std::pair{"--mem-bind=help", 255}}) {
    const auto outcome = sbatch(kSlurm26, {option});
    ASSERT_FALSE(outcome);
    EXPECT_TRUE(outcome.error().is_help);
    EXPECT_EQ(outcome.error().exit_status, status);
    EXPECT_EQ(outcome.error().text.rfind("        help            show this help message\n"),
              outcome.error().text.size() - 47);
  }
}

TEST(Releases, OddNumbers) {
  for (const int release : {kSlurm22, kSlurm24, kSlurm26}) {
    const auto unbounded = sbatch(release, {"-N2-0"});
    ASSERT_TRUE(unbounded);
    EXPECT_EQ(unbounded->spec.min_nodes(), 2u);
    EXPECT_FALSE(unbounded->spec.has_max_nodes());
    EXPECT_EQ(
        said(sbatch(release, {"-N0"})),
        "sbatch: error: Batch job submission failed: Node count specification invalid (write 2, or 2-4)");
    EXPECT_EQ(said(sbatch(release, {"-N0-2"})), "accepted");
    const auto few = sbatch(release, {"--ntasks-per-socket=65537", "--mincpus=65536", "--priority=0"});
    ASSERT_TRUE(few);
    EXPECT_EQ(few->spec.ntasks_per_socket(), 1u);
    EXPECT_FALSE(few->spec.has_min_cpus() && few->spec.min_cpus() != 0);
    EXPECT_FALSE(few->spec.has_priority() && few->spec.priority() == 0);
    const auto gpus = sbatch(release, {"--gpus=,2,"});
    ASSERT_TRUE(gpus);
    EXPECT_EQ(gpus->spec.gpus_size(), 1);
    EXPECT_EQ(gpus->spec.gpus(0).count(), 2u);
    for (const char* fine : {"--wait-all-nodes=+1", "--delay-boot=-5", "--time=99999999999",
                             "--begin=1969-01-01", "--signal=USR1@+5", "--gpu-bind=map_gpu:", "--gpus=,"})
      EXPECT_EQ(said(sbatch(release, {fine})), "accepted") << fine;
    EXPECT_EQ(sbatch(release, {"--profile=task,none"})->spec.profile(), "None");
  }
  const auto plus = sbatch(kSlurm22, {"--gpus=a100:+2"}), blank = sbatch(kSlurm22, {"--gres=gpu: 2"});
  ASSERT_TRUE(plus && blank);
  EXPECT_EQ(plus->spec.gpus(0).type() + std::to_string(plus->spec.gpus(0).count()), "a1002");
  EXPECT_EQ(blank->spec.gres_per_node(0).count(), 2u);
  EXPECT_NE(said(sbatch(kSlurm22, {"--gres=gpu:1,"})), "accepted");
  const auto listed = sbatch(kSlurm26, {"-N1,"});
  ASSERT_TRUE(listed);
  EXPECT_EQ(listed->spec.max_nodes(), 1u);
}

TEST(Releases, OldDirectivesAreUsedWithAWarning) {
  const auto request = sbatch(kSlurm26, {}, "#!/bin/sh\n#SBATCH -N2\n#SLURM -N3\n");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->spec.min_nodes(), 3u);
  ASSERT_EQ(request->notes.size(), 1u);
  EXPECT_EQ(request->notes[0],
            "error: Change from #SLURM to #SBATCH in your script and verify the options are valid in sbatch");
}

TEST(Releases, EachSeparatorBeginsAComponent) {
  for (const auto& [script, components] : {std::pair{"#SBATCH -N2\n#SBATCH hetjob\n", 2u},
                                           std::pair{"#SBATCH hetjob\n#SBATCH hetjob\n#SBATCH -n3\n", 3u}}) {
    const auto request = sbatch(kSlurm26, {}, std::string("#!/bin/sh\n") + script);
    ASSERT_TRUE(request);
    EXPECT_EQ(request->het_components.size(), components);
  }
}

TEST(Releases, AnEmptyWordEndsItsLine) {
  const auto request = sbatch(kSlurm26, {}, "#!/bin/sh\n#SBATCH -N 2 '' -n 4\n#SBATCH '' -c 2\n#PBS -r n\n");
  ASSERT_TRUE(request);
  EXPECT_FALSE(request->spec.has_ntasks());
  EXPECT_EQ(request->spec.min_nodes(), 2u);
  EXPECT_FALSE(request->spec.has_cpus_per_task());
  EXPECT_FALSE(request->spec.has_requeue());
}

TEST(Releases, CountsOfNodesStandAloneOrInBrackets) {
  for (const char* fine : {"fast*2", "[fast*2&slow*1]", "[fast*1]&big", "fast&big"})
    EXPECT_EQ(said(sbatch(kSlurm26, {std::string("--constraint=") + fine})), "accepted") << fine;
  for (const char* wrong : {"fast*1&slow", "slow|fast*1", "(fast&big)*2", "[fast*1]&slow*1"})
    EXPECT_NE(said(sbatch(kSlurm26, {std::string("--constraint=") + wrong})), "accepted") << wrong;
}

}  // namespace
}  // namespace minke::submit
