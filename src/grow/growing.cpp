#include "grow/growing.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include "grow/actions.h"
#include "grow/looking.h"
#include "node/discovery.h"
#include "os/files.h"
#include "os/minke_home.h"
#include "os/random_key.h"
#include "os/this_program.h"
#include "text/hex.h"

namespace minke::grow {
namespace {

constexpr size_t kMostTopology = size_t{4} << 20;

std::string directory_of(const Home& home) {
  return home.path + "/grow";
}

// The head is known to the others by the address at which they saw it.
void choose_addresses(std::vector<Machine>& machines) {
  Machine& head = machines.front();
  for (const Machine& machine : machines)
    if (!machine.is_head() && !machine.head_address.empty()) head.address = machine.head_address;
}

}  // namespace

Result<Home> open_home() {
  const auto path = os::minke_home();
  if (!path) return failure(path.error());
  Home home;
  home.path = *path;
  home.configuration_path = os::configuration_path(*path);
  auto configuration =
      config::load_configuration(home.path, home.configuration_path, node::discover_machine());
  if (!configuration) return failure(configuration.error());
  home.configuration = std::move(*configuration);
  if (home.configuration_path.empty())
    home.configuration_path =
        home.path == os::kSharedHome ? os::kSharedConfiguration : home.path + "/minke.toml";
  return home;
}

Result<Plan> plan(const Home& home, const Asked& asked, const std::string& password, Wishes& wishes) {
  const auto hosts = hosts_of(asked.hosts);
  if (!hosts) return failure(hosts.error());
  if (hosts->empty()) return failure("name the hosts: minke grow plan HOST…");
  const auto names = people_with_accounts(home);
  if (!names) return failure(names.error());
  Grown grown;
  const auto head = look_at("", *names);
  if (!head) return failure(head.error());
  grown.machines.push_back(*head);
  for (const std::string& host : *hosts) {
    auto machine = look_at(host, *names);
    if (!machine) return failure(machine.error());
    grown.machines.push_back(std::move(*machine));
  }
  choose_addresses(grown.machines);
  auto partitions = partitions_of(home);
  if (!partitions) return failure(partitions.error());
  grown.partitions = std::move(*partitions);
  grown.head_computes = asked.head_computes;
  grown.control_groups = have_control_groups(grown.machines);
  grown.password = password;
  const auto program = os::this_program();
  if (!program) return failure(program.error());
  wishes.home = home.path;
  wishes.program = *program;
  wishes.configuration_path = home.configuration_path;
  wishes.leave = asked.leave;
  for (const auto& [name, person] : grown.machines.front().people) wishes.people.push_back(person);
  const auto reservations = reservations_of(home);
  if (!reservations) return failure(reservations.error());
  grown.reservations = *reservations;
  const std::string& source = home.configuration.source_path;
  if (const size_t slash = source.rfind('/'); slash != std::string::npos)
    if (auto topology = os::read_file(source.substr(0, slash) + "/topology.conf", kMostTopology))
      grown.topology = std::move(*topology);
  return make_plan(home.configuration, std::move(grown), wishes);
}

namespace {

Status need_root() {
  return ::geteuid() == 0 ? Status()
                          : failure("minke grow is for root: it installs packages and writes into /etc");
}

// The plan under way, or a new one, which is kept.
Result<KeptPlan> plan_to_apply(const Home& home, const Asked& asked, Journal& journal) {
  const auto text = journal.plan();
  if (!text) return failure(text.error());
  if (*text) {
    auto known = parse_kept_plan(**text);
    const auto hosts = hosts_of(asked.hosts);
    if (known && hosts && !hosts->empty() && *hosts != known->hosts)
      return failure(
          "a plan for other hosts is under way: minke grow apply goes on with it, minke grow undo takes it "
          "back");
    return known;
  }
  Wishes wishes;
  const auto made = plan(home, asked, text::to_hex(os::random_key()), wishes);
  if (!made) return failure(made.error());
  if (!made->problems.empty()) {
    std::string words = "it cannot be done yet";
    for (const Problem& problem : made->problems) words += "; " + problem.host + ": " + problem.what;
    return failure(words);
  }
  KeptPlan to_keep = kept(*made, wishes);
  if (const Status saved = journal.keep_plan(kept_plan_json(to_keep)); !saved) return failure(saved.error());
  return to_keep;
}

bool jobs_are_left(const Journal& journal, const KeptPlan& plan) {
  return std::any_of(plan.steps.begin(), plan.steps.end(), [&](const Step& step) {
    return step.later && journal.step(step.id).state != StepState::kDone;
  });
}

}  // namespace

Status apply(const Home& home, const Asked& asked, const Tell& tell) {
  if (const Status root = need_root(); !root) return root;
  auto journal = Journal::open(directory_of(home));
  if (!journal) return failure(journal.error());
  if (journal->confirmed())
    return failure(
        "the cluster has grown, and that is confirmed: minke grow add HOST takes in another machine");
  const auto kept_plan = plan_to_apply(home, asked, *journal);
  if (!kept_plan) return failure(kept_plan.error());
  Applying applying(*journal, *kept_plan, actions_for(home, directory_of(home), tell), tell);
  if (const Status applied = applying.apply(); !applied) return applied;
  if (jobs_are_left(*journal, *kept_plan))
    tell("jobs still run under Minke: " + kept_plan->names.front() +
         " joins by itself when they have ended; minke grow status says whether it has");
  return {};
}

Status settle(const Home& home, const Tell& tell) {
  if (const Status root = need_root(); !root) return root;
  // Without the journal, which others need meanwhile.
  const std::string directory = directory_of(home);
  if (const Status drained = actions_for(home, directory, tell)["drain"](); !drained) return drained;
  auto journal = Journal::open(directory);
  while (!journal && journal.error().code == EWOULDBLOCK) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    journal = Journal::open(directory);
  }
  if (!journal) return failure(journal.error());
  const auto text = journal->plan();
  if (!text) return failure(text.error());
  if (!*text) return {};
  const auto kept_plan = parse_kept_plan(**text);
  if (!kept_plan) return failure(kept_plan.error());
  Applying applying(*journal, *kept_plan, actions_for(home, directory, tell), tell);
  return applying.apply(true);
}

Status undo(const Home& home, const Asked& asked, const Tell& tell) {
  if (const Status root = need_root(); !root) return root;
  auto journal = Journal::open(directory_of(home));
  if (!journal) return failure(journal.error());
  if (journal->confirmed())
    return failure("it is confirmed, and cannot be undone: minke grow shrink goes back to one machine");
  const auto text = journal->plan();
  if (!text) return failure(text.error());
  if (!*text) return failure("nothing is under way");
  const auto kept_plan = parse_kept_plan(**text);
  if (!kept_plan) return failure(kept_plan.error());
  Applying applying(*journal, *kept_plan, {}, tell);
  if (const Status undone = applying.undo_all(asked.discard, asked.gone); !undone) return undone;
  return journal->forget();
}

Status confirm(const Home& home) {
  if (const Status root = need_root(); !root) return root;
  auto journal = Journal::open(directory_of(home));
  if (!journal) return failure(journal.error());
  const auto text = journal->plan();
  if (!text) return failure(text.error());
  if (!*text) return failure("nothing is under way");
  const auto kept_plan = parse_kept_plan(**text);
  if (!kept_plan) return failure(kept_plan.error());
  for (const Step& step : kept_plan->steps)
    if (journal->step(step.id).state != StepState::kDone)
      return failure(step.later ? "jobs still run under Minke: it can be confirmed when they have ended"
                                : "the step " + step.id + " is not done: minke grow apply goes on");
  return journal->confirm();
}

Result<std::string> status(const Home& home) {
  if (const Status root = need_root(); !root) return failure(root.error());
  const auto journal = Journal::open(directory_of(home));
  if (!journal) return failure(journal.error());
  const auto text = journal->plan();
  if (!text) return failure(text.error());
  if (!*text) return "nothing is under way: this is a cluster of one machine\n";
  const auto kept_plan = parse_kept_plan(**text);
  if (!kept_plan) return failure(kept_plan.error());
  std::string out;
  size_t done = 0;
  for (const Step& step : kept_plan->steps) {
    const StepState state = journal->step(step.id).state;
    done += state == StepState::kDone;
    out += fmt::format("{:8} {:20} {}\n",
                       state == StepState::kDone    ? "done"
                       : state == StepState::kBegun ? "begun"
                       : step.later                 ? "later"
                                                    : "",
                       step.id, step.what);
  }
  out += fmt::format("{} of {} steps are done; ", done, kept_plan->steps.size());
  out += journal->confirmed()              ? "confirmed\n"
         : done == kept_plan->steps.size() ? "minke grow confirm keeps it, minke grow undo takes it back\n"
                                           : "minke grow apply goes on, minke grow undo takes it back\n";
  return out;
}

}  // namespace minke::grow
