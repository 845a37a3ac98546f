#include "grow/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "grow/host.h"
#include "grow/steps.h"
#include "grow/testing.h"

namespace minke::grow {
namespace {

using ::testing::HasSubstr;

Wishes wishes() {
  return {.home = "/var/lib/minke",
          .program = "/usr/local/bin/minke",
          .configuration_path = "/etc/minke.toml",
          .people = {}};
}

Plan plan_of(std::vector<Machine> machines) {
  return make_plan(configuration_of_box(), grown_of(std::move(machines)), wishes());
}

TEST(Plan, EveryStepHasANameOfItsOwnAndSaysAllThatAPersonAsks) {
  const Plan plan = plan_of({machine_named("box", ""), machine_named("n1", "root@n1")});
  EXPECT_TRUE(plan.problems.empty());
  std::set<std::string> ids;
  for (const Step& step : plan.steps) {
    EXPECT_TRUE(ids.insert(step.id).second) << step.id;
    for (const std::string& words : {step.what, step.why, step.checked, step.undone})
      EXPECT_FALSE(words.empty()) << step.id;
    EXPECT_NE(step.action.empty(), step.script.empty()) << step.id;
    EXPECT_EQ(step.script.empty(), step.check.empty()) << step.id;
  }
}

TEST(Plan, EveryPluginThatTheFilesNameIsInstalled) {
  const Plan plan = plan_of({machine_named("box", ""), machine_named("n1", "root@n1")});
  for (const Step& step : plan.steps)
    if (step.id.starts_with("packages "))
      EXPECT_THAT(step.script, HasSubstr("slurm-wlm-jwt-plugin")) << step.id;
}

TEST(Plan, MinkeStopsBeforeSlurmctldStarts) {
  const Plan plan = plan_of({machine_named("box", ""), machine_named("n1", "root@n1")});
  std::vector<std::string> order;
  for (const Step& step : plan.steps) order.push_back(step.id);
  const auto at = [&](const char* id) { return std::find(order.begin(), order.end(), id) - order.begin(); };
  EXPECT_LT(at("close"), at("drain"));
  EXPECT_LT(at("drain"), at("snapshot"));
  EXPECT_LT(at("snapshot"), at("stop"));
  EXPECT_LT(at("stop"), at("slurmctld"));
  EXPECT_LT(at("number n1"), at("slurmctld"));
  EXPECT_LT(at("accounts"), at("slurmd n1"));
  EXPECT_LT(at("slurmd n1"), at("waiting"));
}

TEST(Plan, WhatIsLeftUnderMinkeHasTheHeadUntilItHasEnded) {
  Wishes asked = wishes();
  asked.leave = true;
  const Plan plan = make_plan(configuration_of_box(),
                              grown_of({machine_named("box", ""), machine_named("n1", "root@n1")}), asked);
  std::vector<std::string> now, later;
  for (const Step& step : plan.steps) (step.later ? later : now).push_back(step.id);
  EXPECT_THAT(now, ::testing::Not(::testing::Contains("drain")));
  EXPECT_EQ(now.back(), "settler");
  EXPECT_EQ(later, (std::vector<std::string>{"left", "stop", "open box"}));
  const auto at = [&](const char* id) { return std::find(now.begin(), now.end(), id) - now.begin(); };
  EXPECT_LT(at("slurmctld"), at("keep box"));
  EXPECT_LT(at("keep box"), at("slurmd box"));
  const auto again = parse_kept_plan(kept_plan_json(kept(plan, asked)));
  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_TRUE(again->steps.back().later);
  Grown alone = grown_of({machine_named("box", ""), machine_named("n1", "root@n1")});
  alone.head_computes = false;
  for (const Step& step : make_plan(configuration_of_box(), std::move(alone), asked).steps)
    EXPECT_THAT(step.script, ::testing::Not(HasSubstr("State=DRAIN"))) << step.id;
}

TEST(Plan, EveryMachineIsMeasuredButOneForWhichTheProgramIsNotMade) {
  Machine other = machine_named("n2", "n2");
  other.architecture = "aarch64";
  Plan plan = plan_of({machine_named("box", ""), machine_named("n1", "root@n1"), other});
  std::vector<std::string> ids;
  for (const Step& step : plan.steps)
    if (step.id.starts_with("agent ") || step.id.starts_with("program ")) ids.push_back(step.id);
  EXPECT_EQ(ids, (std::vector<std::string>{"agent box", "program n1", "agent n1"}));
  EXPECT_THAT(plan.notes,
              ::testing::Contains(HasSubstr("n2 is aarch64, for which this program is not made")));
  // Two would keep the same tiers of storage.
  Wishes asked = wishes();
  asked.leave = true;
  config::Configuration config = configuration_of_box();
  config.storage.profile = "rorqual";
  plan = make_plan(config, grown_of({machine_named("box", ""), machine_named("n1", "root@n1")}), asked);
  EXPECT_EQ(plan.steps.back().id, "agent box");
  EXPECT_TRUE(plan.steps.back().later);
}

TEST(Plan, ReservationsAreMadeWhereTheirMachinesAre) {
  Grown grown = grown_of({machine_named("box", ""), machine_named("n1", "n1")});
  model::ReservationRecord one;
  one.set_name("it's mine");
  one.set_start_time(1'900'000'000);
  one.set_end_time(1'900'003'600);
  one.add_shares()->set_node("box");
  one.add_users("ann");
  one.add_users("ben");
  one.set_users_denied(true);
  one.add_flags("DAILY");
  one.add_flags("SPEC_NODES");
  grown.reservations.push_back(one);
  one.set_name("gone");
  one.mutable_shares(0)->set_node("v1");
  grown.reservations.push_back(one);
  const Plan plan = make_plan(configuration_of_box(), std::move(grown), wishes());
  const auto step = std::find_if(plan.steps.begin(), plan.steps.end(),
                                 [](const Step& each) { return each.id == "reservations"; });
  ASSERT_NE(step, plan.steps.end());
  EXPECT_THAT(step->script, HasSubstr("reserve 'it'\\''s mine' 1900000000 1900003600 86400 Nodes=box "
                                      "Users='-ann,-ben' Flags='DAILY'\n"));
  EXPECT_THAT(step->script, ::testing::Not(HasSubstr("gone")));
  EXPECT_THAT(plan.notes, ::testing::Contains(HasSubstr("reservation gone is not carried")));
}

TEST(Plan, IsTheSameAfterTheJournalHasKeptIt) {
  const Plan plan = plan_of({machine_named("box", ""), machine_named("n1", "root@n1")});
  const KeptPlan first = kept(plan, wishes());
  const auto second = parse_kept_plan(kept_plan_json(first));
  ASSERT_TRUE(second.has_value()) << second.error().message;
  EXPECT_EQ(kept_plan_json(*second), kept_plan_json(first));
  EXPECT_EQ(second->hosts, std::vector<std::string>{"root@n1"});
  EXPECT_EQ(second->names, (std::vector<std::string>{"box", "n1"}));
  EXPECT_FALSE(parse_kept_plan("{\"version\": 2}").has_value());
  EXPECT_FALSE(parse_kept_plan("{\"version\": 1}").has_value());
}

TEST(Plan, NamesWhatStandsInItsWay) {
  Machine old = machine_named("n1", "n1"), young = machine_named("n2", "n2"),
          strange = machine_named("n1", "n3");
  old.clock_ahead = -400'000;
  old.has_slurm_conf = true;
  young.packages["slurmd"] = {"26.05.5-1", ""};
  strange.system_id = "rhel";
  strange.uid = 1000;
  strange.services = "none";
  strange.packages.clear();
  std::string all;
  for (const Problem& problem : plan_of({machine_named("box", ""), old, young, strange}).problems)
    all += problem.host + ": " + problem.what + "\n";
  for (const char* words :
       {"n1: its clock is -400 s", "n1: it has a Slurm already", "n2: its Slurm is 26.05, newer",
        "n1: root is needed", "n1: packages come from Debian", "n1: there is neither systemd",
        "n1: no package slurmd", "n1: two hosts have this name"})
    EXPECT_THAT(all, HasSubstr(words));
}

TEST(Plan, ADatabaseLibraryThatEndsSlurmdbdStandsInTheWayOnTheHeadAlone) {
  Machine head = machine_named("box", ""), node = machine_named("n1", "n1");
  node.database_library = {{"1:11.8.9+ds-4", ""}, true, ""};
  EXPECT_TRUE(plan_of({head, node}).problems.empty());
  head.database_library = node.database_library;
  const Plan plan = plan_of({head, node});
  ASSERT_EQ(plan.problems.size(), 1U);
  EXPECT_EQ(plan.problems[0].host, "box");
  EXPECT_THAT(plan.problems[0].what, HasSubstr("slurmdbd ends at its start"));
}

TEST(Steps, SlurmdbdThatEndsIsNotWaitedForAndItsLastLinesAreTold) {
  const auto said = run_on_host("", std::string(script_prelude()) + R"sh(
start() { :; }; runs() { return 1; }; sacctmgr() { return 1; }
last_lines() { echo "error: Number of columns in result (=1) set execeeds maxmimum allowed number of columns (=0);fatal: gone;"; }
)sh" + slurmdbd_step("lab").script,
                                {.timeout = std::chrono::seconds(20), .changes = false});
  ASSERT_TRUE(said.has_value()) << said.error().message;
  EXPECT_EQ(said->exit_code, 1);
  EXPECT_THAT(said->words(), ::testing::StartsWith("slurmdbd has ended because of libmariadb3"));
  EXPECT_THAT(said->words(), HasSubstr("fatal: gone"));
}

TEST(Plan, APersonWithAnotherNumberThereStandsInItsWay) {
  Machine node = machine_named("n1", "n1");
  node.people["ann"] = {.name = "ann", .uid = 7};
  Wishes asked = wishes();
  asked.people = {
      {.name = "ann", .uid = 2001, .gid = 2001, .group = "ann", .home = "/home/ann", .shell = "/bin/sh"}};
  const Plan plan = make_plan(configuration_of_box(), grown_of({machine_named("box", ""), node}), asked);
  ASSERT_EQ(plan.problems.size(), 1U);
  EXPECT_THAT(plan.problems[0].what, HasSubstr("user ann is 7 there and 2001"));
}

TEST(Host, NamesThatAShellOrSshWouldReadOtherwiseAreNone) {
  for (const char* good : {"n1", "root@n1.example.org", "10.0.0.2", "a_b-c"})
    EXPECT_TRUE(check_host(good)) << good;
  for (const char* bad :
       {"", "-oProxyCommand=x", "a b", "n1;reboot", "root@-x", "@n1", "n1@", "$(x)", "n1\n", "a@b@c"})
    EXPECT_FALSE(check_host(bad)) << bad;
}

TEST(Host, AScriptCannotReadTheRestOfItself) {
  const auto said = run_on_host("", "cat\necho \"it's $(printf '%s' 'a  b')\"; exit 3", {.changes = false});
  ASSERT_TRUE(said.has_value()) << said.error().message;
  EXPECT_EQ(said->output, "it's a  b\n");
  EXPECT_EQ(said->exit_code, 3);
}

TEST(Host, AProgramArrivesWholeOrNotAtAll) {
  const auto said = run_on_host(
      "", "d=$(mktemp -d); printf new >$d/new; printf old >$d/old; echo $d; sha256sum <$d/new | cut -c 1-64",
      {.changes = false});
  ASSERT_TRUE(said.has_value()) << said.error().message;
  const size_t line = said->output.find('\n');
  const std::string directory = said->output.substr(0, line), sum = said->output.substr(line + 1, 64);
  const auto send = [&](const std::string& expected) {
    return send_program("", directory + "/new", directory + "/old", expected, std::chrono::seconds(20));
  };
  const auto torn = send(std::string(64, '0'));
  ASSERT_TRUE(torn.has_value()) << torn.error().message;
  EXPECT_EQ(torn->exit_code, 1);
  EXPECT_THAT(torn->words(), HasSubstr("did not arrive whole"));
  const auto sent = send(sum);
  ASSERT_TRUE(sent.has_value()) << sent.error().message;
  EXPECT_EQ(sent->exit_code, 0) << sent->words();
  const auto there = run_on_host(
      "",
      "cat " + directory + "/old; stat -c %a " + directory + "/old; ls " + directory + "; rm -r " + directory,
      {.changes = false});
  ASSERT_TRUE(there.has_value());
  EXPECT_EQ(there->output, "new755\nnew\nold\n");
}

TEST(Host, AScriptHasItsTime) {
  const auto said = run_on_host("", "sleep 600", {.timeout = std::chrono::seconds(1), .changes = false});
  ASSERT_FALSE(said.has_value());
  EXPECT_THAT(said.error().message, HasSubstr("this machine did not finish within 1 s"));
}

TEST(Prelude, PutsFilesBackAsTheyWere) {
  const auto said = run_on_host("", std::string(script_prelude()) + R"sh(
d=$(mktemp -d); trap 'rm -rf $d' EXIT
printf 'two\nlines\n' >"$d/a"; chmod 640 "$d/a"
before=$(save "$d/a" "$d/none")
printf new | base64 | put "$d/a" 0600 "$(id -u):$(id -g)" || die put
printf new | base64 | put "$d/none" 0600 "$(id -u):$(id -g)" || die put
[ "$(cat "$d/none")" = new ] || die none
restore
cat "$d/a"; stat -c %a "$d/a"; ls "$d")sh",
                                {.changes = false});
  ASSERT_TRUE(said.has_value()) << said.error().message;
  EXPECT_EQ(said->output, "two\nlines\n640\na\n") << said->complaint;
}

}  // namespace
}  // namespace minke::grow
