#include "engine/embedded/watching/triggers.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <string_view>

#include "api/triggers.pb.h"
#include "engine/embedded/accounts/rights.h"
#include "engine/embedded/core.h"
#include "engine/embedded/life_cycle/lifecycle.h"
#include "engine/embedded/scheduling/nodes.h"
#include "model/error.h"
#include "os/detached.h"
#include "os/helper_program.h"
#include "os/log.h"
#include "store/job_row.h"
#include "store/store.h"
#include "text/hostlist.h"

namespace minke::engine {

using namespace model;

namespace {

constexpr int kTriggerDuplicate = 2089;  // ESLURM_TRIGGER_DUP
constexpr int kMostOfOneUser = 200;
constexpr size_t kLongestProgram = 4096;
constexpr int32_t kLargestOffset = 32000;  // as in Slurm

bool can_be(const Trigger& trigger) {
  const std::string& program = trigger.program();
  return !program.empty() && program[0] == '/' && program.size() <= kLongestProgram &&
         trigger.offset() <= kLargestOffset && trigger.offset() >= -kLargestOffset &&
         trigger.event() != TRIGGER_NONE && TriggerEvent_IsValid(trigger.event());
}

bool is_of_job(const Trigger& trigger) {
  return trigger.event() == TRIGGER_JOB_END || trigger.event() == TRIGGER_JOB_TIME;
}

bool is_about_nodes(TriggerEvent event) {
  return (event >= TRIGGER_NODE_UP && event <= TRIGGER_NODE_IDLE) || event == TRIGGER_NODE_DRAINING ||
         event == TRIGGER_NODE_RESUME;
}

bool names(const Trigger& trigger, const std::string& node) {
  if (trigger.node_list().empty()) return true;
  const auto list = text::expand_hostlist(trigger.node_list());
  return list && std::find(list->begin(), list->end(), node) != list->end();
}

}  // namespace

Triggers::Triggers(Core& core)
    : core_(core), timer_(core.loop.make_timer([this] {
        check_idle();
        run_due();
      })) {}

void Triggers::restore(store::LoadedRows& rows) {
  for (Trigger& trigger : rows.read(store::kTriggers)) {
    next_id_ = std::max(next_id_, trigger.id() + 1);
    triggers_.emplace(trigger.id(), std::move(trigger));
  }
}

void Triggers::go_on() {
  if (triggers_.empty()) return;
  seen_ = look();
  // Jobs that ended with the last daemon before their triggers could fire.
  std::vector<std::pair<uint32_t, std::string>> ended;
  for (const auto& [id, trigger] : triggers_) {
    if (trigger.job_id() == 0 || trigger.due() != 0) continue;
    const Job* job = core_.state.find(trigger.job_id());
    if (job == nullptr || job->ended()) ended.emplace_back(id, std::to_string(trigger.job_id()));
  }
  for (const auto& [id, job] : ended) {
    if (triggers_.at(id).event() == TRIGGER_JOB_END) {
      pull(id, job);
    } else {
      remove(id);
    }
  }
  set_timer();
}

Status Triggers::complete(Trigger& trigger) const {
  if (!can_be(trigger)) return failure("no such trigger can be", kNotSupported);
  return trigger.job_id() == 0 ? complete_of_nodes(trigger) : complete_of_job(trigger);
}

Status Triggers::complete_of_nodes(Trigger& trigger) const {
  if (is_of_job(trigger)) return failure("", kInvalidJobId);
  if (trigger.node_list() == "*") trigger.clear_node_list();
  const auto list = text::expand_hostlist(trigger.node_list());
  if (!list) return failure("", kInvalidNodeName);
  for (const std::string& name : *list)
    if (core_.nodes->find_node(name) == nullptr) return failure("there is no node " + name, kInvalidNodeName);
  return {};
}

Status Triggers::complete_of_job(Trigger& trigger) const {
  const Job* job = core_.state.find(trigger.job_id());
  if (job == nullptr) {
    const auto stored = core_.store.job(trigger.job_id());
    return failure("", stored && *stored ? kAlreadyDone : kInvalidJobId);
  }
  if (job->ended()) return failure("", kAlreadyDone);
  if (is_of_job(trigger)) return {};
  // A trigger on the nodes of the job.
  if (!job->holds_nodes() || !job->details || trigger.event() == TRIGGER_RECONFIGURE)
    return failure("the job has no nodes yet", kNotSupported);
  std::vector<std::string> own;
  for (const NodeAllocation& node : job->details->nodes) own.push_back(node.node());
  trigger.set_node_list(text::compress_hostlist_sorted(std::move(own)));
  return {};
}

Status Triggers::set(const api::SetTriggersRequest& request, uint32_t uid, uint32_t gid) {
  if (!core_.rights->is_operator(uid)) return failure("", kAccessDenied);
  std::vector<Trigger> wanted;
  const auto of_user = std::count_if(triggers_.begin(), triggers_.end(),
                                     [&](const auto& known) { return known.second.uid() == uid; });
  if (request.triggers_size() == 0 || of_user + request.triggers_size() > kMostOfOneUser)
    return failure("a user has at most " + std::to_string(kMostOfOneUser) + " triggers", kNotSupported);
  for (Trigger trigger : request.triggers()) {
    trigger.set_uid(uid);
    trigger.set_gid(gid);
    trigger.set_due(0);
    if (const Status good = complete(trigger); !good) return good;
    for (const auto& [id, known] : triggers_) {
      trigger.set_id(id);  // they differ only in the id
      if (known.SerializeAsString() == trigger.SerializeAsString())
        return failure("Duplicate event trigger", kTriggerDuplicate);
    }
    wanted.push_back(std::move(trigger));
  }
  if (watches_nodes()) check_nodes();
  for (Trigger& trigger : wanted) {
    trigger.set_id(next_id_++);
    keep(trigger);
    triggers_.emplace(trigger.id(), trigger);
    if (Job* job = trigger.event() == TRIGGER_JOB_TIME ? core_.state.find(trigger.job_id()) : nullptr)
      core_.lifecycle->set_alarm(*job);
  }
  if (seen_.empty() && watches_nodes()) seen_ = look();
  set_timer();
  return {};
}

Status Triggers::clear(const api::ClearTriggersRequest& request, uint32_t uid) {
  std::vector<uint32_t> found;
  bool denied = false;
  for (const auto& [id, trigger] : triggers_) {
    if (request.id() != 0 && id != request.id()) continue;
    if (request.job_id() != 0 && trigger.job_id() != request.job_id()) continue;
    if (request.has_uid() && trigger.uid() != request.uid()) continue;
    if (trigger.uid() != uid && !core_.rights->is_operator(uid)) {
      denied = true;
    } else {
      found.push_back(id);
    }
  }
  if (found.empty()) return denied ? failure("", kAccessDenied) : failure("No such process", ESRCH);
  for (const uint32_t id : found) remove(id);
  set_timer();
  return {};
}

void Triggers::query(uint32_t uid, api::TriggersReply& reply) const {
  const bool all = core_.rights->is_operator(uid);
  for (const auto& [id, trigger] : triggers_) {
    if (all || trigger.uid() == uid) *reply.add_triggers() = trigger;
  }
}

void Triggers::pull_job_end(const Job& job) {
  std::vector<uint32_t> ends, times;
  for (const auto& [id, trigger] : triggers_) {
    if (trigger.job_id() != job.id || trigger.due() != 0) continue;
    (trigger.event() == TRIGGER_JOB_END ? ends : times).push_back(id);
  }
  for (const uint32_t id : times) remove(id);
  for (const uint32_t id : ends) pull(id, std::to_string(job.id));
}

int64_t Triggers::next_mark(const Job& job) const {
  int64_t next = 0;
  if (triggers_.empty() || job.time_limit_minutes == kUnlimited) return 0;
  for (const auto& [id, trigger] : triggers_) {
    if (trigger.job_id() != job.id || trigger.event() != TRIGGER_JOB_TIME || trigger.due() != 0) continue;
    const int64_t time = std::max(core_.now(), job.limit_end() + std::min(0, trigger.offset()));
    next = next == 0 ? time : std::min(next, time);
  }
  return next;
}

void Triggers::mark_reached(Job& job) {
  std::vector<uint32_t> reached;
  for (const auto& [id, trigger] : triggers_) {
    if (trigger.job_id() == job.id && trigger.event() == TRIGGER_JOB_TIME && trigger.due() == 0 &&
        core_.now() >= job.limit_end() + std::min(0, trigger.offset()))
      reached.push_back(id);
  }
  for (const uint32_t id : reached) pull(id, std::to_string(job.id));
}

bool Triggers::watches_nodes() const {
  return std::any_of(triggers_.begin(), triggers_.end(),
                     [](const auto& known) { return is_about_nodes(known.second.event()); });
}

std::map<std::string, Triggers::Seen> Triggers::look() const {
  std::set<std::string> busy;
  for (const auto& [id, job] : core_.state.jobs()) {
    if (!job->holds_nodes() || !job->details) continue;
    for (const NodeAllocation& node : job->details->nodes) busy.insert(node.node());
  }
  std::map<std::string, Seen> nodes;
  for (const NodeRecord& node : core_.nodes->nodes()) {
    const bool is_busy = busy.contains(node.name());
    Seen& seen = nodes[node.name()];
    seen.down = is_down(node.state());
    seen.failing = node.state() == NODE_FAIL;
    seen.drained = node.state() == NODE_DRAIN && !is_busy;
    seen.draining = node.state() == NODE_DRAIN && is_busy;
    const auto before = seen_.find(node.name());
    if (node.state() == NODE_IDLE && !is_busy)
      seen.idle_since =
          before != seen_.end() && before->second.idle_since != 0 ? before->second.idle_since : core_.now();
  }
  return nodes;
}

void Triggers::nodes_changed() {
  if (triggers_.empty() || check_posted_ || !watches_nodes()) return;
  check_posted_ = true;
  core_.loop.post([this] {
    check_posted_ = false;
    check_nodes();
    set_timer();
  });
}

bool Triggers::Seen::happened_since(const Seen& before, TriggerEvent event) const {
  switch (event) {
    case TRIGGER_NODE_UP:
      return before.down && !down;
    case TRIGGER_NODE_DOWN:
      return down && !before.down;
    case TRIGGER_NODE_DRAINED:
      return drained && !before.drained;
    case TRIGGER_NODE_DRAINING:
      return draining && !before.draining;
    case TRIGGER_NODE_FAIL:
      return failing && !before.failing;
    case TRIGGER_NODE_RESUME:
      return before.refuses_jobs() && !refuses_jobs();
    default:
      return false;
  }
}

void Triggers::check_nodes() {
  auto now = look();
  std::vector<std::pair<uint32_t, Nodes>> pulled;
  for (const auto& [id, trigger] : triggers_) {
    if (!is_about_nodes(trigger.event()) || trigger.due() != 0) continue;
    Nodes changed;
    for (const auto& [name, seen] : now) {
      const Seen& before = seen_[name];
      if (seen.happened_since(before, trigger.event()) && names(trigger, name)) changed.push_back(name);
    }
    if (!changed.empty()) pulled.emplace_back(id, std::move(changed));
  }
  seen_ = std::move(now);
  for (auto& [id, nodes] : pulled) pull(id, text::compress_hostlist_sorted(std::move(nodes)));
  check_idle();
}

// The offset is part of this event: how long the nodes have been idle.
void Triggers::check_idle() {
  std::vector<std::pair<uint32_t, Nodes>> pulled;
  for (const auto& [id, trigger] : triggers_) {
    if (trigger.event() != TRIGGER_NODE_IDLE) continue;
    Nodes idle;
    for (const auto& [name, seen] : seen_) {
      if (seen.idle_since == 0 || core_.now() < seen.idle_since + trigger.offset() || !names(trigger, name))
        continue;
      if (std::exchange(idle_told_[{id, name}], seen.idle_since) != seen.idle_since) idle.push_back(name);
    }
    if (!idle.empty()) pulled.emplace_back(id, std::move(idle));
  }
  for (auto& [id, nodes] : pulled) pull(id, text::compress_hostlist_sorted(std::move(nodes)));
}

void Triggers::reconfigured() {
  std::vector<uint32_t> pulled;
  for (const auto& [id, trigger] : triggers_)
    if (trigger.event() == TRIGGER_RECONFIGURE && trigger.due() == 0) pulled.push_back(id);
  for (const uint32_t id : pulled) pull(id, "*");
  nodes_changed();
}

void Triggers::pull(uint32_t id, const std::string& argument) {
  Trigger& trigger = triggers_.at(id);
  if (trigger.event() != TRIGGER_NODE_IDLE && trigger.offset() > 0) {
    trigger.set_due(core_.now() + trigger.offset());
    trigger.set_argument(argument);
    keep(trigger);
    return set_timer();
  }
  run(trigger, argument);
}

void Triggers::run_due() {
  std::vector<uint32_t> due;
  for (const auto& [id, trigger] : triggers_)
    if (trigger.due() != 0 && trigger.due() <= core_.now()) due.push_back(id);
  for (const uint32_t id : due) run(triggers_.at(id), std::string(triggers_.at(id).argument()));
  set_timer();
}

void Triggers::run(const Trigger& pulled, const std::string& argument) {
  Trigger trigger = pulled;
  if (trigger.permanent() && trigger.event() != TRIGGER_JOB_END && trigger.event() != TRIGGER_JOB_TIME) {
    if (trigger.due() != 0) {
      trigger.set_due(0);
      trigger.clear_argument();
      triggers_[trigger.id()] = trigger;
      keep(trigger);
    }
  } else {
    remove(trigger.id());
  }
  core_.committer.when_durable([this, trigger, argument] {
    os::log_info("trigger " + std::to_string(trigger.id()) + " of user " + std::to_string(trigger.uid()) +
                 " is pulled: " + trigger.program() + " " + argument);
    if (const Status started = start_program(trigger, argument); !started)
      os::log_error("its program is not run: " + started.error().message);
  });
}

Status Triggers::start_program(const Trigger& trigger, const std::string& argument) {
  auto charge = core_.rights->budgets().take(trigger.uid(), Budget::kHelperProcesses, 1);
  if (!charge) return failure(charge.error());
  auto output = os::start_detached(
      {.argv = os::helper_command(os::Helper::kTriggerProgram,
                                  {std::to_string(trigger.uid()), std::to_string(trigger.gid()),
                                   trigger.program(), argument, core_.config.home}),
       .log_path = "/dev/null",
       .without_variables = {"SLURM_*"}});
  if (!output) return failure(output.error());
  const uint64_t id = next_program_++;
  Program& program = programs_[id];
  program.output = std::move(*output);
  program.charge = std::move(*charge);
  program.watch = core_.loop.on_readable(program.output.get(), [this, id] {
    char said[64];  // it writes nothing: this is its end
    if (::read(programs_.at(id).output.get(), said, sizeof said) > 0) return;
    const Program ended = std::move(programs_.at(id));  // lives until its watch has returned
    programs_.erase(id);
  });
  return {};
}

void Triggers::keep(const Trigger& trigger) {
  core_.committer.row_changed(store::kTriggers.row(trigger));
}

void Triggers::remove(uint32_t id) {
  triggers_.erase(id);
  core_.committer.row_changed(store::kTriggers.no_row(id));
  idle_told_.erase(idle_told_.lower_bound({id, ""}), idle_told_.lower_bound({id + 1, ""}));
  if (!watches_nodes()) seen_.clear();
}

void Triggers::set_timer() {
  int64_t next = 0;
  const auto consider = [&](int64_t time) { next = next == 0 ? time : std::min(next, time); };
  for (const auto& [id, trigger] : triggers_) {
    if (trigger.due() != 0) consider(trigger.due());
    if (trigger.event() != TRIGGER_NODE_IDLE) continue;
    for (const auto& [name, seen] : seen_) {
      const auto told = idle_told_.find({id, name});
      if (seen.idle_since != 0 && names(trigger, name) &&
          (told == idle_told_.end() || told->second != seen.idle_since))
        consider(seen.idle_since + trigger.offset());
    }
  }
  if (next == 0) return timer_->cancel();
  timer_->set_after(std::chrono::seconds(std::max<int64_t>(0, next - core_.now())));
}

}  // namespace minke::engine
