#include "cli/scontrol/show_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "accounts/inherited_limits.h"
#include "api/accounts.pb.h"
#include "model/accounts.pb.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "model/job_terms.pb.h"
#include "os/user_id.h"
#include "text/number.h"
#include "text/tres.h"
#include "view/sshare.h"
#include "view/text.h"

namespace minke::cli {
namespace {

using model::AssociationRecord;
using model::Limits;
using model::QosRecord;
using Amounts = std::map<std::string, uint64_t>;
using TresList = google::protobuf::RepeatedPtrField<model::Tres>;

// In Slurm's order; GRES follow.
constexpr const char* kTres[] = {"cpu", "mem", "energy", "node", "billing", "fs/disk", "vmem", "pages"};

struct Use {
  uint64_t running = 0, submitted = 0;
  Amounts tres;       // of running jobs
  Amounts tres_left;  // TRES x s that those may still use
};

uint32_t uid_of(const std::string& user) {
  return os::user_id_of(user).value_or(0xfffffffe);  // Slurm's id of users that the system does not know
}

uint64_t tasks_of(const model::JobRecord& job) {
  uint64_t tasks = 0;
  for (const model::IndexRange& range : job.array_pending().ranges())
    tasks += (uint64_t{range.last()} - range.first()) / std::max(1u, range.step()) + 1;
  return std::max<uint64_t>(1, tasks);
}

void count(Use& use, const model::JobRecord& job, int64_t now) {
  use.submitted += tasks_of(job);
  if (job.state() != model::JOB_RUNNING && job.state() != model::JOB_SUSPENDED) return;
  ++use.running;
  const bool limited = job.time_limit_minutes() != UINT32_MAX;
  const int64_t left = int64_t{60} * job.time_limit_minutes() - view::elapsed_seconds(job, now);
  const auto add = [&](const std::string& name, uint64_t amount) {
    use.tres[name] += amount;
    if (limited && left > 0) use.tres_left[name] += amount * static_cast<uint64_t>(left);
  };
  const text::TresAmounts amounts = view::tres_of(job);
  add("cpu", amounts.cpus);
  add("mem", amounts.memory_mib);
  add("node", amounts.nodes);
  add("billing", amounts.billing.value_or(0));
  for (const model::Gres& gres : amounts.gres) {
    add("gres/" + gres.name(), gres.count());
    if (!gres.type().empty()) add("gres/" + gres.name() + ":" + gres.type(), gres.count());
  }
}

// The parent of each association; root's has none.
using Above = std::unordered_map<uint32_t, const AssociationRecord*>;

Above find_above(const api::AccountsReply& tree) {
  std::unordered_map<std::string, const AssociationRecord*> account_of;
  for (const AssociationRecord& one : tree.associations())
    if (one.user().empty()) account_of[one.account()] = &one;
  Above all;
  for (const AssociationRecord& one : tree.associations()) {
    const auto above = account_of.find(one.user().empty() ? one.parent_account() : one.account());
    if (above != account_of.end() && above->second != &one) all[one.id()] = above->second;
  }
  return all;
}

const AssociationRecord* above(const Above& all, const AssociationRecord& one) {
  const auto found = all.find(one.id());
  return found == all.end() ? nullptr : found->second;
}

// Counts each job at its association and all above it, at its QOS, and there at its user and account.
struct Uses {
  std::unordered_map<uint32_t, Use> associations;
  std::map<std::string, Use> qos;
  std::map<std::pair<std::string, uint32_t>, Use> users;
  std::map<std::pair<std::string, std::string>, Use> accounts;

  Uses(const api::AccountsReply& tree, const Above& tree_above,
       std::span<const model::JobRecord* const> jobs) {
    std::unordered_map<uint32_t, const AssociationRecord*> by_id;
    for (const AssociationRecord& one : tree.associations()) by_id[one.id()] = &one;
    for (const model::JobRecord* job : jobs) {
      const auto own = by_id.find(job->association_id());
      for (const AssociationRecord* at = own == by_id.end() ? nullptr : own->second; at != nullptr;
           at = above(tree_above, *at))
        count(associations[at->id()], *job, tree.now());
      const std::string& name = job->qos().empty() ? job->spec().qos() : job->qos();
      count(qos[name], *job, tree.now());
      count(users[{name, job->uid()}], *job, tree.now());
      count(accounts[{name, job->account()}], *job, tree.now());
    }
  }
};

class Writer {
 public:
  Writer(std::string& out, bool one_line) : out_(out), one_line_(one_line) {}

  void heading(const char* text) { out_ += std::string(text) + (one_line_ ? "\n" : "\n\n"); }
  // Writes a line of a record; the first one begins it.
  void line(const std::string& text, size_t indent = 4) {
    if (!first_) out_ += one_line_ ? " " : "\n" + std::string(indent, ' ');
    first_ = false;
    out_ += text;
  }
  void end_record() {
    out_ += '\n';
    first_ = true;
  }
  bool one_line() const { return one_line_; }

 private:
  std::string& out_;
  const bool one_line_;
  bool first_ = true;
};

std::string limit(bool known, uint64_t value) {
  return known ? std::to_string(value) : "N";
}

// "cpu=3(1),mem=N(0)": all that is counted, each limit with its usage.
std::string tres_with_use(const TresList& limits, const Amounts& used, const std::set<std::string>& names) {
  const auto one = [&](const std::string& name) {
    const auto found =
        std::find_if(limits.begin(), limits.end(), [&](const auto& tres) { return tres.name() == name; });
    const auto use = used.find(name);
    return fmt::format("{}={}({})", name,
                       limit(found != limits.end(), found == limits.end() ? 0 : found->count()),
                       use == used.end() ? 0 : use->second);
  };
  std::string text;
  for (const char* name : kTres) text += (text.empty() ? "" : ",") + one(name);
  for (const std::string& name : names) text += "," + one(name);
  return text;
}

std::string tres_alone(const TresList& limits) {
  // Some may be inherited, and come last in the list.
  const auto place = [](const model::Tres& tres) {
    return std::find(std::begin(kTres), std::end(kTres), tres.name()) - std::begin(kTres);
  };
  TresList sorted = limits;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const auto& left, const auto& right) { return place(left) < place(right); });
  std::string text;
  for (const model::Tres& tres : sorted)
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", tres.name(), tres.count());
  return text;
}

Amounts minutes_of(const model::UsageRecord* usage) {
  Amounts minutes;
  if (usage == nullptr) return minutes;
  for (const model::TresSeconds& tres : usage->tres())
    minutes[tres.name()] = static_cast<uint64_t>(std::max(0.0, tres.seconds()) / 60);
  return minutes;
}

const model::UsageRecord* find_usage(const google::protobuf::RepeatedPtrField<model::UsageRecord>& list,
                                     uint32_t id) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const auto& one) { return one.id() == id; });
  return found == list.end() ? nullptr : &*found;
}

struct Told {
  const api::AccountsReply& tree;
  const Above& above;
  const Uses& uses;
  const std::set<std::string>& gres;  // "gres/gpu" …
};

std::string grp_counts(const Limits& limits, const Use& use) {
  return fmt::format("GrpJobs={}({}) GrpJobsAccrue={}(0)", limit(limits.has_grp_jobs(), limits.grp_jobs()),
                     use.running, limit(limits.has_grp_jobs_accrue(), limits.grp_jobs_accrue()));
}
std::string grp_submit_and_wall(const Limits& limits, const Use& use, const model::UsageRecord* usage) {
  return fmt::format("GrpSubmitJobs={}({}) GrpWall={}({:.2f})",
                     limit(limits.has_grp_submit_jobs(), limits.grp_submit_jobs()), use.submitted,
                     limit(limits.has_grp_wall(), limits.grp_wall()),
                     usage == nullptr ? 0.0 : usage->wall_seconds() / 60);
}
void put_grp_tres(Writer& writer, const Told& told, const Limits& limits, const Use& use,
                  const model::UsageRecord* usage, const model::UsageRecord* running) {
  writer.line("GrpTRES=" + tres_with_use(limits.grp_tres(), use.tres, told.gres));
  writer.line("GrpTRESMins=" + tres_with_use(limits.grp_tres_mins(), minutes_of(usage), told.gres));
  writer.line("GrpTRESRunMins=" + tres_with_use(limits.grp_tres_run_mins(), minutes_of(running), told.gres));
}

std::string with_use(const char* name, bool known, uint64_t value, uint64_t used) {
  return known ? fmt::format("{}={}({})", name, value, used) : std::string(name) + "=";
}

void put_association(Writer& writer, const Told& told, const view::ShareLine& share,
                     const AssociationRecord& one, const view::DisplayContext& context) {
  static const Use kNothing;
  const auto found = told.uses.associations.find(one.id());
  const Use& use = found == told.uses.associations.end() ? kNothing : found->second;
  const model::UsageRecord* usage = find_usage(told.tree.usage(), one.id());
  // As they apply to its jobs, which is what Slurm has in memory.
  Limits limits = one.limits();
  uint32_t priority = one.priority();
  bool has_priority = one.has_priority();
  for (const AssociationRecord* at = above(told.above, one); at != nullptr; at = above(told.above, *at)) {
    accounts::inherit_limits(limits, at->limits());
    if (!std::exchange(has_priority, has_priority || at->has_priority())) priority = at->priority();
  }
  uint64_t level = 0;  // shares of all that have the same parent
  uint32_t parent = 0, place = 0;
  bool is_default = false;
  for (int i = 0; i < told.tree.associations_size(); ++i) {
    const AssociationRecord& other = told.tree.associations(i);
    if (other.id() == one.id()) place = static_cast<uint32_t>(i) + 1;
    if (one.user().empty() && other.user().empty() && other.account() == one.parent_account())
      parent = other.id();
    const bool sibling = one.user().empty()
                             ? other.user().empty() && other.parent_account() == one.parent_account()
                             : !other.user().empty() && other.account() == one.account();
    if (sibling) level += other.shares();
  }
  std::string user;
  for (const model::UserRecord& record : told.tree.users()) {
    if (record.name() != one.user() || one.user().empty()) continue;
    user = one.user() + "(" + std::to_string(uid_of(one.user())) + ")";
    is_default = record.default_account() == one.account() && one.partition().empty();
  }
  writer.line(fmt::format("ClusterName={} Account={} UserName={} Partition={} Priority={} ID={}",
                          context.cluster_name, one.account(), user, one.partition(), priority, one.id()));
  writer.line(fmt::format("SharesRaw/Norm/Level/Factor={}/{:.2f}/{}/{:.2f}", one.shares(), share.norm_shares,
                          level, share.rank && share.rank->factor ? *share.rank->factor : 0.0));
  writer.line(fmt::format("UsageRaw/Norm/Efctv={:.2f}/{:.2f}/{:.2f}", usage == nullptr ? 0 : usage->raw(),
                          share.norm_usage, share.rank ? share.rank->effective_usage : 0.0));
  writer.line(fmt::format(
      "ParentAccount={} Lft={} DefAssoc={}",
      parent == 0
          ? ""
          : fmt::format("{}({})", one.parent_account().empty() ? "root" : one.parent_account(), parent),
      place, is_default ? "Yes" : "No"));
  writer.line(grp_counts(limits, use));
  writer.line(grp_submit_and_wall(limits, use, usage));
  put_grp_tres(writer, told, limits, use, usage, find_usage(told.tree.running(), one.id()));
  writer.line(
      with_use("MaxJobs", limits.has_max_jobs(), limits.max_jobs(), use.running) + " " +
      with_use("MaxJobsAccrue", limits.has_max_jobs_accrue(), limits.max_jobs_accrue(), 0) + " " +
      with_use("MaxSubmitJobs", limits.has_max_submit_jobs(), limits.max_submit_jobs(), use.submitted) +
      " MaxWallPJ=" + (limits.has_max_wall() ? std::to_string(limits.max_wall()) : ""));
  writer.line("MaxTRESPJ=" + tres_alone(limits.max_tres()));
  writer.line("MaxTRESPN=" + tres_alone(limits.max_tres_per_node()));
  writer.line("MaxTRESMinsPJ=" + tres_alone(limits.max_tres_mins()));
  writer.line(std::string("MinPrioThresh=") +
              (limits.has_min_priority() ? std::to_string(limits.min_priority()) : ""));
  writer.end_record();
}

// The limits of a QOS for each account ("PA") or user ("PU") that has jobs in it.
void put_each(Writer& writer, const Told& told, const char* heading, const char* nobody, const char* suffix,
              const std::map<std::string, const Use*>& all, const Limits& limits) {
  const bool user = suffix[1] == 'U';
  const bool jobs = user ? limits.has_max_jobs() : limits.has_max_jobs_per_account();
  const bool submit = user ? limits.has_max_submit_jobs() : limits.has_max_submit_jobs_per_account();
  const bool accrue = user ? limits.has_max_jobs_accrue() : limits.has_max_jobs_accrue_per_account();
  if (all.empty()) {
    if (writer.one_line()) return writer.line(fmt::format("{}={}", heading, nobody));
    writer.line(heading);
    return writer.line(nobody, 8);
  }
  writer.line(writer.one_line() ? std::string(heading) + "=" : heading);
  for (const auto& [name, use] : all) {
    writer.line(name, 6);
    writer.line(
        fmt::format("MaxJobs{0}={1}({2}) MaxJobsAccrue{0}={3}(0) MaxSubmitJobs{0}={4}({5})", suffix,
                    limit(jobs, user ? limits.max_jobs() : limits.max_jobs_per_account()), use->running,
                    limit(accrue, user ? limits.max_jobs_accrue() : limits.max_jobs_accrue_per_account()),
                    limit(submit, user ? limits.max_submit_jobs() : limits.max_submit_jobs_per_account()),
                    use->submitted),
        8);
    writer.line(fmt::format("MaxTRES{}={}", suffix,
                            tres_with_use(user ? limits.max_tres_per_user() : limits.max_tres_per_account(),
                                          use->tres, told.gres)),
                8);
  }
}

void put_qos(Writer& writer, const Told& told, const QosRecord& qos) {
  static const Use kNothing;
  const auto found = told.uses.qos.find(qos.name());
  const Use& use = found == told.uses.qos.end() ? kNothing : found->second;
  const model::UsageRecord* usage = find_usage(told.tree.qos_usage(), qos.id());
  const Limits& limits = qos.limits();
  writer.line(fmt::format("QOS={}({})", qos.name(), qos.id()));
  writer.line(fmt::format("UsageRaw={:.6f}", usage == nullptr ? 0 : usage->raw()));
  writer.line(grp_counts(limits, use) + " " + grp_submit_and_wall(limits, use, usage));
  model::UsageRecord running;
  for (const auto& [name, left] : use.tres_left) {
    model::TresSeconds& tres = *running.add_tres();
    tres.set_name(name);
    tres.set_seconds(static_cast<double>(left) * (qos.has_usage_factor() ? qos.usage_factor() : 1.0));
  }
  put_grp_tres(writer, told, limits, use, usage, &running);
  writer.line("MaxWallPJ=" + (limits.has_max_wall() ? std::to_string(limits.max_wall()) : ""));
  writer.line("MaxTRESPJ=" + tres_alone(limits.max_tres()));
  writer.line("MaxTRESPN=" + tres_alone(limits.max_tres_per_node()));
  writer.line("MaxTRESMinsPJ=" + tres_alone(limits.max_tres_mins()));
  writer.line("MinPrioThresh=" + (limits.has_min_priority() ? std::to_string(limits.min_priority()) : "") +
              " ");
  writer.line("MinTRESPJ=" + tres_alone(limits.min_tres()));
  writer.line("PreemptMode=" + (qos.preempt_mode().empty() ? "OFF" : qos.preempt_mode()));
  writer.line(fmt::format("Priority={}", qos.priority()));
  // Those that have jobs, and all that the QOS limits.
  std::map<std::string, const Use*> accounts, users;
  const auto with_id = [](const std::string& name, uint32_t uid) { return fmt::format("{}({})", name, uid); };
  if (limits.has_max_jobs() || limits.has_max_submit_jobs() || !limits.max_tres_per_user().empty())
    for (const model::UserRecord& user : told.tree.users())
      users[with_id(user.name(), uid_of(user.name()))] = &kNothing;
  if (limits.has_max_jobs_per_account() || limits.has_max_submit_jobs_per_account() ||
      !limits.max_tres_per_account().empty())
    for (const model::AccountRecord& account : told.tree.accounts()) accounts[account.name()] = &kNothing;
  for (const auto& [key, one] : told.uses.accounts)
    if (key.first == qos.name()) accounts[key.second] = &one;
  for (const auto& [key, one] : told.uses.users)
    if (key.first == qos.name()) users[with_id(view::user_name_of(key.second), key.second)] = &one;
  put_each(writer, told, "Account Limits", "No Accounts", "PA", accounts, limits);
  put_each(writer, told, "User Limits", "No Users", "PU", users, limits);
  writer.end_record();
}

bool listed(const std::vector<std::string>& names, const std::string& name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

void append_limits(std::string& out, const api::AccountsReply& accounts,
                   std::span<const model::JobRecord* const> jobs, const LimitsWanted& wanted,
                   const view::DisplayContext& context, view::ShowOptions options) {
  const Above tree_above = find_above(accounts);
  const Uses uses(accounts, tree_above, jobs);
  std::set<std::string> gres = {"gres/gpu"};
  const auto add_gres = [&](const auto& list) {
    for (const auto& tres : list)
      if (tres.name().starts_with("gres/") || tres.name().starts_with("license/")) gres.insert(tres.name());
  };
  for (const AssociationRecord& one : accounts.associations()) add_gres(one.limits().grp_tres());
  for (const QosRecord& one : accounts.qos()) add_gres(one.limits().grp_tres());
  for (const auto& [name, use] : uses.qos)
    for (const auto& [tres, amount] : use.tres)
      if (tres.starts_with("gres/")) gres.insert(tres);
  const Told told{accounts, tree_above, uses, gres};
  std::deque<view::ShareUsage> usages;
  const std::vector<view::ShareLine> shares = view::share_tree_lines(accounts, {}, usages);
  Writer writer(out, options.one_line);
  const auto section = [&](bool shown, const char* heading, const char* what, auto put) {
    if (!shown) return;
    std::string rows;
    Writer row_writer(rows, options.one_line);
    put(row_writer);
    if (rows.empty()) {
      out += fmt::format("No {} currently cached in Slurm.{}", what, options.one_line ? "\n" : "\n\n\n");
      return;
    }
    writer.heading(heading);
    out += rows + (options.one_line ? "" : "\n");
  };
  writer.heading("Current Association Manager state");
  section(wanted.users, "User Records", "users", [&](Writer& rows) {
    for (const model::UserRecord& user : accounts.users()) {
      if (!listed(wanted.user_names, user.name())) continue;
      const char* const level = user.admin_level() == model::ADMIN_ADMINISTRATOR ? "Administrator"
                                : user.admin_level() == model::ADMIN_OPERATOR    ? "Operator"
                                                                                 : "None";
      rows.line(fmt::format("UserName={}({}) DefAccount={} DefWckey={} AdminLevel={}", user.name(),
                            uid_of(user.name()), user.default_account(), user.default_wckey(), level));
      rows.end_record();
    }
  });
  section(wanted.associations, "Association Records", "associations", [&](Writer& rows) {
    for (size_t i = 0; i < shares.size() && i < static_cast<size_t>(accounts.associations_size()); ++i) {
      const AssociationRecord& one = accounts.associations(static_cast<int>(i));
      if (!listed(wanted.accounts, one.account())) continue;
      if (!one.user().empty() && !listed(wanted.user_names, one.user())) continue;
      put_association(rows, told, shares[i], one, context);
    }
  });
  section(wanted.qos, "QOS Records", "QOS", [&](Writer& rows) {
    for (const QosRecord& qos : accounts.qos())
      if (listed(wanted.qos_names, qos.name())) put_qos(rows, told, qos);
  });
}

}  // namespace minke::cli
