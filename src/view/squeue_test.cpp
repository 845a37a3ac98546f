#include "view/squeue.h"

#include <gtest/gtest.h>

#include "api/job_filter.pb.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "model/job_terms.pb.h"
#include "model/step_record.pb.h"
#include "view/steps.h"
#include "view/test_records.h"

namespace minke::view {
namespace {

using test::at;

class Squeue : public testing::Test {
 protected:
  void SetUp() override {
    test::use_utc();
    using namespace model;
    JobRecord arr = test::job(48, "arr", JOB_PENDING, WAIT_ARRAY_TASK_LIMIT);
    arr.set_array_job_id(48);
    arr.set_priority(4294901723);
    test::add_range(*arr.mutable_array_pending(), 7, 9);
    arr.mutable_array_pending()->set_max_running(2);
    add(arr);
    JobRecord task = test::on_node(test::job(58, "arr", JOB_RUNNING), "n2", at(0, 29, 53));
    task.set_array_job_id(48);
    task.set_array_task_id(5);
    task.set_priority(4294901723);
    add(task);
    JobRecord big = test::job(49, "arrh", JOB_PENDING, WAIT_HELD_USER);
    big.set_array_job_id(49);
    for (uint32_t index : {1, 3, 5, 7, 9, 11, 20})
      test::add_range(*big.mutable_array_pending(), index, index);
    test::add_range(*big.mutable_array_pending(), 22, 30);
    add(big);
    JobRecord dep = test::job(50, "dep", JOB_PENDING, WAIT_DEPENDENCY);
    dep.set_priority(4294901722);
    dep.set_time_limit_minutes(36 * 60);
    Dependency& after = *dep.mutable_spec()->add_dependencies();
    after.set_type(AFTER_OK);
    after.set_job_id(47);
    Dependency& any = *dep.mutable_spec()->add_dependencies();
    any.set_type(AFTER_ANY);
    any.set_job_id(47);
    any.set_delay_minutes(5);
    add(dep);
    JobRecord train = test::job(23, "train_resnet50_big", JOB_RUNNING);
    train.set_priority(4294901743);
    train.set_num_nodes(2);
    train.set_num_cpus(4);
    train.set_time_limit_minutes(120);
    train = test::on_node(train, "n1", at(0, 26, 43));
    train.set_node_list("n[1-2]");
    train.mutable_spec()->set_ntasks_per_node(2);
    train.mutable_spec()->set_mem_per_node_mib(1024);
    train.set_memory_mib(2048);
    train.mutable_spec()->set_command("/tmp/realslurm/w/train.sh");
    for (const char* word : {"train.sh", "a1", "b c"}) train.mutable_spec()->add_arguments(word);
    train.mutable_spec()->set_comment("a comment");
    test::add_gres(*train.mutable_spec()->mutable_gres_per_node(), "a100", 1);
    add(train);
    JobRecord endless = test::on_node(test::job(47, "long", JOB_RUNNING), "n2", at(0, 29, 53));
    endless.set_priority(4294901724);
    endless.set_time_limit_minutes(kUnlimited);
    endless.mutable_spec()->set_mem_per_node_mib(100);
    add(endless);
    JobRecord failed = test::on_node(test::job(21, "fail", JOB_FAILED, FAIL_EXIT_CODE), "n3", at(0, 26, 40));
    failed.set_priority(4294901745);
    failed.set_end_time(at(0, 26, 41));
    add(failed);
    JobRecord lists = test::job(29, "beg", JOB_PENDING, WAIT_TIME);
    lists.set_partition("main,short");
    lists.set_priority(4294901738);
    add(lists);
    context_ = test::context_at(0, 29, 56);
  }

  void add(model::JobRecord record) {
    records_.push_back(std::make_unique<model::JobRecord>(std::move(record)));
  }

  std::string listing(const SqueueOptions& options) {
    std::vector<const model::JobRecord*> jobs;
    for (const auto& record : records_) jobs.push_back(record.get());
    std::vector<std::string> problems;
    Table<JobLine> table = job_table(options, problems);
    problems_ = problems;
    auto lines = job_lines(jobs, options, context_);
    if (!lines) return lines.error().message;
    std::string out;
    if (!options.no_header) table.append_header(out);
    for (const JobLine& line : *lines) table.append_line(line, context_, out);
    return out;
  }
  std::string one(uint32_t id, const char* format) {
    SqueueOptions options;
    options.no_header = true;
    options.all_states = true;
    options.format = format;
    options.jobs.emplace_back().set_job_id(id);
    return listing(options);
  }

  std::vector<std::unique_ptr<model::JobRecord>> records_;
  std::vector<std::string> problems_;
  DisplayContext context_;
};

TEST_F(Squeue, ListsAsSlurmDoesByDefault) {
  EXPECT_EQ(listing({}),
            "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)\n"
            "        48_[7-9%2]      main      arr     root PD       0:00      1 (JobArrayTaskLimit)\n"
            "                50      main      dep     root PD       0:00      1 (Dependency)\n"
            "49_[1,3,5,7,9,11,2      main     arrh     root PD       0:00      1 (JobHeldUser)\n"
            "                23      main train_re     root  R       3:13      2 n[1-2]\n"
            "                47      main     long     root  R       0:03      1 n2\n"
            "              48_5      main      arr     root  R       0:03      1 n2\n"
            "                29 main,shor      beg     root PD       0:00      1 (BeginTime)\n");
}

TEST_F(Squeue, LongAndStartFormats) {
  SqueueOptions options;
  options.long_list = true;
  options.jobs.emplace_back().set_job_id(50);
  options.jobs.emplace_back().set_job_id(47);
  EXPECT_EQ(
      listing(options),
      "             JOBID PARTITION     NAME     USER    STATE       TIME TIME_LIMI  NODES NODELIST(REASON)\n"
      "                50      main      dep     root  PENDING       0:00 1-12:00:00      1 (Dependency)\n"
      "                47      main     long     root  RUNNING       0:03 UNLIMITED      1 n2\n");
  options = SqueueOptions();
  options.start = true;
  options.jobs.emplace_back().set_job_id(50);
  EXPECT_EQ(listing(options),
            "             JOBID PARTITION     NAME     USER ST          START_TIME  NODES SCHEDNODES         "
            "  NODELIST(REASON)\n"
            "                50      main      dep     root PD                 N/A      1 (null)             "
            "  (Dependency)\n");
}

TEST_F(Squeue, PrintsAllFields) {
  SqueueOptions options;
  options.format = "%all";
  options.jobs.emplace_back().set_job_id(47);
  EXPECT_EQ(
      listing(options),
      "ACCOUNT|TRES_PER_NODE|MIN_CPUS|MIN_TMP_DISK|END_TIME|FEATURES|GROUP|OVER_SUBSCRIBE|JOBID|NAME|COMMENT|"
      "TIME_LIMIT|MIN_MEMORY|REQ_NODES|COMMAND|PRIORITY|QOS|REASON|SLUID|ST|USER|RESERVATION|WCKEY|EXC_NODES|"
      "NICE|"
      "S:C:T|JOBID|EXEC_HOST|CPUS|NODES|DEPENDENCY|ARRAY_JOB_ID|GROUP|SOCKETS_PER_NODE|CORES_PER_SOCKET|"
      "THREADS_PER_CORE|ARRAY_TASK_ID|TIME_LEFT|TIME|NODELIST|CONTIGUOUS|PARTITION|PRIORITY|NODELIST(REASON)|"
      "START_TIME|STATE|UID|SUBMIT_TIME|LICENSES|CORE_SPEC|SCHEDNODES|WORK_DIR\n"
      "(null)|N/"
      "A|1|0|NONE|(null)|root|OK|47|long|(null)|UNLIMITED|100M||(null)|0.99998473306186|(null)|None|"
      "s000000000001F|R|"
      "root|(null)|(null)||0|*:*:*|47|n2|1|1|(null)|47|0|*|*|*|N/A|UNLIMITED|0:03|n2|0|main|4294901724|n2|"
      "2026-11-21T00:29:53|RUNNING|0|N/A|(null)|N/A|(null)|/tmp/realslurm/w\n");
}

TEST_F(Squeue, FieldsOfAMultiNodeGpuJob) {
  EXPECT_EQ(one(23, "%b|%c|%m|%o|%k|%L|%e|%B"),
            "gres:gpu:a100:1|2|1G|/tmp/realslurm/w/train.sh|a comment|1:56:47|2026-11-21T02:26:43|n1\n");
}

TEST_F(Squeue, NarrowRightJustifiedColumnsCutOnlySomeFields) {
  EXPECT_EQ(one(23, "%.1l|%.1L|%.1M|%.1N|%.1R|%.1j|%.1S|%.1P"), "2:00:00|1:56:47|3:13|n[1-2]|n[1-2]|t|2|m\n");
  EXPECT_EQ(one(23, "%1l|%1N|%1M"), "2|n|3\n");
}

TEST_F(Squeue, ReasonsStandInPlaceOfNodes) {
  EXPECT_EQ(one(21, "%i %t %R %N"), "21 F (NonZeroExitCode) n3\n");
  EXPECT_EQ(one(50, "%E"), "afterok:47(unfulfilled),afterany:47+5(unfulfilled)\n");
}

TEST_F(Squeue, ArrayTasks) {
  EXPECT_EQ(one(49, "%i|%K|%F|%A"), "49_[1,3,5,7,9,11,20,22-30]|1,3,5,7,9,11,20,22-30|49|49\n");
  EXPECT_EQ(one(58, "%i|%K|%F|%A"), "48_5|5|48|58\n");
  EXPECT_EQ(one(47, "%i|%K|%F|%A"), "47|N/A|47|47\n");
  SqueueOptions options;
  options.no_header = true;
  options.array = true;
  options.format = "%i %K";
  options.jobs.emplace_back().set_job_id(48);
  EXPECT_EQ(listing(options), "48_7 7\n48_8 8\n48_9 9\n48_5 5\n");
}

TEST_F(Squeue, ShowsTheTasksThatWereNamed) {
  SqueueOptions options;
  options.no_header = true;
  options.format = "%i %t";
  api::JobSelector& selector = options.jobs.emplace_back();
  selector.set_job_id(48);
  model::IndexRange& range = *selector.add_tasks();
  range.set_first(5);
  range.set_last(8);
  range.set_step(1);
  EXPECT_EQ(listing(options), "48_[7-8] PD\n48_5 R\n");
  options.array = true;
  EXPECT_EQ(listing(options), "48_7 PD\n48_8 PD\n48_5 R\n");
  options.array = false;
  range.set_last(7);
  EXPECT_EQ(listing(options), "48_7 PD\n48_5 R\n");
}

TEST_F(Squeue, SortsAsAsked) {
  SqueueOptions options;
  options.no_header = true;
  options.format = "%i";
  options.sort = "-i,+P";
  EXPECT_EQ(listing(options), "50\n49_[1,3,5,7,9,11,20,22-30]\n48_[7-9%2]\n48_5\n47\n29\n23\n");
  options.sort = "-M,j";
  EXPECT_EQ(listing(options), "23\n48_5\n47\n48_[7-9%2]\n49_[1,3,5,7,9,11,20,22-30]\n29\n50\n");
  options.sort = "o!";
  EXPECT_EQ(listing(options), "Invalid sort specification: !");
  options.sort = "o,i";  // shown, but not a sort key
  EXPECT_EQ(listing(options), "Invalid sort specification: o");
}

TEST_F(Squeue, PartitionListsMatchEachOfTheirNames) {
  SqueueOptions options;
  options.no_header = true;
  options.format = "%i %P";
  options.partitions = {"short"};
  EXPECT_EQ(listing(options), "29 main,short\n");
  options.per_partition = true;
  options.partitions = {"main", "short"};
  options.jobs.emplace_back().set_job_id(29);
  EXPECT_EQ(listing(options), "29 main\n29 short\n");
  // By priority, the partition's tier counts before the job's own priority.
  options.sort = "p";
  options.partition_tiers = {{"main", 2}, {"short", 1}};
  EXPECT_EQ(listing(options), "29 short\n29 main\n");
  options.partition_tiers = {{"main", 1}, {"short", 2}};
  EXPECT_EQ(listing(options), "29 main\n29 short\n");
}

TEST_F(Squeue, RunningForLongerAndShorter) {
  const auto running = [&](std::optional<int64_t> over, std::optional<int64_t> under) {
    SqueueOptions options;
    options.no_header = true;
    options.format = "%i";
    options.running_over = over;
    options.running_under = under;
    return listing(options);
  };
  EXPECT_EQ(running(2, {}), "23\n47\n48_5\n");  // 47 for three seconds
  EXPECT_EQ(running({}, 4), "47\n48_5\n");
  EXPECT_EQ(running(3, {}), "23\n");
  EXPECT_EQ(running({}, 3), "");
}

TEST_F(Squeue, StatesFilter) {
  SqueueOptions options;
  options.no_header = true;
  options.format = "%i %T";
  options.filter_states = true;
  options.states = {model::JOB_FAILED};
  EXPECT_EQ(listing(options), "21 FAILED\n");
  records_.back()->set_state(model::JOB_COMPLETE);
  records_.back()->set_completing(true);
  options.states.clear();
  options.completing_state = true;
  EXPECT_EQ(listing(options), "29 COMPLETING\n");
}

TEST_F(Squeue, LongNamesWithWidthsAndSuffixes) {
  SqueueOptions options;
  options.long_format =
      "JobID:.1,Name:1,tres-alloc:.3,NodeList:.2,Command:.3,minmemory:.1x,jobid:##,username: a b ,state";
  options.jobs.emplace_back().set_job_id(23);
  EXPECT_EQ(listing(options),
            "JNTRENODELISTCOMMxJOBID##USER a b STATE               \n"
            "2tcpun[1-2]/tm1x23##root a b RUNNING             \n");
}

TEST_F(Squeue, UnknownFieldsAreNamedAndTheRestIsPrinted) {
  SqueueOptions options;
  options.format = "x%!y%i";
  options.jobs.emplace_back().set_job_id(47);
  EXPECT_EQ(listing(options), "x%!yJOBID\nx%!y47\n");
  EXPECT_EQ(problems_, std::vector<std::string>{"!"});
  options.format.reset();
  options.long_format = "foo,jobid";
  EXPECT_EQ(listing(options), "JOBID               \n47                  \n");
  EXPECT_EQ(problems_, std::vector<std::string>{"foo"});
}

TEST_F(Squeue, StepsBesideTheirJobs) {
  std::vector<model::StepRecord> steps(4);
  steps[0].set_job_id(58);
  steps[0].set_kind(model::STEP_BATCH);
  steps[0].set_array_job_id(48);
  steps[0].set_array_task_id(5);
  steps[1].set_job_id(47);
  steps[1].set_kind(model::STEP_BATCH);
  steps[2].set_job_id(47);
  steps[3].set_job_id(99);  // its job is missing
  std::vector<const model::StepRecord*> step_pointers;
  for (model::StepRecord& step : steps) {
    step.set_state(model::JOB_RUNNING);
    step.set_name(step.kind() == model::STEP_BATCH ? "batch" : "sleep");
    step.set_start_time(at(0, 29, 53));
    step.set_node_list("n2");
    step.set_num_tasks(1);
    step_pointers.push_back(&step);
  }
  std::vector<const model::JobRecord*> jobs;
  for (const auto& record : records_) jobs.push_back(record.get());
  SqueueOptions options;
  auto print = [&] {
    std::vector<std::string> problems;
    Table<StepLine> table = step_table(options, problems);
    std::string out;
    table.append_header(out);
    auto lines = step_lines(step_pointers, jobs, options);
    EXPECT_TRUE(lines);
    for (const StepLine& line : *lines) table.append_line(line, context_, out);
    return out;
  };
  EXPECT_EQ(print(),
            "         STEPID     NAME PARTITION     USER      TIME NODELIST\n"
            "           47.0    sleep      main     root      0:03 n2\n"
            "       47.batch    batch      main     root      0:03 n2\n"
            "     48_5.batch    batch      main     root      0:03 n2\n");
  options.steps.push_back({.job = {}, .step_id = 0, .kind = model::STEP_NORMAL});
  options.steps.back().job.set_job_id(47);
  options.format = "%all";
  EXPECT_EQ(print(),
            "TRES_PER_JOB|STEPID|NAME|TIME_LIMIT|USER|TASKS|TIME|NODELIST|PARTITION|START_TIME|UID|\n"
            "(null)|47.0|sleep|UNLIMITED|root|1|0:03|n2|main|2026-11-21T00:29:53|0|\n");
}

TEST_F(Squeue, FieldsHaveDistinctNamesAndLetters) {
  for (const JobField& field : job_fields()) {
    EXPECT_EQ(find_field(job_fields(), field.name), &field) << field.name;
    if (field.letter != '\0') {
      EXPECT_EQ(find_field(job_fields(), field.letter), &field) << field.letter;
      EXPECT_TRUE(job_sort_key(field.letter)) << field.letter;
    }
  }
}

TEST_F(Squeue, AsksForShortRecordsWhereTheyHaveAllThatIsShown) {
  const auto suffice = [](SqueueOptions options) {
    std::vector<std::string> problems;
    return brief_records_suffice(options, job_table(options, problems));
  };
  EXPECT_TRUE(suffice({}));
  EXPECT_TRUE(suffice({.long_list = true}));
  EXPECT_TRUE(suffice({.start = true}));
  EXPECT_TRUE(suffice({.format = "%i|%T|%C|%q"}));
  EXPECT_FALSE(suffice({.format = "%i|%Z"}));
  EXPECT_FALSE(suffice({.long_format = "jobid,tres-alloc"}));
  EXPECT_TRUE(suffice({.sort = "-p,i,j"}));
  EXPECT_FALSE(suffice({.sort = "m"}));
  EXPECT_FALSE(suffice({.reservations = {"r"}}));
}

}  // namespace
}  // namespace minke::view
