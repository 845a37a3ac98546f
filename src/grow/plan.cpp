#include "grow/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "grow/offline.h"
#include "grow/steps.h"

namespace minke::grow {
namespace {

constexpr SlurmVersion kTakesWaitingJobs{24, 11};

void need(bool good, std::vector<Problem>& problems, const Machine& machine, std::string what) {
  if (!good) problems.push_back({machine.name, std::move(what)});
}

void check_machine(const Machine& machine, const Machine& head, std::vector<Problem>& problems) {
  constexpr int64_t kMostApart = 60'000;  // ms; munge refuses what is five minutes old
  need(machine.uid == 0 || machine.may_sudo, problems, machine,
       "root is needed, or sudo without a password: ssh root@" + machine.name + " must work");
  need(machine.system_id == "debian" || machine.system_id == "ubuntu", problems, machine,
       "packages come from Debian's or Ubuntu's archive; this is " + machine.system);
  need(machine.services != "none", problems, machine,
       "there is neither systemd nor service(8) to start daemons");
  need(std::abs(machine.clock_ahead) < kMostApart, problems, machine,
       fmt::format(
           "its clock is {} s from the head's: set it (chrony, systemd-timesyncd), or munge refuses it",
           machine.clock_ahead / 1000));
  need(!machine.has_slurm_conf || machine.is_ours, problems, machine,
       "it has a Slurm already: /etc/slurm/slurm.conf is not of minke grow");
  need(machine.is_ours || machine.busy_ports.empty(), problems, machine,
       "a port of Slurm's is in use: 6817 to 6819 must be free");
  if (machine.is_head()) {
    const std::string library = database_library_problem(machine);
    need(library.empty(), problems, machine, library);
  }
  const SlurmVersion version = slurm_version(machine), of_head = slurm_version(head);
  need(version.year != 0, problems, machine,
       "no package slurmd can be had there: apt-get update, or its archive");
  need(version <= of_head, problems, machine,
       fmt::format("its Slurm is {}, newer than the head's {}: slurmctld must not be older than a slurmd",
                   version.text(), of_head.text()));
}

void check_people(const std::vector<Person>& people, const Machine& machine, std::vector<Problem>& problems) {
  for (const Person& person : people) {
    const auto found = machine.people.find(person.name);
    if (found != machine.people.end() && found->second.uid != person.uid)
      problems.push_back(
          {machine.name, fmt::format("user {} is {} there and {} on the head: a number must be the same "
                                     "on all machines",
                                     person.name, found->second.uid, person.uid)});
  }
}

}  // namespace

std::vector<Problem> problems_of(const Machine& machine, const Machine& head,
                                 const std::vector<Person>& people) {
  std::vector<Problem> problems;
  check_machine(machine, head, problems);
  if (!machine.is_head()) check_people(people, machine, problems);
  need(machine.name != "localhost", problems, machine, "its name is localhost: give it one (hostnamectl)");
  return problems;
}

namespace {

// People's home directories have to be the same everywhere, which only a shared file system is.
void note_homes(const Grown& grown, const Wishes& wishes, Notes& notes) {
  for (const Machine& machine : grown.machines) {
    if (machine.is_head()) continue;
    for (const Person& person : wishes.people) {
      const Disk* holds = nullptr;  // the file system that has the directory
      for (const Disk& disk : machine.disks) {
        const bool above = disk.mount == "/" || (person.home + "/").starts_with(disk.mount + "/");
        if (above && (holds == nullptr || disk.mount.size() > holds->mount.size())) holds = &disk;
      }
      if (person.uid == 0 || (holds != nullptr && holds->shared())) continue;
      notes.push_back(machine.name + ": " + person.home +
                      " is not on a shared file system there: jobs find their user's files " +
                      "only if it is mounted from the head or a file server (NFS)");
      break;
    }
  }
}

void check_machines(const Grown& grown, const Wishes& wishes, std::vector<Problem>& problems) {
  const Machine& head = grown.machines.front();
  for (size_t i = 0; i < grown.machines.size(); ++i) {
    const Machine& machine = grown.machines[i];
    for (Problem& problem : problems_of(machine, head, wishes.people)) problems.push_back(std::move(problem));
    for (size_t j = 0; j < i; ++j)
      need(grown.machines[j].name != machine.name, problems, machine, "two hosts have this name");
  }
}

void add_what_comes_later(const Wishes& wishes, Plan& plan) {
  const Machine& head = plan.grown.machines.front();
  plan.steps.push_back(settler_step(wishes));
  for (Step& step : later_steps(wishes, head, plan.grown.head_computes))
    plan.steps.push_back(std::move(step));
  plan.notes.push_back(
      "jobs that run at the change end under Minke" +
      std::string(plan.grown.head_computes ? "; until then " + head.name + " runs no jobs of Slurm's" : "") +
      ". They can submit no jobs meanwhile. MINKE_CLUSTER=embedded minke squeue shows them");
}

void add_agents(const Wishes& wishes, bool without_head, Plan& plan) {
  const std::vector<Machine>& machines = plan.grown.machines;
  for (const Machine& machine : machines) {
    if (machine.is_head() && without_head) continue;
    std::vector<Step> steps = minke_steps(machine, machines.front(), wishes.program);
    if (steps.empty())
      plan.notes.push_back(machine.name + " is " + machine.architecture +
                           ", for which this program is not made: jobs there are not measured, until " +
                           "minke agent of that architecture runs there");
    for (Step& step : steps) plan.steps.push_back(std::move(step));
  }
}

}  // namespace

Plan make_plan(const config::Configuration& config, Grown grown, const Wishes& wishes) {
  Plan plan;
  plan.grown = std::move(grown);
  plan.files = slurm_files(config, plan.grown, plan.notes);
  check_machines(plan.grown, wishes, plan.problems);
  note_homes(plan.grown, wishes, plan.notes);
  if (plan.grown.version() < kTakesWaitingJobs)
    plan.notes.push_back(
        "Slurm " + plan.grown.version().text() +
        " does not take jobs under numbers that they have: waiting jobs stay in Minke's data base, and their "
        "users submit them again");
  else
    plan.notes.emplace_back(
        "waiting jobs get new times of submission: Slurm takes none. How long they have waited counts as "
        "their "
        "SiteFactor");
  const std::vector<Machine>& machines = plan.grown.machines;
  const auto each = [&](auto&& make, bool with_head = true) {
    for (const Machine& machine : machines)
      if (with_head || !machine.is_head()) plan.steps.push_back(make(machine));
  };
  const auto add = [&](Step step) { plan.steps.push_back(std::move(step)); };
  each([&](const Machine& machine) {
    return packages_step(machine, offline_packages(config, plan.grown, machine.is_head()));
  });
  each([&](const Machine& machine) { return people_step(machine, wishes.people); }, false);
  each([](const Machine& machine) { return munge_step(machine); });
  each([&](const Machine& machine) { return files_step(machine, plan.files); });
  if (!offline_partitions(plan.grown).empty())
    each([](const Machine& machine) { return offline_step(machine); });
  if (has_proxy(config, plan.grown)) add(proxy_step(machines.front(), config.proxy.port()));
  add(database_step(plan.grown.password));
  add(slurmdbd_step(config.cluster_name));
  // From here on users notice.
  add(close_step(wishes));
  if (!wishes.leave) add(drain_step());
  add(snapshot_step());
  if (!wishes.leave) add(stop_step(wishes));
  add(choice_step(wishes.configuration_path));
  each([](const Machine& machine) { return number_step(machine); });
  add(slurmctld_step());
  add(carry_step("accounts", "accounts, users, associations, QOS and limits",
                 "people keep their places and shares"));
  add(carry_step("usage", "what each account has used", "fair share goes on where it was"));
  add(carry_step("record", "the record of ended jobs", "sacct shows them under their numbers"));
  if (wishes.leave && plan.grown.head_computes) add(keep_head_step(machines.front()));
  for (const Machine& machine : machines)
    if (!machine.is_head() || plan.grown.head_computes) add(slurmd_step(machine));
  // With --leave two would keep the same tiers until Minke's daemon has ended. Before what may refuse the way
  // back: then they go on.
  const bool head_later = wishes.leave && !config.storage.profile.empty();
  add_agents(wishes, head_later, plan);
  if (Step reservations = reservations_step(plan.grown, plan.notes); !reservations.id.empty())
    add(std::move(reservations));
  add(waiting_step());
  if (wishes.leave) add_what_comes_later(wishes, plan);
  if (head_later) {
    add(agent_step(machines.front(), wishes.program));
    plan.steps.back().later = true;
  }
  return plan;
}

KeptPlan kept(const Plan& plan, const Wishes& wishes) {
  KeptPlan out;
  for (const Machine& machine : plan.grown.machines) {
    if (!machine.is_head()) out.hosts.push_back(machine.host);
    out.names.push_back(machine.name);
  }
  out.home = wishes.home;
  out.password = plan.grown.password;
  out.notes = plan.notes;
  out.steps = plan.steps;
  return out;
}

}  // namespace minke::grow
