// sdiag, sprio, sshare, sstat and sreport: the lines of a real Slurm 22.05, from the same numbers.
#include <gtest/gtest.h>

#include "api/accounts.pb.h"
#include "api/diagnostics.pb.h"
#include "api/priorities.pb.h"
#include "api/step_usage.pb.h"
#include "model/accounts.pb.h"
#include "model/cluster.pb.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "model/step_record.pb.h"
#include "view/sdiag.h"
#include "view/sprio.h"
#include "view/sreport.h"
#include "view/sshare.h"
#include "view/sstat.h"
#include "view/test_records.h"

namespace minke::view {
namespace {

using test::at;

TEST(Sdiag, LaysOutItsNumbersAsSlurm) {
  test::use_utc();
  api::DiagnosticsReply reply;
  reply.set_now(1795231762);
  reply.set_since(1795231729);
  reply.set_jobs_submitted(7);
  reply.set_jobs_started(2);
  reply.set_jobs_completed(1);
  reply.set_jobs_pending(7);
  reply.mutable_passes()->set_count(2);
  reply.mutable_passes()->set_last_time(934);
  reply.mutable_passes()->set_max_time(934);
  reply.mutable_passes()->set_total_time(948);
  reply.mutable_passes()->set_total_depth(3);
  reply.mutable_passes()->set_last_queue_length(3);
  reply.set_gettimeofday_latency(29);
  const auto add = [](api::RequestStatistics* line, const char* name, uint32_t id, uint64_t count,
                      uint64_t time) {
    line->set_name(name);
    line->set_id(id);
    line->set_count(count);
    line->set_total_time(time);
  };
  add(reply.add_by_type(), "REQUEST_SUBMIT_BATCH_JOB", 4003, 4, 2439);
  add(reply.add_by_type(), "REQUEST_SHARE_INFO", 2022, 8, 1662);
  add(reply.add_by_user(), "root", 0, 26, 11896);
  const std::string text = sdiag_report(reply, RequestOrder::kByCount);
  EXPECT_TRUE(
      text.starts_with("*******************************************************\n"
                       "sdiag output at Sat Nov 21 03:29:22 2026 (1795231762)\n"
                       "Data since      Sat Nov 21 03:28:49 2026 (1795231729)\n"
                       "*******************************************************\n"
                       "Server thread count:  3\n"
                       "Agent queue size:     0\n"
                       "Agent count:          0\n"
                       "Agent thread count:   0\n"
                       "DBD Agent queue size: 0\n"
                       "\n"
                       "Jobs submitted: 7\n"
                       "Jobs started:   2\n"
                       "Jobs completed: 1\n"
                       "Jobs canceled:  0\n"
                       "Jobs failed:    0\n"
                       "\n"
                       "Job states ts:  Sat Nov 21 03:29:22 2026 (1795231762)\n"
                       "Jobs pending:   7\n"
                       "Jobs running:   0\n"
                       "\n"
                       "Main schedule statistics (microseconds):\n"
                       "\tLast cycle:   934\n"
                       "\tMax cycle:    934\n"
                       "\tTotal cycles: 2\n"
                       "\tMean cycle:   474\n"
                       "\tMean depth cycle:  1\n"
                       "\tLast queue length: 3\n"
                       "\n"
                       "Backfilling stats\n"
                       "\tTotal backfilled jobs (since last slurm start): 0\n"))
      << text;
  EXPECT_TRUE(text.ends_with(
      "Latency for 1000 calls to gettimeofday(): 29 microseconds\n"
      "\n"
      "Remote Procedure Call statistics by message type\n"
      "\tREQUEST_SHARE_INFO                      ( 2022) count:8      ave_time:207    total_time:1662\n"
      "\tREQUEST_SUBMIT_BATCH_JOB                ( 4003) count:4      ave_time:609    total_time:2439\n"
      "\n"
      "Remote Procedure Call statistics by user\n"
      "\troot            (       0) count:26     ave_time:457    total_time:11896\n"
      "\n"
      "Pending RPC statistics\n"
      "\tNo pending RPCs\n"))
      << text;
  EXPECT_EQ(sdiag_report(reply, RequestOrder::kById), text);  // 2022 comes before 4003 either way
  EXPECT_NE(sdiag_report(reply, RequestOrder::kByTotalTime), text);
}

std::string sprio(const SprioOptions& options, const model::JobRecord& job) {
  const model::JobRecord* jobs[] = {&job};
  std::vector<std::string> problems;
  const auto table = priority_table(options, problems);
  std::string out;
  table.append_header(out);
  if (options.weights) {
    table.append_line({}, test::context_at(1, 0, 0), out);
  } else {
    for (const PriorityLine& line : priority_lines(jobs, options))
      table.append_line(line, test::context_at(1, 0, 0), out);
  }
  return out;
}

TEST(Sprio, HasAColumnForEachFactorThatWeighsSomething) {
  api::PriorityWeights weights;
  weights.set_age(10);
  weights.set_job_size(20);
  std::vector<std::string> problems;
  std::string out;
  priority_table({}, problems, &weights).append_header(out);
  EXPECT_EQ(out, "          JOBID PARTITION   PRIORITY       SITE        AGE    JOBSIZE\n");
}

TEST(Sprio, HasSlurmsColumns) {
  model::JobRecord job = test::job(2, "x", model::JOB_PENDING);
  job.set_priority(2113);
  EXPECT_EQ(sprio({}, job),
            "          JOBID PARTITION   PRIORITY       SITE\n"
            "              2 main            2113          0\n");
  EXPECT_EQ(sprio({.normalized = true}, job),
            "          JOBID PARTITION PRIORITY  \n"
            "              2 main      0.00000049\n");
  EXPECT_EQ(sprio({.weights = true}, job),
            "          JOBID PARTITION   PRIORITY       SITE\n"
            "        Weights                               1\n");
  EXPECT_EQ(
      sprio({.long_list = true}, job),
      "          JOBID PARTITION     USER   PRIORITY       SITE        AGE      ASSOC  FAIRSHARE    JOBSIZE  "
      "PARTITION        QOS        NICE                 TRES\n"
      "              2 main          root       2113          0          0          0          0          0  "
      "        0          0           0                     \n");
  job.set_partition("main,short");
  EXPECT_EQ(sprio({.format = "%i %r", .partitions = {"short"}}, job), "JOBID PARTITION\n2 short\n");
  job.set_priority(0);  // held
  EXPECT_EQ(sprio({.format = "%i"}, job), "JOBID\n");
}

TEST(Sshare, HasSlurmsColumnsAndTree) {
  ShareUsage usage;
  usage.cpu_seconds = 1736.4;
  auto columns =
      parse_print_format(share_fields(), "Account,User,RawShares,NormShares,RawUsage,EffectvUsage,FairShare");
  ASSERT_TRUE(columns);
  std::string out;
  append_print_header<ShareField>(*columns, PrintLayout::kFixed, "|", out);
  const DisplayContext context;
  for (const ShareLine& line : share_lines("root", usage, false))
    append_print_line<ShareField>(*columns, PrintLayout::kFixed, "|", line, context, out);
  EXPECT_EQ(out,
            "Account                    User  RawShares  NormShares    RawUsage  EffectvUsage  FairShare \n"
            "-------------------- ---------- ---------- ----------- ----------- ------------- ---------- \n"
            "root                                          0.000000        1736      1.000000            \n"
            " root                      root          1    1.000000        1736      1.000000   1.000000 \n");
  ShareUsage unused;
  columns = parse_print_format(share_fields(), "account,levelfs,effectv,id");
  out.clear();
  for (const ShareLine& line : share_lines("root", unused, true))
    append_print_line<ShareField>(*columns, PrintLayout::kParsable2, "|", line, context, out);
  EXPECT_EQ(out, "root|inf|0.000000|2\n");
  EXPECT_TRUE(share_help_format().starts_with(
      "Account           Cluster           EffectvUsage      FairShare        \n"
      "GrpTRESMins       GrpTRESRaw        ID                LevelFS          \n"));
}

// root has two accounts, a with three shares and b with one; a has two users, one of whom has the
// shares of the account.
api::AccountsReply fair_tree() {
  api::AccountsReply tree;
  const auto add = [&](uint32_t id, const char* account, const char* parent, const char* user,
                       uint32_t shares, double used) {
    model::AssociationRecord& one = *tree.add_associations();
    one.set_id(id);
    one.set_account(account);
    one.set_parent_account(parent);
    one.set_user(user);
    one.set_shares(shares);
    tree.add_usage()->set_raw(used);
    tree.add_running();
    tree.add_fair_share(0.5);
  };
  add(1, "root", "", "", 1, 800);
  add(2, "a", "root", "", 3, 600);
  add(3, "a", "", "ann", 1, 600);
  add(4, "a", "", "bob", 0x7fffffff, 0);
  add(5, "b", "root", "", 1, 200);
  model::TresSeconds& running = *tree.mutable_running(2)->add_tres();
  running.set_name("cpu");
  running.set_seconds(120);
  return tree;
}

std::string share_tree(const ShareWanted& wanted) {
  auto columns = parse_print_format(
      share_fields(), "account,user,rawshares,normshares,rawusage,effectv,fairshare,levelfs,tresrunmins%99");
  std::deque<ShareUsage> usage;
  std::string out;
  for (const ShareLine& line : share_tree_lines(fair_tree(), wanted, usage))
    append_print_line<ShareField>(*columns, PrintLayout::kParsable2, "|", line, DisplayContext(), out);
  return out;
}

TEST(Sshare, TreeOfAccounts) {
  constexpr const char* kRest = ",mem=0,energy=0,node=0,billing=";
  const std::string idle = std::string("cpu=0") + kRest + "0,fs/disk=0,vmem=0,pages=0,gres/gpu=0\n";
  const std::string busy = std::string("cpu=2") + kRest + "2,fs/disk=0,vmem=0,pages=0,gres/gpu=0\n";
  EXPECT_EQ(share_tree({}), "root|||0.000000|800|1.000000|||" + idle +
                                " a||3|0.750000|600|0.750000||1.000000|" + idle +
                                "  a|ann|1|1.000000|600|1.000000|0.500000|1.000000|" + busy +
                                "  a|bob|parent|0.750000|0|0.000000|0.500000||" + idle +
                                " b||1|0.250000|200|0.250000||1.000000|" + idle);
  EXPECT_EQ(share_tree({.accounts = {"a"}, .users = {"bob"}, .users_only = true}),
            "a|bob|parent|0.750000|0|0.000000|0.500000||" + idle);
}

TEST(Sshare, UsageDecaysByHalfAWeek) {
  model::JobRecord job = test::job(1, "x", model::JOB_COMPLETE);
  job.set_num_cpus(4);
  job.set_start_time(at(1, 0, 0));
  job.set_end_time(at(1, 10, 0));
  ShareUsage usage;
  usage.add(job, at(1, 10, 0));
  EXPECT_DOUBLE_EQ(usage.cpu_seconds, 2400);
  usage.add(job, at(1, 10, 0) + kUsageHalfLife);
  EXPECT_DOUBLE_EQ(usage.cpu_seconds, 3600);
  EXPECT_EQ(usage.cpu_minutes, 0);
  job.set_state(model::JOB_RUNNING);
  job.set_end_time(0);
  usage.add(job, at(1, 15, 0));
  EXPECT_DOUBLE_EQ(usage.cpu_minutes, 4 * 45);
}

api::StepUsage two_tasks() {
  api::StepUsage usage;
  model::StepRecord& step = *usage.mutable_step();
  step.set_job_id(1);
  step.set_num_tasks(2);
  step.set_node_list("n[1-2]");
  for (uint32_t rank : {0U, 1U}) {
    api::TaskUsage& task = *usage.add_tasks();
    task.set_rank(rank);
    task.set_node(rank == 0 ? "n1" : "n2");
    task.add_pids(100 + rank);
    task.set_rss_kib(rank == 0 ? 408 : 2784);
    task.set_virtual_kib(2920);
    task.set_user_microseconds(rank == 0 ? 3'000'000 : 9'000'000);
    task.set_read_bytes(rank == 0 ? 6977 : 0);
  }
  return usage;
}

TEST(Sstat, ShowsWhatTheTasksUse) {
  const auto line = [](const char* format, bool convert) {
    DisplayContext context;
    context.convert_units = convert;
    auto columns = parse_print_format(step_usage_fields(), format);
    std::string out;
    append_print_line<StepUsageField>(*columns, PrintLayout::kParsable2, "|", two_tasks(), context, out);
    return out;
  };
  EXPECT_EQ(line("jobid,maxrss,maxrssnode,maxrsstask,averss,ntasks", true), "1.0|2784K|n2|1|1596K|2\n");
  EXPECT_EQ(line("maxrss,avevmsize", false), "2850816|2990080\n");
  EXPECT_EQ(line("mincpu,mincpunode,mincputask,avecpu", true), "00:00:03|n1|0|00:00:06\n");
  EXPECT_EQ(line("maxdiskread,avediskread,maxdiskreadnode", true), "0.01M|0.00M|n1\n");
  EXPECT_EQ(line("pids,nodelist", true), "100,101|n[1-2]\n");
  EXPECT_EQ(line("tresusageinmax", true), "cpu=00:00:09,fs/disk=6977,mem=2784K,pages=0,vmem=2920K\n");
  EXPECT_EQ(line("tresusageinmaxnode", true), "cpu=n2,fs/disk=n1,mem=n2,pages=n1,vmem=n1\n");
  EXPECT_TRUE(step_usage_help_format().starts_with(
      "AllocTRES           AveCPU              AveCPUFreq          AveDiskRead        \n"));
}

class Sreport : public ::testing::Test {
 protected:
  Sreport() {
    test::use_utc();
    options_.start = at(0, 0, 0);
    options_.end = at(4, 0, 0);
    // 120 CPU minutes of one, 30 of another; it waited ten minutes for them.
    model::JobRecord first = test::job(1, "a", model::JOB_COMPLETE);
    first.set_num_cpus(2);
    first.set_submit_time(at(0, 50, 0));
    first.set_eligible_time(at(0, 50, 0));
    first.set_start_time(at(1, 0, 0));
    first.set_end_time(at(2, 0, 0));
    model::JobRecord second = first;
    second.set_account("def-prof");
    second.set_num_cpus(1);
    second.set_start_time(at(3, 30, 0));
    second.set_eligible_time(at(3, 30, 0));
    second.set_end_time(at(5, 0, 0));  // after the window
    jobs_ = {first, second};
  }

  std::string print(Report report, int64_t now = at(6, 0, 0)) {
    options_.report = report;
    Tally tally(options_, now);
    for (const model::ReservationRecord& reservation : reservations_) tally.add(reservation, 4);
    for (const model::JobRecord& job : jobs_) tally.add(job);
    auto text = tally.print({.name = "minke", .cpus = 4, .memory_mib = 4000, .nodes = 1, .gpus = 0});
    return text ? *text : text.error().message;
  }

  ReportOptions options_;
  std::vector<model::ReservationRecord> reservations_;
  std::vector<model::JobRecord> jobs_;
};

TEST_F(Sreport, UtilizationOfTheCluster) {
  EXPECT_EQ(print(Report::kClusterUtilization),
            "--------------------------------------------------------------------------------\n"
            "Cluster Utilization 2026-11-21T00:00:00 - 2026-11-21T03:59:59\n"
            "Usage reported in CPU Minutes\n"
            "--------------------------------------------------------------------------------\n"
            "  Cluster Allocate     Down PLND Dow     Idle  Planned Reported \n"
            "--------- -------- -------- -------- -------- -------- -------- \n"
            "    minke      150        0        0      790       20      960 \n");
  options_.unit = ReportUnit::kHoursPercent;
  EXPECT_TRUE(
      print(Report::kClusterUtilization)
          .ends_with("  Cluster         Allocated              Down         PLND Down              Idle "
                     "          Planned          Reported \n"
                     "--------- ----------------- ----------------- ----------------- ----------------- "
                     "----------------- ----------------- \n"
                     "    minke         2(15.62%)          0(0.00%)          0(0.00%)        13(82.29%) "
                     "         0(2.08%)       16(100.00%) \n"))
      << print(Report::kClusterUtilization);
}

TEST_F(Sreport, AccountsAndUsers) {
  EXPECT_EQ(print(Report::kAccountUtilizationByUser),
            "--------------------------------------------------------------------------------\n"
            "Cluster/Account/User Utilization 2026-11-21T00:00:00 - 2026-11-21T03:59:59 (14400 secs)\n"
            "Usage reported in CPU Minutes\n"
            "--------------------------------------------------------------------------------\n"
            "  Cluster         Account     Login     Proper Name     Used   Energy \n"
            "--------- --------------- --------- --------------- -------- -------- \n"
            "    minke        def-prof                                 30        0 \n"
            "    minke        def-prof      root            root       30        0 \n"
            "    minke            root                                120        0 \n"
            "    minke            root      root            root      120        0 \n");
  options_.layout = PrintLayout::kParsable2;
  options_.no_header = true;
  EXPECT_EQ(print(Report::kUserUtilizationByAccount),
            "minke|root|root|def-prof|30|0\nminke|root|root|root|120|0\n");
  EXPECT_EQ(print(Report::kTopUsage), "minke|root|root|root|120|0\nminke|root|root|def-prof|30|0\n");
  options_.group_accounts = true;
  options_.format = "Login,Used";
  EXPECT_EQ(print(Report::kTopUsage), "root|150\n");
  options_.format = "Account,TresName,Used";
  options_.tres = {Tres::kCpu, Tres::kNode};
  options_.accounts = {"root"};
  EXPECT_EQ(print(Report::kUserUtilizationByAccount), "root|cpu|120\nroot|node|60\n");
}

TEST_F(Sreport, WckeysAndUsers) {
  options_.layout = PrintLayout::kParsable2;
  options_.no_header = true;
  jobs_[0].mutable_spec()->set_wckey("w");
  EXPECT_EQ(print(Report::kUserUtilizationByWckey), "minke|root|root||30\nminke|root|root|w|120\n");
  EXPECT_EQ(print(Report::kWckeyUtilizationByUser), "minke||root|root|30\nminke|w|root|root|120\n");
  EXPECT_EQ(print(Report::kReservationUtilization), "");
  options_.top_count = 1;
  EXPECT_EQ(print(Report::kTopUsage), "minke|root|root|root|120|0\n");
}

TEST_F(Sreport, AReservationsJobsAndWhatTheyLeft) {
  options_.layout = PrintLayout::kParsable2;
  model::ReservationRecord course;
  course.set_name("course");
  course.set_start_time(at(0, 30, 0));
  course.set_end_time(at(5, 0, 0));
  reservations_ = {course};
  jobs_[0].mutable_spec()->set_reservation("course");
  // 210 minutes of four CPUs lie within the window.
  EXPECT_TRUE(
      print(Report::kReservationUtilization)
          .ends_with("Usage reported in TRES Minutes\n"
                     "--------------------------------------------------------------------------------\n"
                     "Cluster|Name|Start|End|TRES Name|Allocated|Idle\n"
                     "minke|course|2026-11-21T00:30:00|2026-11-21T05:00:00|cpu|120|720\n"));
}

TEST_F(Sreport, AmountsInEachUnit) {
  options_.layout = PrintLayout::kParsable2;
  options_.no_header = true;
  options_.format = "Used";
  options_.accounts = {"root"};
  const auto used = [&](ReportUnit unit) {
    options_.unit = unit;
    return print(Report::kUserUtilizationByAccount);
  };
  EXPECT_EQ(used(ReportUnit::kSeconds), "7200\n");
  EXPECT_EQ(used(ReportUnit::kMinutes), "120\n");
  EXPECT_EQ(used(ReportUnit::kHours), "2\n");
  EXPECT_EQ(used(ReportUnit::kPercent), "12.50%\n");
  EXPECT_EQ(used(ReportUnit::kSecondsPercent), "7200(12.50%)\n");
  EXPECT_EQ(used(ReportUnit::kMinutesPercent), "120(12.50%)\n");
  EXPECT_EQ(used(ReportUnit::kHoursPercent), "2(12.50%)\n");
}

TEST_F(Sreport, SizesOfJobs) {
  EXPECT_EQ(print(Report::kJobSizesByAccount),
            "--------------------------------------------------------------------------------\n"
            "Job Sizes 2026-11-21T00:00:00 - 2026-11-21T03:59:59 (14400 secs)\n"
            "Time reported in Minutes\n"
            "--------------------------------------------------------------------------------\n"
            "  Cluster   Account     0-49 CPUs   50-249 CPUs  250-499 CPUs  500-999 CPUs  >= 1000 CPUs "
            "Total Count % of cluster \n"
            "--------- --------- ------------- ------------- ------------- ------------- ------------- "
            "----------- ------------ \n"
            "    minke  def-prof            30             0             0             0             0 "
            "          1       20.00% \n"
            "    minke      root           120             0             0             0             0 "
            "          1       80.00% \n");
  options_.print_job_count = true;
  options_.grouping = {1, 2, 4};
  EXPECT_TRUE(
      print(Report::kJobSizesByAccount)
          .ends_with("Units are in number of jobs ran\n"
                     "--------------------------------------------------------------------------------\n"
                     "  Cluster   Account      0-0 CPUs      1-1 CPUs      2-3 CPUs     >= 4 CPUs "
                     "Total Count % of cluster \n"
                     "--------- --------- ------------- ------------- ------------- ------------- "
                     "----------- ------------ \n"
                     "    minke  def-prof             0             1             0             0 "
                     "          1       50.00% \n"
                     "    minke      root             0             0             1             0 "
                     "          1       50.00% \n"));
}

TEST_F(Sreport, WordsMayBeShortened) {
  EXPECT_EQ(*find_report("user", "top"), Report::kTopUsage);
  EXPECT_EQ(*find_report("cluster", "useru"), Report::kUserUtilizationByAccount);
  EXPECT_EQ(*find_report("cluster", "UTIL"), Report::kClusterUtilization);
  EXPECT_EQ(*find_report("job", "sizes"), Report::kJobSizesByAccount);
  EXPECT_TRUE(find_report("cluster", "foo").error().message.starts_with("Not valid report foo\n"));
  EXPECT_EQ(*find_unit("hours"), ReportUnit::kHours);
  EXPECT_EQ(*find_unit("hourper"), ReportUnit::kHoursPercent);
  EXPECT_EQ(*find_unit("sec"), ReportUnit::kSeconds);
  EXPECT_EQ(*find_unit("percent"), ReportUnit::kPercent);
  EXPECT_FALSE(find_unit("days"));
  ReportOptions options;
  EXPECT_TRUE(read_report_option("Start=2026-11-21", at(3, 43, 0), options));
  EXPECT_TRUE(read_report_option("end=now", at(3, 43, 0), options));
  EXPECT_EQ(options.start, at(0, 0, 0));
  EXPECT_EQ(options.end, at(4, 0, 0));  // it includes the current hour
  EXPECT_FALSE(read_report_option("nonsense=1", 0, options));
  EXPECT_FALSE(read_report_option("grouping=x", 0, options));
}

}  // namespace
}  // namespace minke::view
