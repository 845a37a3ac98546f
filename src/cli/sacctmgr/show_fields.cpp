#include "cli/sacctmgr/show_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "accounts/coordinators.h"
#include "base/version.h"
#include "cli/sacctmgr/change.h"
#include "cli/sacctmgr/settings.h"
#include "model/accounts.pb.h"
#include "text/duration.h"

namespace minke::cli {
namespace {

using model::AssociationRecord;
using model::Limits;
using Line = ShownLine;
using Context = ShowContext;
using Field = ShowField;

Limits limits_of(const Line& line, const Context& context) {
  if (line.qos != nullptr) return line.qos->limits();
  if (line.association == nullptr) return {};
  return context.own_limits ? line.association->limits()
                            : context.book().effective_limits(line.association->id());
}

void nothing(const Line&, const Context&, std::string&) {}
template <std::string Line::*kMember>
void text_of(const Line& line, const Context&, std::string& out) {
  out += line.*kMember;
}
void cluster(const Line& line, const Context& context, std::string& out) {
  if (line.share != nullptr) {
    out += context.session->cluster_name(line.share->cluster());
  } else if (line.cluster != nullptr) {
    out += context.session->cluster_name(line.cluster->name());
  } else if (line.association != nullptr) {
    out += context.session->cluster_name(line.association->cluster());
  } else if (line.type == "wckey") {
    out += context.session->cluster();
  } else {
    out += line.here;
  }
}
bool is_here(const Line& line) {
  return line.cluster != nullptr && line.cluster->name().empty();
}
void federation(const Line& line, const Context&, std::string& out) {
  if (line.cluster != nullptr && !line.is_federation) out += line.cluster->federation();
  out += line.federation;
}
void federation_state(const Line& line, const Context&, std::string& out) {
  if (line.cluster != nullptr)
    out += line.cluster->federation_state().empty() ? "NA" : line.cluster->federation_state();
}
void features(const Line& line, const Context&, std::string& out) {
  if (line.cluster != nullptr) out += fmt::format("{}", fmt::join(line.cluster->features(), ","));
}
void classification(const Line& line, const Context&, std::string& out) {
  if (line.cluster != nullptr)
    out += line.cluster->classification().empty() ? "*" : line.cluster->classification();
}
void control_port(const Line& line, const Context&, std::string& out) {
  if (line.cluster != nullptr) out += '0';
}
void server(const Line& line, const Context&, std::string& out) {
  if (line.resource != nullptr) out += line.resource->server();
}
void server_type(const Line& line, const Context&, std::string& out) {
  if (line.resource != nullptr) out += line.resource->server_type();
}
void resource_count(const Line& line, const Context&, std::string& out) {
  if (line.resource != nullptr) out += std::to_string(line.resource->count());
}
void allocated(const Line& line, const Context&, std::string& out) {
  if (line.resource == nullptr) return;
  uint32_t percent = 0;
  for (const auto& share : line.resource->shares()) percent += share.percent();
  out += std::to_string(percent);
}
void allowed(const Line& line, const Context&, std::string& out) {
  if (line.share != nullptr) out += std::to_string(line.share->percent());
}
void wckey(const Line& line, const Context&, std::string& out) {
  if (line.type == "wckey") out += line.name;
}
void default_wckey(const Line& line, const Context&, std::string& out) {
  if (line.user != nullptr) out += line.user->default_wckey();
}
void account(const Line& line, const Context&, std::string& out) {
  out.append(static_cast<size_t>(line.level), ' ');
  out += line.account != nullptr       ? line.account->name()
         : line.association != nullptr ? line.association->account()
                                       : "";
}
void user(const Line& line, const Context&, std::string& out) {
  out += line.user != nullptr          ? line.user->name()
         : line.association != nullptr ? line.association->user()
                                       : line.actor;
}
void default_account(const Line& line, const Context& context, std::string& out) {
  if (line.user == nullptr) return;
  out += context.book().default_account(
      line.user->name(), line.association != nullptr ? line.association->cluster() : line.default_on);
}
void admin_level(const Line& line, const Context&, std::string& out) {
  if (line.user != nullptr) out += admin_level_text(line.user->admin_level());
}
void description(const Line& line, const Context&, std::string& out) {
  if (line.resource != nullptr) out += line.resource->description();
  if (line.account != nullptr) out += line.account->description();
  if (line.qos != nullptr) out += line.qos->description();
}
void organization(const Line& line, const Context&, std::string& out) {
  if (line.account != nullptr) out += line.account->organization();
}
void coordinators(const Line& line, const Context& context, std::string& out) {
  std::vector<accounts::Coordination> of;
  if (line.account != nullptr) of = accounts::coordinators_of(context.book(), line.account->name());
  if (line.user != nullptr) of = accounts::coordinated_by(context.book(), line.user->name());
  for (size_t i = 0; i < of.size(); ++i) out.append(i == 0 ? "" : ",").append(of[i].name);
}
void partition(const Line& line, const Context&, std::string& out) {
  if (line.association != nullptr) out += line.association->partition();
}
void share(const Line& line, const Context&, std::string& out) {
  if (line.association == nullptr) return;
  out += line.association->shares() == accounts::kSharesAsParent ? "parent"
                                                                 : std::to_string(line.association->shares());
}
void priority(const Line& line, const Context& context, std::string& out) {
  if (line.qos != nullptr) out += std::to_string(line.qos->priority());
  // An association's own value, or that of the nearest ancestor that has one.
  const model::AssociationRecord* one = line.association;
  while (one != nullptr && !one->has_priority() && !context.own_limits)
    one = context.book().association(context.book().parent(one->id()));
  if (one != nullptr && one->has_priority()) out += std::to_string(one->priority());
}
void qos(const Line& line, const Context& context, std::string& out) {
  if (line.association == nullptr) return;
  if (context.own_limits) {
    out += fmt::format("{}", fmt::join(line.association->qos(), ","));
  } else {
    out += fmt::format("{}", fmt::join(context.book().allowed_qos(line.association->id()), ","));
  }
}
void default_qos(const Line& line, const Context& context, std::string& out) {
  if (line.association == nullptr) return;
  out += context.own_limits ? line.association->default_qos()
                            : context.book().default_qos(line.association->id());
}
void id(const Line& line, const Context&, std::string& out) {
  if (line.cluster != nullptr) {
    out += std::to_string(line.cluster->federation_id());
    return;
  }
  out += line.association != nullptr ? std::to_string(line.association->id())
         : line.qos != nullptr       ? std::to_string(line.qos->id())
                                     : line.id;
}
void parent_id(const Line& line, const Context& context, std::string& out) {
  if (line.association != nullptr) out += std::to_string(context.book().parent(line.association->id()));
}
void parent_name(const Line& line, const Context&, std::string& out) {
  if (line.association != nullptr) out += line.association->parent_account();
}
// Nested intervals, as Slurm numbers its tree.
std::pair<uint64_t, uint64_t> interval(const accounts::AccountBook& book, uint32_t wanted) {
  uint64_t next = 0, begin = 0, end = 0;
  const std::function<void(uint32_t)> walk = [&](uint32_t one) {
    const uint64_t left = ++next;
    for (const uint32_t child : book.children(one)) walk(child);
    ++next;
    if (one == wanted) begin = left, end = next;
  };
  uint32_t root = wanted;
  while (const uint32_t above = book.parent(root)) root = above;
  walk(root);
  return {begin, end};
}
void left(const Line& line, const Context& context, std::string& out) {
  if (line.association != nullptr)
    out += std::to_string(interval(context.book(), line.association->id()).first);
}
void right(const Line& line, const Context& context, std::string& out) {
  if (line.association != nullptr)
    out += std::to_string(interval(context.book(), line.association->id()).second);
}
void comment(const Line& line, const Context&, std::string& out) {
  if (line.association != nullptr) out += line.association->comment();
}
void core_years(const Line& line, const Context&, std::string& out) {
  if (line.association != nullptr && line.association->core_years() > 0)
    out += fmt::format("{:g}", line.association->core_years());
}
void rgu_years(const Line& line, const Context&, std::string& out) {
  if (line.association != nullptr && line.association->rgu_years() > 0)
    out += fmt::format("{:g}", line.association->rgu_years());
}

template <bool (Limits::*has)() const, uint32_t (Limits::*get)() const>
void count(const Line& line, const Context& context, std::string& out) {
  const Limits limits = limits_of(line, context);
  if ((limits.*has)()) out += std::to_string((limits.*get)());
}
template <bool (Limits::*has)() const, uint32_t (Limits::*get)() const>
void minutes(const Line& line, const Context& context, std::string& out) {
  const Limits limits = limits_of(line, context);
  if ((limits.*has)()) out += minutes_text((limits.*get)());
}
using TresLimits = google::protobuf::RepeatedPtrField<model::Tres>;
template <const TresLimits& (Limits::*get)() const>
void tres(const Line& line, const Context& context, std::string& out) {
  const Limits limits = limits_of(line, context);
  out += tres_text((limits.*get)(), true);
}
// One TRES of them, for the columns from before there were TRES.
template <const TresLimits& (Limits::*get)() const, char first>
void one_tres(const Line& line, const Context& context, std::string& out) {
  const Limits limits = limits_of(line, context);
  for (const model::Tres& limit : (limits.*get)()) {
    if (limit.name() == (first == 'c' ? "cpu" : first == 'm' ? "mem" : "node"))
      out += std::to_string(limit.count());
  }
}

void name(const Line& line, const Context&, std::string& out) {
  out += line.resource != nullptr  ? line.resource->name()
         : line.qos != nullptr     ? line.qos->name()
         : line.account != nullptr ? line.account->name()
         : line.user != nullptr    ? line.user->name()
                                   : line.name;
}
void flags(const Line& line, const Context&, std::string& out) {
  if (line.qos != nullptr) out += fmt::format("{}", fmt::join(line.qos->flags(), ","));
}
void grace(const Line& line, const Context&, std::string& out) {
  if (line.qos != nullptr) out += text::format_seconds(line.qos->grace_seconds());
}
void preempt(const Line& line, const Context&, std::string& out) {
  if (line.qos != nullptr) out += fmt::format("{}", fmt::join(line.qos->preempt(), ","));
}
void preempt_mode(const Line& line, const Context&, std::string& out) {
  if (line.qos != nullptr) out += line.qos->preempt_mode().empty() ? "cluster" : line.qos->preempt_mode();
}
void usage_factor(const Line& line, const Context&, std::string& out) {
  if (line.qos != nullptr)
    fmt::format_to(std::back_inserter(out), "{:.6f}",
                   line.qos->has_usage_factor() ? line.qos->usage_factor() : 1.0);
}
void usage_threshold(const Line& line, const Context&, std::string& out) {
  if (line.qos != nullptr && line.qos->has_usage_threshold())
    fmt::format_to(std::back_inserter(out), "{:.6f}", line.qos->usage_threshold());
}
void limit_factor(const Line& line, const Context&, std::string& out) {
  if (line.qos != nullptr && line.qos->has_limit_factor())
    fmt::format_to(std::back_inserter(out), "{:.6f}", line.qos->limit_factor());
}
void exempt_time(const Line& line, const Context&, std::string& out) {
  if (line.qos != nullptr && line.qos->has_preempt_exempt_seconds())
    out += text::format_seconds(line.qos->preempt_exempt_seconds());
}
void type(const Line& line, const Context&, std::string& out) {
  out += line.resource != nullptr ? "License" : line.type;
}
void problem(const Line& line, const Context&, std::string& out) {
  out += line.problem;
}
void host(const Line& line, const Context&, std::string& out) {
  if (is_here(line)) out += "localhost";
}
void rpc_version(const Line& line, const Context&, std::string& out) {
  if (line.cluster != nullptr) out += is_here(line) ? std::to_string(protocol_of(spoken_release())) : "0";
}

constexpr view::PrintFit kPlus = view::PrintFit::kPlus;

// Its place in the tree, from the root: "/physics/theory/0-alice/".
void lineage(const Line& line, const Context& context, std::string& out) {
  if (line.association == nullptr) return;
  std::string path = "/";
  const AssociationRecord* one = line.association;
  if (!one->user().empty()) {
    path = "/0-" + one->user() + "/" + (one->partition().empty() ? "" : one->partition() + "/");
    path.insert(0, one->account() == "root" ? "" : "/" + one->account());
  } else if (one->account() != "root") {
    path = "/" + one->account() + "/";
  }
  for (uint32_t id = context.book().parent(one->id()); id != 0; id = context.book().parent(id)) {
    const AssociationRecord* above = context.book().association(id);
    if (above == nullptr || above->account() == "root") break;
    if (above->account() != one->account()) path.insert(0, "/" + above->account());
  }
  out += path;
}

#define MINKE_COUNT(field) count<&Limits::has_##field, &Limits::field>
#define MINKE_MINUTES(field) minutes<&Limits::has_##field, &Limits::field>
#define MINKE_TRES(field) tres<&Limits::field>
#define MINKE_ONE(field, first) one_tres<&Limits::field, first>

// An abbreviation means the first field that matches.
constexpr Field kFields[] = {
    {"Account", 10, kPlus, account},
    {"Acct", 10, kPlus, account, "Account"},
    {"Allocated", 11, kPlus, allocated, "% Allocated"},
    {"Allowed", 10, kPlus, allowed, "% Allowed"},
    {"Classification", 9, kPlus, classification, "Class"},
    {"Count", 6, kPlus, resource_count},
    {"Extra", 20, kPlus, nothing},
    {"Features", 20, kPlus, features},
    {"Federation", 10, kPlus, federation},
    {"FedState", 12, kPlus, federation_state},
    {"Server", 10, kPlus, server},
    {"ServerType", 10, kPlus, server_type},
    {"AdminLevel", 9, kPlus, admin_level, "Admin"},
    {"Cluster", 10, kPlus, cluster},
    {"Comment", 20, kPlus, comment},
    {"ControlHost", 15, kPlus, host},
    {"ControlPort", 12, kPlus, control_port},
    {"Coordinators", 20, kPlus, coordinators, "Coord Accounts"},
    {"CoreYears", 10, kPlus, core_years},
    {"DefaultAccount", 10, kPlus, default_account, "Def Acct"},
    {"DefaultQOS", 9, kPlus, default_qos, "Def QOS"},
    {"DefaultWCKey", 10, kPlus, default_wckey, "Def WCKey"},
    {"Description", 20, kPlus, description, "Descr"},
    {"Fairshare", 9, kPlus, share, "Share"},
    {"Flags", 20, kPlus, flags},
    {"GraceTime", 10, kPlus, grace},
    {"GrpCPUs", 8, kPlus, MINKE_ONE(grp_tres, 'c')},
    {"GrpCPUMins", 11, kPlus, MINKE_ONE(grp_tres_mins, 'c')},
    {"GrpCPURunMins", 13, kPlus, MINKE_ONE(grp_tres_run_mins, 'c')},
    {"GrpMemory", 7, kPlus, MINKE_ONE(grp_tres, 'm'), "GrpMem"},
    {"GrpNodes", 8, kPlus, MINKE_ONE(grp_tres, 'n')},
    {"GrpTRES", 13, kPlus, MINKE_TRES(grp_tres)},
    {"GrpTRESMins", 13, kPlus, MINKE_TRES(grp_tres_mins)},
    {"GrpTRESRunMins", 13, kPlus, MINKE_TRES(grp_tres_run_mins)},
    {"GrpJobs", 7, kPlus, MINKE_COUNT(grp_jobs)},
    {"GrpJobsAccrue", 13, kPlus, MINKE_COUNT(grp_jobs_accrue)},
    {"GrpSubmitJobs", 9, kPlus, MINKE_COUNT(grp_submit_jobs), "GrpSubmit"},
    {"GrpWall", 11, kPlus, MINKE_MINUTES(grp_wall)},
    {"ID", 6, kPlus, id},
    {"InstanceId", 20, kPlus, nothing},
    {"InstanceType", 20, kPlus, nothing},
    {"LFT", 6, kPlus, left},
    {"LimitFactor", 11, kPlus, limit_factor},
    {"MaxCPUMinsPerJob", 11, kPlus, MINKE_ONE(max_tres_mins, 'c'), "MaxCPUMins"},
    {"MaxCPUsPerJob", 8, kPlus, MINKE_ONE(max_tres, 'c'), "MaxCPUs"},
    {"MaxTRESPerJob", 13, kPlus, MINKE_TRES(max_tres), "MaxTRES"},
    {"MaxTRESPA", 13, kPlus, MINKE_TRES(max_tres_per_account)},
    {"MaxTRESPerAccount", 13, kPlus, MINKE_TRES(max_tres_per_account), "MaxTRESPA"},
    {"MaxTRESPU", 13, kPlus, MINKE_TRES(max_tres_per_user)},
    {"MaxTRESPerUser", 13, kPlus, MINKE_TRES(max_tres_per_user), "MaxTRESPU"},
    {"MaxTRESRunMinsPA", 16, kPlus, nothing},  // the limits that sacctmgr refuses to set
    {"MaxTRESRunMinsPerAccount", 16, kPlus, nothing, "MaxTRESRunMinsPA"},
    {"MaxTRESRunMinsPerAcct", 16, kPlus, nothing, "MaxTRESRunMinsPA"},
    {"MaxTRESRunMinsPU", 16, kPlus, nothing},
    {"MaxTRESRunMinsPerUser", 16, kPlus, nothing, "MaxTRESRunMinsPU"},
    {"MaxCPURunMins", 15, kPlus, nothing, "MaxCPURunMinsPU"},
    {"MaxCPURunMinsPU", 15, kPlus, nothing},
    {"MaxCPURunMinsPerUser", 15, kPlus, nothing, "MaxCPURunMinsPU"},
    {"MaxTRESPerNode", 14, kPlus, MINKE_TRES(max_tres_per_node)},
    {"MaxTRESMinsPerJob", 13, kPlus, MINKE_TRES(max_tres_mins), "MaxTRESMins"},
    {"MaxJobs", 7, kPlus, MINKE_COUNT(max_jobs)},
    {"MaxJobsPA", 9, kPlus, MINKE_COUNT(max_jobs_per_account)},
    {"MaxJobsPU", 9, kPlus, MINKE_COUNT(max_jobs)},
    {"MaxJobsPerUser", 9, kPlus, MINKE_COUNT(max_jobs), "MaxJobsPU"},
    {"MaxJobsAccrue", 13, kPlus, MINKE_COUNT(max_jobs_accrue)},
    {"MaxNodesPerJob", 8, kPlus, MINKE_ONE(max_tres, 'n'), "MaxNodes"},
    {"MaxSubmitJobs", 9, kPlus, MINKE_COUNT(max_submit_jobs), "MaxSubmit"},
    {"MaxSubmitPA", 11, kPlus, MINKE_COUNT(max_submit_jobs_per_account)},
    {"MaxSubmitPU", 11, kPlus, MINKE_COUNT(max_submit_jobs)},
    {"MaxWallDurationPerJob", 11, kPlus, MINKE_MINUTES(max_wall), "MaxWall"},
    {"MinTRES", 13, kPlus, MINKE_TRES(min_tres)},
    {"Name", 10, kPlus, name},
    {"NodeName", -15, kPlus, text_of<&Line::node>},
    {"Organization", 20, kPlus, organization, "Org"},
    {"ParentID", 6, kPlus, parent_id},
    {"ParentName", 10, kPlus, parent_name},
    {"Partition", 10, kPlus, partition},
    {"Preempt", 10, kPlus, preempt},
    {"PreemptMode", 11, kPlus, preempt_mode},
    {"PreemptExemptTime", 19, kPlus, exempt_time},
    {"Priority", 10, kPlus, priority},
    {"Problem", 40, kPlus, problem},
    {"QOS", 20, kPlus, qos},
    {"QOSLevel", 20, kPlus, qos, "QOS"},
    {"RGT", 6, kPlus, right},
    {"RGUYears", 10, kPlus, rgu_years},
    {"RPC", 5, kPlus, rpc_version},
    {"Share", 9, kPlus, share},
    {"TimeEnd", 19, kPlus, text_of<&Line::ended>},
    {"TimeStart", 19, kPlus, text_of<&Line::started>},
    {"Type", 8, kPlus, type},
    {"UsageFactor", 11, kPlus, usage_factor},
    {"UsageThreshold", 10, kPlus, usage_threshold, "UsageThres"},
    {"User", 10, kPlus, user},
    {"WCKeys", 10, kPlus, wckey, "WCKey"},
    // Of what a slurmdbd keeps beside the accounts.
    {"Start", 19, kPlus, text_of<&Line::started>, "TimeStart"},
    {"End", 19, kPlus, text_of<&Line::ended>, "TimeEnd"},
    {"State", 6, kPlus, text_of<&Line::state>},
    {"Reason", 30, kPlus, text_of<&Line::reason>},
    {"TRES", 30, kPlus, text_of<&Line::tres>},
    {"Duration", 13, kPlus, text_of<&Line::duration>},
    {"Event", 7, kPlus, text_of<&Line::event>},
    {"EventRaw", 8, kPlus, text_of<&Line::event_raw>},
    {"StateRaw", 8, kPlus, text_of<&Line::state_raw>},
    {"UnusedWall", 10, kPlus, text_of<&Line::unused>},
    {"Time", 19, kPlus, text_of<&Line::started>},
    {"Action", 20, kPlus, text_of<&Line::action>},
    {"Actor", 10, kPlus, text_of<&Line::by>},
    {"Where", 20, kPlus, text_of<&Line::where>},
    {"Info", 20, kPlus, text_of<&Line::info>},
    {"AllocatedNow", 9, kPlus, allocated, "Allocated"},
    {"LastConsumed", 12, kPlus, nothing},
    // Other names of the same.
    {"MaxCPUsPU", 9, kPlus, MINKE_ONE(max_tres_per_user, 'c')},
    {"MaxCPUsPerUser", 9, kPlus, MINKE_ONE(max_tres_per_user, 'c'), "MaxCPUsPU"},
    {"MaxJobsAccruePA", 15, kPlus, MINKE_COUNT(max_jobs_accrue_per_account)},
    {"MaxJobsAccruePerAccount", 15, kPlus, MINKE_COUNT(max_jobs_accrue_per_account), "MaxJobsAccruePA"},
    {"MaxJobsAccruePerAcct", 15, kPlus, MINKE_COUNT(max_jobs_accrue_per_account), "MaxJobsAccruePA"},
    {"MaxJobsAccruePU", 15, kPlus, MINKE_COUNT(max_jobs_accrue)},
    {"MaxJobsAccruePerUser", 15, kPlus, MINKE_COUNT(max_jobs_accrue), "MaxJobsAccruePU"},
    {"MaxJobsPerAccount", 9, kPlus, MINKE_COUNT(max_jobs_per_account), "MaxJobsPA"},
    {"MaxJobsPerAcct", 9, kPlus, MINKE_COUNT(max_jobs_per_account), "MaxJobsPA"},
    {"MaxNodesPU", 10, kPlus, MINKE_ONE(max_tres_per_user, 'n')},
    {"MaxNodesPerUser", 10, kPlus, MINKE_ONE(max_tres_per_user, 'n'), "MaxNodesPU"},
    {"MaxSubmitJobsPA", 11, kPlus, MINKE_COUNT(max_submit_jobs_per_account), "MaxSubmitPA"},
    {"MaxSubmitJobsPerAccount", 11, kPlus, MINKE_COUNT(max_submit_jobs_per_account), "MaxSubmitPA"},
    {"MaxSubmitJobsPerAcct", 11, kPlus, MINKE_COUNT(max_submit_jobs_per_account), "MaxSubmitPA"},
    {"MaxSubmitJobsPU", 11, kPlus, MINKE_COUNT(max_submit_jobs), "MaxSubmitPU"},
    {"MaxSubmitJobsPerUser", 11, kPlus, MINKE_COUNT(max_submit_jobs), "MaxSubmitPU"},
    {"MaxTRESMinsPJ", 13, kPlus, MINKE_TRES(max_tres_mins), "MaxTRESMins"},
    {"MaxTRESPJ", 13, kPlus, MINKE_TRES(max_tres), "MaxTRES"},
    {"MaxTRESPN", 14, kPlus, MINKE_TRES(max_tres_per_node), "MaxTRESPerNode"},
    {"MaxTRESPerAcct", 13, kPlus, MINKE_TRES(max_tres_per_account), "MaxTRESPA"},
    {"MinCPUs", 8, kPlus, MINKE_ONE(min_tres, 'c')},
    {"MinCPUsPerJob", 8, kPlus, MINKE_ONE(min_tres, 'c'), "MinCPUs"},
    {"MinPrioThres", 12, kPlus, MINKE_COUNT(min_priority)},
    {"MinPrioThreshold", 12, kPlus, MINKE_COUNT(min_priority), "MinPrioThres"},
    {"MinTRESPerJob", 13, kPlus, MINKE_TRES(min_tres), "MinTRES"},
    {"Lineage", -20, kPlus, lineage},
    {"NodeNames", -15, kPlus, text_of<&Line::node>, "NodeName"},
    {"TimeStamp", 19, kPlus, text_of<&Line::started>, "Time"},
    {"Ids", 6, kPlus, id, "ID"},
    {"Users", 10, kPlus, user, "User"},
};

}  // namespace

std::span<const ShowField> show_fields() {
  return kFields;
}

}  // namespace minke::cli
