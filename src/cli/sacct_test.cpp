#include "view/sacct.h"

#include <gtest/gtest.h>

#include "api/accounting.pb.h"
#include "api/job_filter.pb.h"
#include "cli/sacct_options.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "model/job_terms.pb.h"
#include "model/step_record.pb.h"
#include "view/test_records.h"

namespace minke::cli {

using namespace view;
namespace {

using test::at;

class Sacct : public testing::Test {
 protected:
  void SetUp() override {
    test::use_utc();
    using namespace model;
    JobRecord fail = ran(67, "fail", JOB_FAILED, "n3", at(0, 34, 50), at(0, 34, 51));
    fail.set_exit_code(3 << 8);
    api::AccountedJob& failed = add(fail);
    step(failed, STEP_BATCH, 0, "batch", JOB_FAILED).set_exit_code(3 << 8);

    JobRecord train = ran(69, "train_resnet50_big", JOB_COMPLETE, "n[1-2]", at(0, 34, 51), at(0, 34, 58));
    train.set_num_nodes(2);
    train.set_num_cpus(4);
    train.set_memory_mib(2048);
    train.set_time_limit_minutes(120);
    train.set_derived_exit_code(1 << 8);
    train.mutable_usage()->set_user_microseconds(23000);
    train.mutable_usage()->set_system_microseconds(12000);
    test::add_gres(*train.mutable_tres_gres(), "", 2);
    api::AccountedJob& trained = add(train);
    StepRecord& batch = step(trained, STEP_BATCH, 0, "batch", JOB_COMPLETE);
    batch.set_num_cpus(2);
    batch.mutable_usage()->set_max_rss_kib(1076);
    StepRecord& sleep = step(trained, STEP_NORMAL, 0, "sleep", JOB_COMPLETE);
    sleep.set_num_cpus(4);
    sleep.set_num_tasks(2);
    sleep.set_num_nodes(2);
    sleep.set_node_list("n[1-2]");
    sleep.set_memory_mib(2048);
    sleep.mutable_usage()->set_max_rss_kib(2552);
    test::add_gres(*sleep.mutable_tres_gres(), "", 2);
    StepRecord& wrong = step(trained, STEP_NORMAL, 1, "false", JOB_FAILED);
    wrong.set_num_cpus(2);
    wrong.set_exit_code(1 << 8);

    JobRecord cancelled = ran(71, "tocancel", JOB_CANCELLED, "n1", at(0, 34, 51), at(0, 34, 52));
    StepRecord& killed = step(add(cancelled), STEP_BATCH, 0, "batch", JOB_CANCELLED);
    killed.set_exit_code(15);

    JobRecord task = ran(80, "arr", JOB_COMPLETE, "n2", at(0, 34, 51), at(0, 34, 54));
    task.set_array_job_id(70);
    task.set_array_task_id(5);
    StepRecord& of_task = step(add(task), STEP_BATCH, 0, "batch", JOB_COMPLETE);
    of_task.set_array_job_id(70);
    of_task.set_array_task_id(5);

    JobRecord held = test::job(77, "big", JOB_PENDING, WAIT_HELD_USER);
    held.set_account("root");
    held.set_submit_time(at(0, 34, 48));
    held.set_array_job_id(77);
    test::add_range(*held.mutable_array_pending(), 1, 100);
    held.mutable_array_pending()->set_max_running(3);
    add(held);

    context_.display = test::context_at(0, 35, 30);
    question_.from = test::kMidnight;
    question_.until = context_.display.now;
  }

  static model::JobRecord ran(uint32_t id, const char* name, model::JobState state, const char* nodes,
                              int64_t start, int64_t end) {
    model::JobRecord job = test::on_node(test::job(id, name, state), nodes, start);
    job.set_account("root");
    job.set_submit_time(at(0, 34, 48));
    job.set_eligible_time(at(0, 34, 48));
    job.set_end_time(end);
    return job;
  }
  api::AccountedJob& add(const model::JobRecord& job) {
    api::AccountedJob& accounted = *jobs_.emplace_back(std::make_unique<api::AccountedJob>());
    *accounted.mutable_job() = job;
    return accounted;
  }
  static model::StepRecord& step(api::AccountedJob& accounted, model::StepKind kind, uint32_t id,
                                 const char* name, model::JobState state) {
    model::StepRecord& record = *accounted.add_steps();
    record.set_job_id(accounted.job().job_id());
    record.set_kind(kind);
    record.set_step_id(id);
    record.set_name(name);
    record.set_state(state);
    record.set_start_time(accounted.job().start_time());
    record.set_end_time(accounted.job().end_time());
    record.set_num_nodes(1);
    record.set_num_cpus(1);
    record.set_num_tasks(1);
    record.set_memory_mib(1024);
    record.set_node_list("n1");
    return record;
  }

  void name(std::initializer_list<uint32_t> ids) {
    for (uint32_t id : ids) question_.jobs.emplace_back().set_job_id(id);
  }
  std::string listing(const char* format, PrintLayout layout = PrintLayout::kFixed,
                      const char* delimiter = "|") {
    std::vector<const api::AccountedJob*> jobs;
    for (const auto& job : jobs_) jobs.push_back(job.get());
    auto columns = parse_print_format(sacct_fields(), format);
    if (!columns) return columns.error().message;
    std::string out;
    append_print_header<SacctField>(*columns, layout, delimiter, out);
    for (const SacctLine& line : sacct_lines(jobs, question_))
      append_print_line<SacctField>(*columns, layout, delimiter, line, context_, out);
    return out;
  }
  std::string ids() { return listing("jobid", PrintLayout::kParsable2); }

  std::vector<std::unique_ptr<api::AccountedJob>> jobs_;
  SacctQuestion question_;
  SacctContext context_;
};

constexpr const char* kDefault = "jobid,jobname,partition,account,alloccpus,state,exitcode";

TEST_F(Sacct, ListsJobsAndStepsAsSlurmDoes) {
  name({67, 69, 71, 70, 77});
  EXPECT_EQ(listing(kDefault),
            "JobID           JobName  Partition    Account  AllocCPUS      State ExitCode \n"
            "------------ ---------- ---------- ---------- ---------- ---------- -------- \n"
            "67                 fail       main       root          1     FAILED      3:0 \n"
            "67.batch          batch                  root          1     FAILED      3:0 \n"
            "69           train_res+       main       root          4  COMPLETED      0:0 \n"
            "69.batch          batch                  root          2  COMPLETED      0:0 \n"
            "69.0              sleep                  root          4  COMPLETED      0:0 \n"
            "69.1              false                  root          2     FAILED      1:0 \n"
            "70_5                arr       main       root          1  COMPLETED      0:0 \n"
            "70_5.batch        batch                  root          1  COMPLETED      0:0 \n"
            "71             tocancel       main       root          1 CANCELLED+      0:0 \n"
            "71.batch          batch                  root          1  CANCELLED     0:15 \n"
            "77_[1-100%3]        big       main       root          1    PENDING      0:0 \n");
}

TEST_F(Sacct, ParsableForms) {
  name({69, 71});
  question_.allocations_only = true;
  EXPECT_EQ(listing("jobid,jobname,state", PrintLayout::kParsable2),
            "JobID|JobName|State\n69|train_resnet50_big|COMPLETED\n71|tocancel|CANCELLED by 0\n");
  EXPECT_EQ(listing("jobid,state", PrintLayout::kParsable, "xx"),
            "JobIDxxStatexx\n69xxCOMPLETEDxx\n71xxCANCELLED by 0xx\n");
}

TEST_F(Sacct, WidthsAndHowValuesAreCut) {
  name({69});
  question_.allocations_only = true;
  EXPECT_EQ(
      listing("ncpus%1,elapsedraw%1,start%5,elapsed%4,exitcode%2,timelimit%3,totalcpu%3,submit%-4,jobid%2,"
              "state%0,user%2,cputimeraw%1,timelimitraw%1,suspended%3"),
      "N E Start Elap Ex Tim Tot Subm Jo  Us C T Sus \n"
      "- - ----- ---- -- --- --- ---- --  -- - - --- \n"
      "4 7 2026- 00:00:07 0+ 02+ 00+ 2026 69  r+ 28 120 00:00:00 \n");
  EXPECT_EQ(listing("jobid%-30,elapsed%-20,ncpus%-6,exitcode%-10"),
            "JobID                          Elapsed              NCPUS  ExitCode   \n"
            "------------------------------ -------------------- ------ ---------- \n"
            "69                             00:00:07             4      0:0        \n");
}

TEST_F(Sacct, ResourcesAndUnits) {
  name({69});
  const char* format = "ReqMem,MaxRSS,ReqTRES,AllocTRES";
  EXPECT_EQ(listing(format, PrintLayout::kParsable2),
            "ReqMem|MaxRSS|ReqTRES|AllocTRES\n"
            "2G||billing=4,cpu=4,gres/gpu=2,mem=2G,node=2|billing=4,cpu=4,gres/gpu=2,mem=2G,node=2\n"
            "|1076K||cpu=2,mem=1G,node=1\n"
            "|2552K||cpu=4,gres/gpu=2,mem=2G,node=2\n"
            "|0||cpu=2,mem=1G,node=1\n");
  context_.unit = text::Unit::kKilo;
  EXPECT_EQ(listing("ReqMem,MaxRSS,AllocTRES", PrintLayout::kParsable2),
            "ReqMem|MaxRSS|AllocTRES\n"
            "2097152K||billing=4,cpu=4,gres/gpu=2,mem=2097152K,node=2\n"
            "|1076K|cpu=2,mem=1048576K,node=1\n"
            "|2552K|cpu=4,gres/gpu=2,mem=2097152K,node=2\n"
            "|0|cpu=2,mem=1048576K,node=1\n");
  context_.unit.reset();
  context_.display.convert_units = false;
  EXPECT_EQ(listing("ReqMem,MaxRSS,AllocTRES", PrintLayout::kParsable2),
            "ReqMem|MaxRSS|AllocTRES\n"
            "2048M||billing=4,cpu=4,gres/gpu=2,mem=2048M,node=2\n"
            "|1101824|cpu=2,mem=1024M,node=1\n"
            "|2613248|cpu=4,gres/gpu=2,mem=2048M,node=2\n"
            "|0|cpu=2,mem=1024M,node=1\n");
}

TEST_F(Sacct, TimesOfJobsAndSteps) {
  name({69});
  EXPECT_EQ(
      listing("submit,eligible,start,end,elapsed,cputime,planned,timelimit,derivedexitcode,ntasks,nodelist",
              PrintLayout::kParsable2),
      "Submit|Eligible|Start|End|Elapsed|CPUTime|Planned|Timelimit|DerivedExitCode|NTasks|NodeList\n"
      "2026-11-21T00:34:48|2026-11-21T00:34:48|2026-11-21T00:34:51|2026-11-21T00:34:58|00:00:07|00:00:28|00:"
      "00:03|"
      "02:00:00|1:0||n[1-2]\n"
      "2026-11-21T00:34:51|2026-11-21T00:34:51|2026-11-21T00:34:51|2026-11-21T00:34:58|00:00:07|00:00:14||||"
      "1|n1\n"
      "2026-11-21T00:34:51|2026-11-21T00:34:51|2026-11-21T00:34:51|2026-11-21T00:34:58|00:00:07|00:00:28||||"
      "2|"
      "n[1-2]\n"
      "2026-11-21T00:34:51|2026-11-21T00:34:51|2026-11-21T00:34:51|2026-11-21T00:34:58|00:00:07|00:00:14||||"
      "1|n1\n");
}

TEST_F(Sacct, WaitingJobs) {
  name({77});
  EXPECT_EQ(listing("jobid,start,end,eligible,nodelist,alloctres,reqtres,allocnodes,state,planned",
                    PrintLayout::kParsable2),
            "JobID|Start|End|Eligible|NodeList|AllocTRES|ReqTRES|AllocNodes|State|Planned\n"
            "77_[1-100%3]|Unknown|Unknown|Unknown|None "
            "assigned||billing=1,cpu=1,mem=256M,node=1|0|PENDING|00:00:00\n");
}

TEST_F(Sacct, StepsThatAreNamed) {
  SacctStep one;
  one.job.set_job_id(69);
  one.step_id = 0;
  question_.steps.push_back(one);
  EXPECT_EQ(ids(), "JobID\n69.0\n");
  question_.jobs.emplace_back().set_job_id(67);
  EXPECT_EQ(ids(), "JobID\n67\n67.batch\n69.0\n");
  question_.allocations_only = true;  // the jobs of the steps
  EXPECT_EQ(ids(), "JobID\n67\n69\n");
}

TEST_F(Sacct, TasksThatAreNamed) {
  api::JobSelector& selector = question_.jobs.emplace_back();
  selector.set_job_id(70);
  model::IndexRange& range = *selector.add_tasks();
  range.set_first(5);
  range.set_last(5);
  range.set_step(1);
  EXPECT_EQ(ids(), "JobID\n70_5\n70_5.batch\n");
  selector.mutable_tasks(0)->set_first(6);
  selector.mutable_tasks(0)->set_last(6);
  EXPECT_EQ(ids(), "JobID\n");
}

TEST_F(Sacct, WindowWithoutNamesLeavesOutWhatWasNeverEligible) {
  question_.allocations_only = true;
  EXPECT_EQ(ids(), "JobID\n67\n69\n70_5\n71\n");
  question_.from = at(0, 34, 53);
  EXPECT_EQ(ids(), "JobID\n69\n70_5\n");
  question_.until = at(0, 34, 40);
  question_.from = test::kMidnight;
  EXPECT_EQ(ids(), "JobID\n");
}

TEST_F(Sacct, StatesAreThoseOfTheWindow) {
  question_.allocations_only = true;
  question_.filter_states = true;
  question_.states = {model::JOB_FAILED};
  EXPECT_EQ(ids(), "JobID\n67\n");
  question_.until = at(0, 34, 50);  // it failed a second later
  EXPECT_EQ(ids(), "JobID\n");
  question_.states = {model::JOB_RUNNING};  // it started just then, which is after the window
  EXPECT_EQ(ids(), "JobID\n");
  question_.until = at(0, 34, 51);
  EXPECT_EQ(ids(), "JobID\n67\n");
  question_.states = {model::JOB_PENDING};
  question_.from = question_.until = at(0, 34, 49);
  EXPECT_EQ(ids(), "JobID\n67\n69\n70_5\n71\n");
  question_.from = question_.until = at(0, 34, 50);  // it started then: not pending any more
  EXPECT_EQ(ids(), "JobID\n69\n70_5\n71\n");
  question_.states = {};  // a state that no job here ever has
  EXPECT_EQ(ids(), "JobID\n");
}

TEST_F(Sacct, OtherFilters) {
  question_.allocations_only = true;
  question_.names = {"arr", "fail"};
  EXPECT_EQ(ids(), "JobID\n67\n70_5\n");
  question_.names.clear();
  question_.nodes = {"n2"};
  EXPECT_EQ(ids(), "JobID\n69\n70_5\n");
  question_.nodes.clear();
  question_.num_nodes = {2, 4};
  EXPECT_EQ(ids(), "JobID\n69\n");
  question_.num_nodes.reset();
  question_.partitions = {"short"};
  EXPECT_EQ(ids(), "JobID\n");
}

TEST(SacctFormat, NamesMayBeShortened) {
  auto columns = parse_print_format(sacct_fields(), "jobi,STATE,sta,job");
  ASSERT_TRUE(columns);
  EXPECT_EQ((*columns)[0].field->name, "JobID");
  EXPECT_EQ((*columns)[1].field->name, "State");
  EXPECT_EQ((*columns)[2].field->name, "Start");
  EXPECT_EQ((*columns)[3].field->name, "JobID");
  EXPECT_EQ(parse_print_format(sacct_fields(), "jobid,foo").error().message,
            "Invalid field requested: \"foo\"");
  EXPECT_EQ(parse_print_format(sacct_fields(), "all")->size(), sacct_fields().size());
  EXPECT_TRUE(parse_print_format(sacct_fields(), "")->empty());
  columns = parse_print_format(sacct_fields(), " jobid%5,  state, ");
  ASSERT_TRUE(columns.has_value() && columns->size() == 2);
  EXPECT_EQ((*columns)[1].field->name, "State");
  EXPECT_FALSE(parse_print_format(sacct_fields(), "jobid ,state").has_value());
}

TEST(SacctFormat, HelpListsFourToALine) {
  std::string help = sacct_help_format();
  EXPECT_EQ(help.substr(0, help.find('\n')),
            "Account             AdminComment        AllocCPUS           AllocNodes         ");
}

TEST(SacctCpuTime, ShowsMillisecondsBelowAnHour) {
  auto text = [](uint64_t microseconds) {
    std::string out;
    append_cpu_time(out, microseconds);
    return out;
  };
  EXPECT_EQ(text(0), "00:00:00");
  EXPECT_EQ(text(785000), "00:00.785");
  EXPECT_EQ(text(61500000), "01:01.500");
  EXPECT_EQ(text(3000000), "00:00:03");
  EXPECT_EQ(text(10138000000), "02:48:58");
  EXPECT_EQ(text(90061500000), "1-01:01:01");
}

class SacctWindow : public testing::Test {
 protected:
  std::pair<int64_t, int64_t> window(const SacctOptions& options) {
    SacctQuestion question = options.question;
    EXPECT_TRUE(set_sacct_window(options, now_, question));
    return {question.from, question.until};
  }
  void SetUp() override { test::use_utc(); }
  int64_t now_ = at(12, 0, 0);
};

TEST_F(SacctWindow, DefaultsFollowFromJobsAndStates) {
  SacctOptions options;
  EXPECT_EQ(window(options), std::pair(test::kMidnight, now_ + 1));
  options.question.jobs.emplace_back().set_job_id(1);
  EXPECT_EQ(window(options), std::pair(int64_t{0}, int64_t{0}));
  options.question.jobs.clear();
  options.question.filter_states = true;
  EXPECT_EQ(window(options), std::pair(now_, now_));
  options.from = "00:34";
  EXPECT_EQ(window(options), std::pair(at(0, 34, 0), at(0, 34, 0)));
  options.from.reset();
  options.until = "00:34";  // before the start, which is now: the command refuses it
  EXPECT_EQ(window(options), std::pair(now_, at(0, 34, 0)));
  options.from = "00:34";
  options.until = "now";
  EXPECT_EQ(window(options), std::pair(at(0, 34, 0), now_));
  options.from = "foo";
  EXPECT_EQ(set_sacct_window(options, now_, options.question).error().message,
            "Invalid time specification (pos=0): foo (write 2026-04-01, 12:30 or now-7days)");
}

}  // namespace
}  // namespace minke::cli
