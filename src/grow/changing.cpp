#include "grow/changing.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "grow/actions.h"
#include "grow/conf_edit.h"
#include "grow/host.h"
#include "grow/looking.h"
#include "grow/offline.h"
#include "grow/steps.h"
#include "os/files.h"
#include "os/this_program.h"
#include "text/number.h"
#include "text/shell_quote.h"

namespace minke::grow {
namespace {

constexpr char kConf[] = "/etc/slurm/slurm.conf";
constexpr char kGres[] = "/etc/slurm/gres.conf";
constexpr char kTopology[] = "/etc/slurm/topology.conf";
constexpr size_t kMostBytes = size_t{16} << 20;

// The cluster that has grown, and its journal.
struct Present {
  Journal journal;
  KeptPlan plan;
  std::string conf, gres, topology;
};

Result<Present> open_present(const Home& home) {
  auto journal = Journal::open(home.path + "/grow");
  if (!journal) return failure(journal.error());
  const auto text = journal->plan();
  if (!text) return failure(text.error());
  if (!*text) return failure("this cluster has one machine: minke grow apply HOST… comes first");
  auto plan = parse_kept_plan(**text);
  if (!plan) return failure(plan.error());
  auto conf = os::read_file(kConf, kMostBytes);
  if (!conf && conf.error().code != ENOENT) return failure(std::string(kConf) + ": " + conf.error().message);
  auto gres = os::read_file(kGres, kMostBytes);
  auto topology = os::read_file(kTopology, kMostBytes);
  return Present{std::move(*journal), std::move(*plan), conf ? *conf : "", gres ? *gres : "",
                 topology ? *topology : ""};
}

// The change that is under way, by the word before its steps' colon; empty: none.
std::string change_under_way(const KeptPlan& plan) {
  for (const Step& step : plan.steps)
    if (step.id.starts_with("add ") || step.id.starts_with("remove "))
      return step.id.substr(0, step.id.find(':'));
  return {};
}

Status no_steps_left(const Present& present) {
  for (const Step& step : present.plan.steps)
    if (present.journal.step(step.id).state != StepState::kDone)
      return failure("the step " + step.id + " is not done: minke grow apply goes on");
  return {};
}

// Steps that were done once are new again.
Status append(Present& present, std::vector<Step> steps) {
  for (Step& step : steps) {
    const StepState state = present.journal.step(step.id).state;
    if (state == StepState::kBegun || state == StepState::kDone)
      if (const Status again = present.journal.undone(step.id); !again) return again;
    std::erase_if(present.plan.steps, [&](const Step& one) { return one.id == step.id; });
    present.plan.steps.push_back(std::move(step));
  }
  return present.journal.keep_plan(kept_plan_json(present.plan));
}

// The change is whole: only what belongs to the machine itself stays, to be undone with it.
Status settle(Present& present, const std::string& about) {
  std::erase_if(present.plan.steps, [&](const Step& step) { return step.id.starts_with(about + ":"); });
  return present.journal.keep_plan(kept_plan_json(present.plan));
}

// Those that are not done. What was done before is not looked at again: a machine that has gone since would
// hold up a change of the others.
Status do_steps(const Home& home, Present& present, const Tell& tell) {
  Applying applying(present.journal, present.plan, actions_for(home, present.journal.directory(), tell),
                    tell);
  return applying.apply(true);
}

std::string host_of(const KeptPlan& plan, const std::string& name) {
  for (size_t i = 1; i < plan.names.size(); ++i)
    if (plan.names[i] == name) return plan.hosts[i - 1];
  return {};
}

// All machines get the head's files, and slurmctld reads them. `new_one` and `old_one`: the machine that
// comes, or goes.
void add_notices(const Present& present, const std::string& about, SlurmVersion version,
                 const std::string& new_one, const std::string& old_one, std::vector<Step>& steps) {
  const std::vector<std::string> nodes = node_names(present.conf);
  for (size_t i = 1; i < present.plan.names.size(); ++i)
    if (const std::string& name = present.plan.names[i]; name != old_one)
      steps.push_back(same_files_step((name == new_one ? "" : about + ": ") + "files " + name,
                                      present.plan.hosts[i - 1]));
  steps.push_back(take_notice_step(about, version));
  if (version >= SlurmVersion{23, 11}) return;
  for (size_t i = 0; i < present.plan.names.size(); ++i)
    if (present.plan.names[i] != old_one && present.plan.names[i] != new_one &&
        std::find(nodes.begin(), nodes.end(), present.plan.names[i]) != nodes.end())
      steps.push_back(
          slurmd_again_step(about, present.plan.names[i], i == 0 ? "" : present.plan.hosts[i - 1]));
}

std::string words_of(const std::vector<Problem>& problems) {
  std::string words = "it cannot be done yet";
  for (const Problem& problem : problems) words += "; " + problem.host + ": " + problem.what;
  return words;
}

// The files with the new machine in them.
Status put_in(const Home& home, const Machine& machine, Present& present, const Tell& tell,
              std::vector<Step>& steps) {
  Grown alone;
  alone.machines = {machine};
  Notes notes;
  std::string line = node_lines(home.configuration, alone, notes);
  line.pop_back();
  auto conf = with_node(present.conf, machine.name, line);
  if (!conf) return failure(conf.error());
  const std::string rows = gres_conf(alone);
  std::string gres = present.gres;
  if (!rows.empty() && gres.find("NodeName=" + machine.name + " ") == std::string::npos)
    gres += gres.empty() ? rows : rows.substr(rows.find('\n') + 1);
  if (!rows.empty() && conf->find("GresTypes=") == std::string::npos) *conf = "GresTypes=gpu\n" + *conf;
  std::string topology = present.topology;
  if (!topology.empty()) {
    auto changed = topology_with_node(topology, machine.name, machine.network_switch);
    if (changed) topology = std::move(*changed);
    if (!changed) tell(changed.error().message);
    if (machine.network_switch.empty())
      tell("which switch " + machine.name + " has is not known (lldpd tells it): it gets one of its own");
  }
  steps.push_back(new_conf_step("add " + machine.name, *conf, gres, topology));
  return {};
}

Status plan_to_add(const Home& home, const std::string& host, Present& present, const Tell& tell) {
  if (const Status complete = no_steps_left(present); !complete) return complete;
  const auto people = people_of_slurm();
  if (!people) return failure(people.error());
  const auto head = look_at("", *people);
  if (!head) return failure(head.error());
  auto machine = look_at(host, *people);
  if (!machine) return failure(machine.error());
  const auto& names = present.plan.names;
  if (std::find(names.begin(), names.end(), machine->name) != names.end())
    return failure(machine->name + " is of the cluster already");
  std::vector<Person> persons;
  for (const auto& [name, person] : head->people) persons.push_back(person);
  if (const auto problems = problems_of(*machine, *head, persons); !problems.empty())
    return failure(words_of(problems));
  const std::string about = "add " + machine->name;
  const auto prolog = os::read_file("/etc/slurm/minke-prolog.sh", kMostBytes);
  const bool offline = prolog && prolog->find(kOfflineTable) != std::string::npos;
  std::vector<Step> steps = {
      packages_step(*machine, offline ? std::vector<std::string>{"nftables"} : std::vector<std::string>()),
      people_step(*machine, persons), munge_step(*machine)};
  if (offline) steps.push_back(offline_step(*machine));
  if (const Status put = put_in(home, *machine, present, tell, steps); !put) return put;
  present.plan.names.push_back(machine->name);
  present.plan.hosts.push_back(host);
  add_notices(present, about, slurm_version(*head), machine->name, "", steps);
  steps.push_back(slurmd_step(*machine));
  const auto program = os::this_program();
  if (!program) return failure(program.error());
  for (Step& step : minke_steps(*machine, *head, *program)) steps.push_back(std::move(step));
  return append(present, std::move(steps));
}

Status plan_to_remove(const std::string& name, bool gone, Present& present) {
  if (const Status complete = no_steps_left(present); !complete) return complete;
  const auto& names = present.plan.names;
  if (std::find(names.begin(), names.end(), name) == names.end())
    return failure("no machine of the cluster is called " + name);
  if (names.front() == name)
    return failure(name + " is the head, which stays: minke grow shrink goes back to it alone");
  const auto head = look_at("", {});
  if (!head) return failure(head.error());
  const auto conf = without_node(present.conf, name);
  if (!conf) return failure(conf.error());
  std::string gres;
  for (size_t at = 0; at < present.gres.size();) {
    const size_t end = std::min(present.gres.find('\n', at), present.gres.size() - 1);
    const std::string line = present.gres.substr(at, end + 1 - at);
    if (!line.starts_with("NodeName=" + name + " ")) gres += line;
    at = end + 1;
  }
  const std::string about = "remove " + name;
  std::vector<Step> steps = {
      drain_node_step(name),
      new_conf_step(about, *conf, gres, topology_without_node(present.topology, name))};
  if (gone) {
    steps.front().script.clear();  // its jobs have ended with it
    steps.front().check = "scontrol update NodeName=" + name + " State=DOWN Reason='minke grow remove'";
  } else {
    steps.push_back(halt_slurmd_step(name, host_of(present.plan, name)));
  }
  add_notices(present, about, slurm_version(*head), "", name, steps);
  return append(present, std::move(steps));
}

// What the cluster had put there goes, and what was there before comes back.
Status give_back(Present& present, const std::string& name, bool gone, const Tell& tell) {
  const std::string host = host_of(present.plan, name);
  std::vector<Step> of_host;
  for (const Step& step : present.plan.steps)
    if (step.host == host && !host.empty() && !step.id.starts_with("remove ")) of_host.push_back(step);
  if (!gone) {
    KeptPlan part = present.plan;
    part.steps = of_host;
    Applying applying(present.journal, part, {}, tell);
    if (const Status undone = applying.undo_all(false); !undone) return undone;
  }
  std::erase_if(present.plan.steps, [&](const Step& step) {
    return step.host == host && !host.empty() && !step.id.starts_with("remove ");
  });
  for (size_t i = 1; i < present.plan.names.size(); ++i) {
    if (present.plan.names[i] != name) continue;
    present.plan.names.erase(present.plan.names.begin() + static_cast<std::ptrdiff_t>(i));
    present.plan.hosts.erase(present.plan.hosts.begin() + static_cast<std::ptrdiff_t>(i - 1));
    break;
  }
  return present.journal.keep_plan(kept_plan_json(present.plan));
}

}  // namespace

Status add_host(const Home& home, const std::string& host, const Tell& tell) {
  if (const Status good = check_host(host); !good) return good;
  auto present = open_present(home);
  if (!present) return failure(present.error());
  std::string about = change_under_way(present->plan);
  if (about.empty()) {
    if (const Status planned = plan_to_add(home, host, *present, tell); !planned) return planned;
    about = change_under_way(present->plan);
  } else if (!about.starts_with("add ") || present->plan.hosts.back() != host) {
    return failure("\"" + about + "\" is under way: say that again first");
  }
  if (const Status done = do_steps(home, *present, tell); !done) return done;
  return settle(*present, about);
}

Status remove_host(const Home& home, const std::string& name, bool gone, const Tell& tell) {
  auto present = open_present(home);
  if (!present) return failure(present.error());
  const std::string about = change_under_way(present->plan);
  if (about.empty()) {
    if (const Status planned = plan_to_remove(name, gone, *present); !planned) return planned;
  } else if (about != "remove " + name) {
    return failure("\"" + about + "\" is under way: say that again first");
  }
  if (const Status done = do_steps(home, *present, tell); !done) return done;
  if (const Status back = give_back(*present, name, gone, tell); !back) return back;
  return settle(*present, "remove " + name);
}

namespace {

// Where a step of an agent stands: where it has stood, else before the first step whose way back may be
// refused, so that agents go on after such a refusal.
Step& place_of(const Step& step, std::vector<Step>& steps) {
  const auto same = std::ranges::find(steps, step.id, &Step::id);
  if (same != steps.end()) return *same;
  return *steps.insert(std::ranges::find(steps, "waiting", &Step::id), step);
}

}  // namespace

Status start_agents(const Home& home, const Tell& tell) {
  auto present = open_present(home);
  if (!present) return failure(present.error());
  if (const Status complete = no_steps_left(*present); !complete) return complete;
  const auto program = os::this_program();
  if (!program) return failure(program.error());
  const auto head = look_at("", {});
  if (!head) return failure(head.error());
  KeptPlan part = present->plan;
  part.steps.clear();
  for (size_t i = 0; i < present->plan.names.size(); ++i) {
    const auto machine = i == 0 ? head : look_at(present->plan.hosts[i - 1], {});
    if (!machine) return failure(machine.error());
    std::vector<Step> steps = minke_steps(*machine, *head, *program);
    if (steps.empty()) tell(machine->name + ": this program is not made for " + machine->architecture);
    for (Step& step : steps) {
      place_of(step, present->plan.steps) = step;
      part.steps.push_back(std::move(step));
    }
  }
  if (const Status kept = present->journal.keep_plan(kept_plan_json(present->plan)); !kept) return kept;
  Applying applying(present->journal, part, {}, tell);
  return applying.apply();
}

namespace {

// What Slurm knew, when Minke runs again.
Status take_back(const Home& home, const Tell& tell) {
  const auto program = os::this_program();
  if (!program) return failure(program.error());
  tell("shrink: Minke takes in accounts, the record and waiting jobs");
  const auto said = run_on_host("",
                                std::string(script_prelude()) + "home=" + text::shell_quoted(home.path) +
                                    "\n" + take_back_script(*program),
                                {.timeout = std::chrono::hours(1)});
  if (!said) return failure(said.error());
  for (const std::string_view line : text::split(said->output, '\n'))
    if (!line.empty()) tell("  " + std::string(line));
  return said->exit_code == 0 ? Status() : failure("shrink: " + said->words());
}

}  // namespace

Status shrink(const Home& home, bool gone, const Tell& tell) {
  if (::access((home.path + "/grow/back/ready").c_str(), F_OK) == 0) {
    const auto journal = Journal::open(home.path + "/grow");
    if (!journal) return failure(journal.error());
    const auto plan = journal->plan();
    if (plan && !*plan) return take_back(home, tell);  // it was interrupted after the way back
  }
  auto present = open_present(home);
  if (!present) return failure(present.error());
  const bool begun = std::any_of(present->plan.steps.begin(), present->plan.steps.end(),
                                 [](const Step& step) { return step.id.starts_with("shrink: "); });
  if (!begun) {
    if (const Status complete = no_steps_left(*present); !complete) return complete;
    if (const Status planned = append(*present, shrink_steps(home.configuration.cluster_name)); !planned)
      return planned;
  }
  // What was begun to be undone is not done again.
  const bool kept = present->journal.step("shrink: keep").state == StepState::kDone ||
                    ::access((home.path + "/grow/back/ready").c_str(), F_OK) == 0;
  if (!kept)
    if (const Status done = do_steps(home, *present, tell); !done) return done;
  Applying applying(present->journal, present->plan, {}, tell);
  if (const Status undone = applying.undo_all(true, gone); !undone) return undone;
  if (const Status forgotten = present->journal.forget(); !forgotten) return forgotten;
  return take_back(home, tell);
}

}  // namespace minke::grow
