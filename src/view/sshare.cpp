#include "view/sshare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <unordered_map>

#include "api/accounts.pb.h"
#include "model/accounts.pb.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "model/job_terms.pb.h"

namespace minke::view {
namespace {

using Line = ShareLine;
using Context = DisplayContext;

constexpr uint32_t kSharesOfParent = 0x7fffffff;

bool is_user(const Line& line) {
  return !line.user.empty();
}
// The level's share divided by its use; without use it is infinite.
double level_fair_share(const Line& line) {
  if (line.rank) return line.rank->level;
  return line.norm_usage == 0 ? INFINITY : line.norm_shares / line.norm_usage;
}

void account(const Line& line, const Context&, std::string& out) {
  out += line.account;
}
void cluster(const Line&, const Context& context, std::string& out) {
  out += context.cluster_name;
}
void user(const Line& line, const Context&, std::string& out) {
  out += line.user;
}
void nothing(const Line&, const Context&, std::string&) {}
void id(const Line& line, const Context&, std::string& out) {
  if (line.rank) {
    append_number(out, line.rank->id);
  } else {
    out += is_user(line) ? '2' : '1';
  }
}
void raw_shares(const Line& line, const Context&, std::string& out) {
  if (line.rank) {
    out += line.rank->id == 1                     ? ""
           : line.rank->shares == kSharesOfParent ? "parent"
                                                  : std::to_string(line.rank->shares);
  } else if (is_user(line)) {
    out += '1';
  }
}
void norm_shares(const Line& line, const Context&, std::string& out) {
  fmt::format_to(std::back_inserter(out), "{:.6f}", line.norm_shares);
}
void raw_usage(const Line& line, const Context&, std::string& out) {
  fmt::format_to(std::back_inserter(out), "{:.0f}", std::floor(line.usage->cpu_seconds));
}
void norm_usage(const Line& line, const Context&, std::string& out) {
  if (line.rank ? line.rank->id != 1 : is_user(line))
    fmt::format_to(std::back_inserter(out), "{:.6f}", line.norm_usage);
}
void effective_usage(const Line& line, const Context&, std::string& out) {
  const double usage = line.rank ? line.rank->effective_usage : is_user(line) ? line.norm_usage : 1.0;
  fmt::format_to(std::back_inserter(out), "{:.6f}", usage);
}
void fair_share(const Line& line, const Context&, std::string& out) {
  if (line.rank) {
    if (line.rank->factor) fmt::format_to(std::back_inserter(out), "{:.6f}", *line.rank->factor);
  } else if (is_user(line)) {
    out += "1.000000";  // the first of one
  }
}
void level_fs(const Line& line, const Context&, std::string& out) {
  const bool shown = line.rank ? line.rank->id != 1 && line.rank->shares != kSharesOfParent : is_user(line);
  if (shown) fmt::format_to(std::back_inserter(out), "{:.6f}", level_fair_share(line));
}
void tres_run_minutes(const Line& line, const Context&, std::string& out) {
  const ShareUsage& usage = *line.usage;
  fmt::format_to(
      std::back_inserter(out),
      "cpu={:.0f},mem={:.0f},energy=0,node={:.0f},billing={:.0f},fs/disk=0,vmem=0,pages=0,gres/gpu={:.0f}",
      usage.cpu_minutes, usage.memory_minutes, usage.node_minutes, usage.cpu_minutes, usage.gpu_minutes);
}
void tres_raw(const Line& line, const Context&, std::string& out) {
  fmt::format_to(std::back_inserter(out), "cpu={:.0f}", std::floor(line.usage->cpu_seconds / 60));
}

constexpr PrintFit kPlus = PrintFit::kPlus;
constexpr PrintFit kSpill = PrintFit::kSpill;

constexpr ShareField kFields[] = {
    {"Account", -20, kPlus, account},
    {"Cluster", 10, kPlus, cluster},
    {"EffectvUsage", 13, kSpill, effective_usage},
    {"FairShare", 10, kSpill, fair_share},
    {"GrpTRESMins", 30, kPlus, nothing},
    {"GrpTRESRaw", 30, kPlus, tres_raw},
    {"ID", 6, kSpill, id},
    {"LevelFS", 10, kSpill, level_fs},
    {"NormShares", 11, kSpill, norm_shares},
    {"NormUsage", 11, kSpill, norm_usage},
    {"Partition", 12, kPlus, nothing},
    {"RawShares", 10, kSpill, raw_shares},
    {"RawUsage", 11, kSpill, raw_usage},
    {"TRESRunMins", 30, kPlus, tres_run_minutes},
    {"User", 10, kPlus, user},
};

// The fair tree of the reply: the parent of each association, and its share of its level. An association is
// named by its place in the reply.
class ShareTree {
 public:
  explicit ShareTree(const api::AccountsReply& reply) : reply_(reply) {
    for (int i = 0; i < reply.associations_size(); ++i)
      if (reply.associations(i).user().empty()) account_places_[reply.associations(i).account()] = i;
    shares_below_.resize(static_cast<size_t>(reply.associations_size()));
    for (int i = 0; i < reply.associations_size(); ++i)
      if (const int level = level_of(i); level >= 0) shares_below_[static_cast<size_t>(level)] += weight(i);
  }

  // The shown values of an association's line, except names and usage.
  int depth(int place) const {
    int depth = 0;
    for (int above = parent_of(place); above >= 0; above = parent_of(above)) ++depth;
    return depth;
  }
  double norm_shares(int place) const {
    const int parent = parent_of(place);
    if (parent < 0) return 0;
    if (shares(place) == kSharesOfParent) return norm_shares(parent);
    const double all = shares_below_[static_cast<size_t>(level_of(place))];
    return all > 0 ? weight(place) / all : 0;
  }
  double norm_usage(int place) const {
    return whole_usage() > 0 ? reply_.usage(place).raw() / whole_usage() : 0;
  }
  ShareRank rank(int place) const {
    const model::AssociationRecord& one = reply_.associations(place);
    ShareRank rank;
    rank.id = one.id();
    rank.shares = shares(place);
    rank.effective_usage = effective_usage(place);
    const double share = norm_shares(place);
    rank.level = share == 0 ? 0 : rank.effective_usage == 0 ? INFINITY : share / rank.effective_usage;
    if (!one.user().empty()) rank.factor = reply_.fair_share(place);
    return rank;
  }

 private:
  int parent_of(int place) const {  // -1: none
    const model::AssociationRecord& one = reply_.associations(place);
    const auto found = account_places_.find(one.user().empty() ? one.parent_account() : one.account());
    return found == account_places_.end() || found->second == place ? -1 : found->second;
  }
  // What shares a level with it is below this one: an account with its parent's shares is passed over.
  int level_of(int place) const {
    int above = parent_of(place);
    while (above >= 0 && shares(above) == kSharesOfParent && parent_of(above) >= 0) above = parent_of(above);
    return above;
  }
  uint32_t shares(int place) const {
    return reply_.shares_size() > place ? reply_.shares(place) : reply_.associations(place).shares();
  }
  // One that has its parent's shares takes none from its siblings.
  uint32_t weight(int place) const { return shares(place) == kSharesOfParent ? 0 : shares(place); }
  double whole_usage() const { return reply_.usage_size() > 0 ? reply_.usage(0).raw() : 0; }
  double effective_usage(int place) const {
    const int parent = level_of(place);
    if (parent < 0) return 1;
    const double above = reply_.usage(parent).raw();
    return above > 0 ? reply_.usage(place).raw() / above : 0;
  }

  const api::AccountsReply& reply_;
  std::unordered_map<std::string, int> account_places_;
  std::vector<double> shares_below_;
};

ShareUsage usage_of(const api::AccountsReply& reply, int place) {
  ShareUsage used;
  used.cpu_seconds = reply.usage(place).raw();
  for (const model::TresSeconds& left : reply.running(place).tres()) {
    if (left.name() == "cpu") used.cpu_minutes = left.seconds() / 60;
    if (left.name() == "mem") used.memory_minutes = left.seconds() / 60;
    if (left.name() == "node") used.node_minutes = left.seconds() / 60;
    if (left.name() == "gres/gpu") used.gpu_minutes = left.seconds() / 60;
  }
  return used;
}

bool is_wanted(const model::AssociationRecord& association, const ShareWanted& wanted) {
  const auto listed = [](const std::vector<std::string>& list, const std::string& name) {
    return list.empty() || std::find(list.begin(), list.end(), name) != list.end();
  };
  if (!listed(wanted.accounts, association.account())) return false;
  return association.user().empty() ? !wanted.users_only : listed(wanted.users, association.user());
}

}  // namespace

void ShareUsage::add(const model::JobRecord& job, int64_t now) {
  const int64_t elapsed = elapsed_seconds(job, now);
  const bool ended = is_finished(job.state());
  const double age = ended ? static_cast<double>(std::max<int64_t>(0, now - job.end_time())) : 0;
  cpu_seconds += static_cast<double>(elapsed) * job.num_cpus() * std::exp2(-age / kUsageHalfLife);
  if (job.state() != model::JOB_RUNNING || job.time_limit_minutes() == kUnlimited) return;
  const double left = std::max(0.0, job.time_limit_minutes() - static_cast<double>(elapsed) / 60);
  cpu_minutes += left * job.num_cpus();
  memory_minutes += left * static_cast<double>(job.memory_mib());
  node_minutes += left * job.num_nodes();
  for (const model::Gres& gres : job.tres_gres())
    if (gres.name() == "gpu") gpu_minutes += left * gres.count();
}

std::span<const ShareField> share_fields() {
  return kFields;
}

std::string share_help_format() {
  std::vector<std::string_view> names;
  for (const ShareField& field : kFields) names.push_back(field.name);
  return print_help_format(names, 17);
}

std::vector<ShareLine> share_lines(const std::string& user, const ShareUsage& usage, bool users_only) {
  std::vector<ShareLine> lines;
  const double used = usage.cpu_seconds > 0 ? 1 : 0;
  if (!users_only) lines.push_back({"root", "", &usage, 0, used});
  if (!user.empty())
    lines.push_back({users_only ? "root" : " root", user, &usage, 1, used, std::nullopt, "root"});
  return lines;
}

std::vector<ShareLine> share_tree_lines(const api::AccountsReply& reply, const ShareWanted& wanted,
                                        std::deque<ShareUsage>& usage) {
  const ShareTree tree(reply);
  std::vector<ShareLine> lines;
  for (int i = 0; i < reply.associations_size(); ++i) {
    const model::AssociationRecord& one = reply.associations(i);
    if (!is_wanted(one, wanted)) continue;
    const auto indentation = static_cast<size_t>(wanted.users_only ? 0 : tree.depth(i));
    lines.push_back({.account = std::string(indentation, ' ') + one.account(),
                     .user = one.user(),
                     .usage = &usage.emplace_back(usage_of(reply, i)),
                     .norm_shares = tree.norm_shares(i),
                     .norm_usage = tree.norm_usage(i),
                     .rank = tree.rank(i),
                     .parent = one.user().empty() ? one.parent_account() : one.account()});
  }
  return lines;
}

void describe_share(Document& document, const ShareLine& line, const DisplayContext& context) {
  std::string name = is_user(line) ? line.user : line.account;
  name.erase(0, name.find_first_not_of(' '));
  document.begin_object();
  document.integer("id", line.rank ? line.rank->id : is_user(line) ? 2 : 1);
  document.text("cluster", context.cluster_name);
  document.text("name", name);
  const bool is_root = line.parent.empty();  // it has no share of anything
  document.text("parent", line.parent);
  document.text("partition", "");
  document.real_number("shares_normalized", line.norm_shares);
  document.number("shares",
                  is_root ? std::nullopt : std::optional<int64_t>(line.rank ? line.rank->shares : 1));
  document.begin_object("tres");
  const std::pair<const char*, double> values[] = {{"cpu", line.usage->cpu_minutes},
                                                   {"mem", line.usage->memory_minutes},
                                                   {"energy", 0},
                                                   {"node", line.usage->node_minutes},
                                                   {"billing", 0},
                                                   {"fs/disk", 0},
                                                   {"vmem", 0},
                                                   {"pages", 0},
                                                   {"gres/gpu", line.usage->gpu_minutes}};
  const auto list = [&](std::string_view key, auto write) {
    document.begin_array(key);
    for (const auto& [tres, minutes] : values) {
      document.begin_object();
      document.text("name", tres);
      write(minutes);
      document.end();
    }
    document.end();
  };
  list("run_seconds", [&](double minutes) { document.number("value", std::llround(minutes * 60)); });
  list("group_minutes", [&](double) { document.number("value", std::nullopt, true); });
  list("usage", [&](double) { document.real("value", 0); });
  document.end();
  document.real("effective_usage", line.rank       ? line.rank->effective_usage
                                   : is_user(line) ? line.norm_usage
                                                   : 1.0);
  document.real_number("usage_normalized", is_root ? std::nullopt : std::optional(line.norm_usage));
  document.integer("usage", std::llround(std::floor(line.usage->cpu_seconds)));
  document.begin_object("fairshare");
  document.real("factor", is_root ? 0.0 : line.rank ? line.rank->factor.value_or(0) : 1.0);
  const double level = level_fair_share(line);
  document.real_number("level", is_root ? std::nullopt : std::optional(level),
                       !is_root && !std::isfinite(level));
  document.end();
  document.begin_array("type");
  document.text(is_user(line) ? "USER" : "ASSOCIATION");
  document.end();
  document.end();
}

}  // namespace minke::view
