#include "cli/scontrol/show_limits.h"

#include <gtest/gtest.h>

#include "api/accounts.pb.h"
#include "model/accounts.pb.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"

namespace minke::cli {
namespace {

Result<LimitsWanted> wanted(std::vector<std::string> words) {
  return parse_limits_wanted(words);
}

TEST(ShowLimits, WhatIsAskedFor) {
  const auto all = wanted({});
  EXPECT_TRUE(all->users && all->associations && all->qos);
  const auto some = wanted({"users=ada,bob", "accounts=physics", "flags=Assoc,qos"});
  ASSERT_TRUE(some);
  EXPECT_FALSE(some->users);
  EXPECT_TRUE(some->associations && some->qos);
  EXPECT_EQ(some->user_names, (std::vector<std::string>{"ada", "bob"}));
  EXPECT_EQ(wanted({"foo"}).error().message, "No value given for option foo");
  EXPECT_EQ(wanted({"foo=bar"}).error().message, "invalid entity: foo=bar for keyword:show assoc_mgr");
  EXPECT_EQ(wanted({"flags=foo"}).error().message,
            "invalid flag 'foo', valid options are 'Assoc, QOS, and/or Users'");
}

TEST(ShowLimits, EachLimitWithWhatIsUsedOfIt) {
  api::AccountsReply accounts;
  accounts.set_now(1000);
  const auto add = [&](uint32_t id, const char* account, const char* user, const char* parent) {
    model::AssociationRecord& one = *accounts.add_associations();
    one.set_id(id);
    one.set_account(account);
    one.set_user(user);
    one.set_parent_account(parent);
    one.set_shares(1);
    accounts.add_usage()->set_id(id);
    accounts.add_running()->set_id(id);
    accounts.add_fair_share(0.5);
    accounts.add_shares(1);
    return &one;
  };
  add(1, "root", "", "");
  model::AssociationRecord& physics = *add(2, "physics", "", "root");
  physics.set_priority(7);
  physics.mutable_limits()->set_max_jobs(9);
  physics.mutable_limits()->set_max_submit_jobs(5);
  model::Tres& cpus = *physics.mutable_limits()->add_grp_tres();
  cpus.set_name("cpu");
  cpus.set_count(3);
  const auto set_max = [](model::AssociationRecord& one, const char* tres, uint64_t count) {
    model::Tres& limit = *one.mutable_limits()->add_max_tres();
    limit.set_name(tres);
    limit.set_count(count);
  };
  set_max(physics, "cpu", 6);
  set_max(physics, "node", 5);
  model::AssociationRecord& user = *add(3, "physics", "nobody-here", "");
  user.mutable_limits()->set_max_jobs(2);
  set_max(user, "node", 4);
  model::QosRecord& qos = *accounts.add_qos();
  qos.set_id(1);
  qos.set_name("normal");
  qos.set_usage_factor(2);
  model::JobRecord job;
  job.set_association_id(3);
  job.set_qos("normal");
  job.set_account("physics");
  job.set_state(model::JOB_RUNNING);
  job.set_num_cpus(2);
  job.set_num_nodes(1);
  job.set_start_time(1000);
  job.set_time_limit_minutes(10);
  const model::JobRecord* jobs[] = {&job};
  std::string out;
  append_limits(out, accounts, jobs, {}, {}, {.one_line = true, .details = false});
  EXPECT_NE(out.find("Account=physics UserName= Partition= Priority=7 ID=2 "), std::string::npos) << out;
  EXPECT_NE(
      out.find(" ParentAccount=root(1) Lft=2 DefAssoc=No GrpJobs=N(1) GrpJobsAccrue=N(0) GrpSubmitJobs=N(1) "
               "GrpWall=N(0.00) GrpTRES=cpu=3(2),mem=N(0),"),
      std::string::npos)
      << out;
  EXPECT_NE(out.find(" MaxJobs=9(1) MaxJobsAccrue= MaxSubmitJobs=5(1) MaxWallPJ= "), std::string::npos)
      << out;
  // The user's own, and its account's.
  EXPECT_NE(out.find(" Priority=7 ID=3 "), std::string::npos) << out;
  EXPECT_NE(out.find(" MaxJobs=2(1) MaxJobsAccrue= MaxSubmitJobs=5(1) MaxWallPJ= MaxTRESPJ=cpu=6,node=4 "),
            std::string::npos)
      << out;
  EXPECT_NE(out.find(" GrpTRESRunMins=cpu=N(40),"), std::string::npos) << out;  // 2 CPUs x 10 min x 2
  EXPECT_NE(out.find(" MaxTRESPA=cpu=N(2),"), std::string::npos) << out;
  EXPECT_NE(out.find("No users currently cached in Slurm.\n"), std::string::npos) << out;
}

}  // namespace
}  // namespace minke::cli
