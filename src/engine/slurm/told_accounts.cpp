#include "engine/slurm/told_accounts.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "accounts/account_book.h"
#include "api/accounts.pb.h"
#include "engine/slurm/told_fields.h"
#include "model/accounts.pb.h"
#include "text/duration.h"
#include "text/memory.h"
#include "text/number.h"

namespace minke::engine::slurm {

const char* const kAssociationColumns =
    "ID,Account,User,Partition,ParentName,Share,DefaultQOS,QOS,Priority,GrpJobs,GrpSubmit,GrpWall,GrpTRES,"
    "GrpTRESMins,GrpTRESRunMins,MaxJobs,MaxSubmit,MaxWall,MaxTRES,MaxTRESPerNode,MaxTRESMins";
const char* const kUserColumns = "User,AdminLevel,DefaultAccount";
const char* const kAccountColumns = "Account,Organization,Coordinators,Description";
const char* const kQosColumns =
    "ID,Name,Priority,GraceTime,Flags,UsageFactor,Preempt,PreemptMode,GrpJobs,GrpSubmit,GrpWall,GrpTRES,"
    "GrpTRESMins,GrpTRESRunMins,MaxWall,MaxTRES,MaxTRESPerNode,MaxTRESMins,MaxTRESPU,MaxTRESPA,MaxJobsPU,"
    "MaxSubmitPU,MaxJobsPA,MaxSubmitPA,MinTRES,Description";
const char* const kShareColumns = "Account,User,Partition,RawUsage,FairShare,TRESRunMins";

namespace {

using model::AssociationRecord;
using model::Limits;
using model::QosRecord;

constexpr double kSecondsPerMinute = 60;

std::optional<uint32_t> number_of(std::string_view text) {
  const auto value = text::parse_unsigned(text, 0xffffffff);
  return value ? std::optional(static_cast<uint32_t>(*value)) : std::nullopt;
}

double real_of(std::string_view text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

void add_list(google::protobuf::RepeatedPtrField<std::string>& list, std::string_view text) {
  for (const std::string_view one : text::split(text, ','))
    if (!one.empty()) list.Add(std::string(one));
}

// "cpu=10,mem=4G,gres/gpu=2".
void add_tres(google::protobuf::RepeatedPtrField<model::Tres>& list, std::string_view text) {
  for (const std::string_view one : text::split(text, ',')) {
    const size_t equals = one.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = one.substr(0, equals), amount = one.substr(equals + 1);
    auto count = text::parse_unsigned(amount, ~uint64_t{0});
    if (name == "mem") {
      const auto mib = text::parse_mib(amount);
      count = mib ? std::optional(*mib) : std::nullopt;
    }
    if (!count) continue;
    model::Tres& tres = *list.Add();
    tres.set_name(std::string(name));
    tres.set_count(*count);
  }
}

// A limit, by the column that has it: a number, a length of time in minutes, or amounts of TRES.
using SetNumber = void (Limits::*)(uint32_t);
using TresList = google::protobuf::RepeatedPtrField<model::Tres>;
struct TresColumn {
  const char* name;
  TresList* (Limits::*list)();
};
constexpr std::pair<const char*, SetNumber> kNumbers[] = {
    {"GrpJobs", &Limits::set_grp_jobs},
    {"GrpSubmit", &Limits::set_grp_submit_jobs},
    {"MaxJobs", &Limits::set_max_jobs},
    {"MaxSubmit", &Limits::set_max_submit_jobs},
    {"MaxJobsPU", &Limits::set_max_jobs},
    {"MaxSubmitPU", &Limits::set_max_submit_jobs},
    {"MaxJobsPA", &Limits::set_max_jobs_per_account},
    {"MaxSubmitPA", &Limits::set_max_submit_jobs_per_account},
};
constexpr std::pair<const char*, SetNumber> kMinutes[] = {{"GrpWall", &Limits::set_grp_wall},
                                                          {"MaxWall", &Limits::set_max_wall}};
constexpr TresColumn kTres[] = {
    {"GrpTRES", &Limits::mutable_grp_tres},
    {"GrpTRESMins", &Limits::mutable_grp_tres_mins},
    {"GrpTRESRunMins", &Limits::mutable_grp_tres_run_mins},
    {"MaxTRES", &Limits::mutable_max_tres},
    {"MaxTRESPerNode", &Limits::mutable_max_tres_per_node},
    {"MaxTRESMins", &Limits::mutable_max_tres_mins},
    {"MaxTRESPU", &Limits::mutable_max_tres_per_user},
    {"MaxTRESPA", &Limits::mutable_max_tres_per_account},
    {"MinTRES", &Limits::mutable_min_tres},
};

void set_limits(const ToldFields& fields, Limits& limits) {
  const auto told = [&](const char* name) {
    const auto found = fields.find(name);
    return found == fields.end() ? std::string_view() : found->second;
  };
  for (const auto& [name, set] : kNumbers)
    if (const auto value = number_of(told(name))) (limits.*set)(*value);
  for (const auto& [name, set] : kMinutes)
    if (const auto value = text::parse_minutes(told(name)); value && !told(name).empty())
      (limits.*set)(*value);
  for (const TresColumn& one : kTres) add_tres(*(limits.*one.list)(), told(one.name));
}

// One of them has number 1, and another should: they change places.
template <typename Records, typename Is>
void give_one_to(Records& records, Is is) {
  const auto right = std::find_if(records.begin(), records.end(), is);
  if (right == records.end() || right->id() == 1) return;
  for (auto& one : records)
    if (one.id() == 1) one.set_id(right->id());
  right->set_id(1);
}

bool is_root(const AssociationRecord& one) {
  return one.account() == "root" && one.user().empty();
}

std::vector<AssociationRecord> associations_of(const std::vector<std::string>& lines) {
  std::vector<AssociationRecord> all;
  for (const std::string& line : lines) {
    const ToldFields fields = told_fields(line, kAssociationColumns);
    const auto id = fields.empty() ? std::nullopt : number_of(fields.at("ID"));
    if (!id || fields.at("Account").empty()) continue;
    AssociationRecord& one = all.emplace_back();
    one.set_id(*id);
    one.set_account(std::string(fields.at("Account")));
    one.set_user(std::string(fields.at("User")));
    one.set_partition(std::string(fields.at("Partition")));
    one.set_parent_account(std::string(fields.at("ParentName")));
    one.set_shares(fields.at("Share") == "parent" ? accounts::kSharesAsParent
                                                  : number_of(fields.at("Share")).value_or(1));
    one.set_default_qos(std::string(fields.at("DefaultQOS")));
    add_list(*one.mutable_qos(), fields.at("QOS"));
    if (const auto priority = number_of(fields.at("Priority"))) one.set_priority(*priority);
    set_limits(fields, *one.mutable_limits());
  }
  give_one_to(all, is_root);
  return all;
}

// In the order of the tree: an account, its users, then the accounts below it.
void add_below(const std::string& account, const std::multimap<std::string, const AssociationRecord*>& users,
               const std::multimap<std::string, const AssociationRecord*>& accounts,
               api::AccountsReply& reply) {
  for (auto [one, end] = users.equal_range(account); one != end; ++one)
    *reply.add_associations() = *one->second;
  for (auto [one, end] = accounts.equal_range(account); one != end; ++one) {
    *reply.add_associations() = *one->second;
    add_below(one->second->account(), users, accounts, reply);
  }
}

void add_tree(const std::vector<AssociationRecord>& all, api::AccountsReply& reply) {
  std::multimap<std::string, const AssociationRecord*> users, accounts;  // by the account above
  for (const AssociationRecord& one : all) {
    if (is_root(one))
      *reply.add_associations() = one;
    else if (!one.user().empty())
      users.emplace(one.account(), &one);
    else
      accounts.emplace(one.parent_account(), &one);
  }
  if (reply.associations_size() == 1) add_below("root", users, accounts, reply);
}

model::AdminLevel level_of(std::string_view text) {
  return text == "Administrator" ? model::ADMIN_ADMINISTRATOR
         : text == "Operator"    ? model::ADMIN_OPERATOR
                                 : model::ADMIN_NONE;
}

// The default account may be one of another cluster's; then it is the first one here.
void add_users(const std::vector<std::string>& lines, api::AccountsReply& reply) {
  std::map<std::string, std::vector<std::string>> accounts_of;
  for (const AssociationRecord& one : reply.associations())
    if (!one.user().empty()) accounts_of[one.user()].push_back(one.account());
  std::map<std::string, model::UserRecord> users;
  for (const auto& [name, accounts] : accounts_of) {
    users[name].set_name(name);
    users[name].set_default_account(accounts.front());
  }
  for (const std::string& line : lines) {
    const ToldFields fields = told_fields(line, kUserColumns);
    const auto user = fields.empty() ? users.end() : users.find(std::string(fields.at("User")));
    if (user == users.end()) continue;
    user->second.set_admin_level(level_of(fields.at("AdminLevel")));
    const auto& own = accounts_of[user->first];
    const std::string account(fields.at("DefaultAccount"));
    if (std::find(own.begin(), own.end(), account) != own.end()) user->second.set_default_account(account);
  }
  for (const auto& [name, user] : users) *reply.add_users() = user;
}

void add_names(const std::vector<std::string>& lines, api::AccountsReply& reply) {
  std::map<std::string, model::AccountRecord> accounts;
  for (const AssociationRecord& one : reply.associations())
    if (one.user().empty()) accounts[one.account()].set_name(one.account());
  for (const std::string& line : lines) {
    const ToldFields fields = told_fields(line, kAccountColumns);
    const auto account = fields.empty() ? accounts.end() : accounts.find(std::string(fields.at("Account")));
    if (account == accounts.end()) continue;
    account->second.set_description(std::string(fields.at("Description")));
    account->second.set_organization(std::string(fields.at("Organization")));
    add_list(*account->second.mutable_coordinators(), fields.at("Coordinators"));
  }
  for (const auto& [name, account] : accounts) *reply.add_accounts() = account;
}

void add_qos(const std::vector<std::string>& lines, api::AccountsReply& reply) {
  for (const std::string& line : lines) {
    const ToldFields fields = told_fields(line, kQosColumns);
    const auto id = fields.empty() ? std::nullopt : number_of(fields.at("ID"));
    if (!id || fields.at("Name").empty()) continue;
    QosRecord& one = *reply.add_qos();
    one.set_id(*id);
    one.set_name(std::string(fields.at("Name")));
    one.set_description(std::string(fields.at("Description")));
    one.set_priority(number_of(fields.at("Priority")).value_or(0));
    one.set_grace_seconds(static_cast<uint32_t>(text::parse_seconds(fields.at("GraceTime")).value_or(0)));
    add_list(*one.mutable_flags(), fields.at("Flags"));
    add_list(*one.mutable_preempt(), fields.at("Preempt"));
    if (fields.at("PreemptMode") != "cluster")
      one.set_preempt_mode(text::upper_case(std::string(fields.at("PreemptMode"))));
    if (!fields.at("UsageFactor").empty()) one.set_usage_factor(real_of(fields.at("UsageFactor")));
    set_limits(fields, *one.mutable_limits());
  }
  give_one_to(*reply.mutable_qos(), [](const QosRecord& one) { return one.name() == "normal"; });
}

}  // namespace

void add_accounts(const ToldAccounts& told, api::AccountsReply& reply) {
  add_tree(associations_of(told.associations), reply);
  add_users(told.users, reply);
  add_names(told.accounts, reply);
  add_qos(told.qos, reply);
}

void add_shares(const std::vector<std::string>& lines, api::AccountsReply& reply) {
  using Key = std::tuple<std::string, std::string, std::string>;
  std::map<Key, ToldFields> told;
  for (const std::string& line : lines) {
    ToldFields fields = told_fields(line, kShareColumns);
    if (fields.empty()) continue;
    Key key{text::trim(fields.at("Account")), fields.at("User"), fields.at("Partition")};
    told.emplace(std::move(key), std::move(fields));
  }
  for (const AssociationRecord& one : reply.associations()) {
    model::UsageRecord& usage = *reply.add_usage();
    model::UsageRecord& running = *reply.add_running();
    usage.set_id(one.id());
    running.set_id(one.id());
    const auto found = told.find({one.account(), one.user(), one.partition()});
    reply.add_fair_share(found == told.end() ? 0 : real_of(found->second.at("FairShare")));
    if (found == told.end()) continue;
    usage.set_raw(real_of(found->second.at("RawUsage")));
    TresList left;
    add_tres(left, found->second.at("TRESRunMins"));
    for (const model::Tres& tres : left) {
      model::TresSeconds& seconds = *running.add_tres();
      seconds.set_name(tres.name());
      seconds.set_seconds(static_cast<double>(tres.count()) * kSecondsPerMinute);
    }
  }
}

}  // namespace minke::engine::slurm
