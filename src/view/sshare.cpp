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

bool is_user(const Line& line) {
  return !line.user.empty();
}
// Of what a level has, its share against its use; without use there is no end to it.
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
    out += line.rank->id == 1                ? ""
           : line.rank->shares == 0x7fffffff ? "parent"
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
  const bool shown = line.rank ? line.rank->id != 1 : is_user(line);
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
  if (!user.empty()) lines.push_back({users_only ? "root" : " root", user, &usage, 1, used});
  return lines;
}

std::vector<ShareLine> share_tree_lines(const api::AccountsReply& tree, const ShareWanted& wanted,
                                        std::deque<ShareUsage>& usage) {
  const auto listed = [](const std::vector<std::string>& list, const std::string& name) {
    return list.empty() || std::find(list.begin(), list.end(), name) != list.end();
  };
  std::unordered_map<std::string, int> account_places;
  for (int i = 0; i < tree.associations_size(); ++i) {
    if (tree.associations(i).user().empty()) account_places[tree.associations(i).account()] = i;
  }
  const auto parent_of = [&](int place) {
    const model::AssociationRecord& one = tree.associations(place);
    const auto found = account_places.find(one.user().empty() ? one.parent_account() : one.account());
    return found == account_places.end() || found->second == place ? -1 : found->second;
  };
  std::vector<double> shares_below(static_cast<size_t>(tree.associations_size()), 0);
  constexpr uint32_t kAsParent = 0x7fffffff;
  const auto shares_of = [&](int place) {
    const uint32_t shares =
        tree.shares_size() > place ? tree.shares(place) : tree.associations(place).shares();
    return shares == kAsParent ? 1u : shares;
  };
  for (int i = 0; i < tree.associations_size(); ++i) {
    if (const int parent = parent_of(i); parent >= 0)
      shares_below[static_cast<size_t>(parent)] += shares_of(i);
  }
  const double whole = tree.usage_size() > 0 ? tree.usage(0).raw() : 0;
  std::vector<ShareLine> lines;
  for (int i = 0; i < tree.associations_size(); ++i) {
    const model::AssociationRecord& one = tree.associations(i);
    const int parent = parent_of(i);
    if (!listed(wanted.accounts, one.account())) continue;
    if (one.user().empty() ? wanted.users_only : !listed(wanted.users, one.user())) continue;
    ShareUsage& used = usage.emplace_back();
    used.cpu_seconds = tree.usage(i).raw();
    for (const model::TresSeconds& left : tree.running(i).tres()) {
      if (left.name() == "cpu") used.cpu_minutes = left.seconds() / 60;
      if (left.name() == "mem") used.memory_minutes = left.seconds() / 60;
      if (left.name() == "node") used.node_minutes = left.seconds() / 60;
      if (left.name() == "gres/gpu") used.gpu_minutes = left.seconds() / 60;
    }
    int depth = 0;
    for (int above = parent; above >= 0; above = parent_of(above)) ++depth;
    ShareLine& line = lines.emplace_back();
    line.account = std::string(wanted.users_only ? 0 : static_cast<size_t>(depth), ' ') + one.account();
    line.user = one.user();
    line.usage = &used;
    ShareRank rank;
    rank.id = one.id();
    rank.shares = tree.shares_size() > i ? tree.shares(i) : one.shares();
    rank.effective_usage = 1;
    if (parent >= 0) {
      const double all = shares_below[static_cast<size_t>(parent)], above = tree.usage(parent).raw();
      line.norm_shares = all > 0 ? shares_of(i) / all : 0;
      rank.effective_usage = above > 0 ? used.cpu_seconds / above : 0;
    } else if (whole == 0) {
      rank.effective_usage = 0;
    }
    line.norm_usage = whole > 0 ? used.cpu_seconds / whole : 0;
    rank.level = line.norm_shares == 0       ? 0
                 : rank.effective_usage == 0 ? INFINITY
                                             : line.norm_shares / rank.effective_usage;
    if (!one.user().empty()) rank.factor = tree.fair_share(i);
    line.rank = rank;
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
  document.text("parent", is_user(line) ? "root" : "");
  document.text("partition", "");
  document.real_number("shares_normalized", line.norm_shares);
  document.number("shares", line.rank ? line.rank->shares : 1);
  document.begin_object("tres");
  for (const char* key : {"run_seconds", "group_minutes", "usage"}) {
    document.begin_array(key);
    if (std::string_view(key) == "run_seconds") {
      const std::pair<const char*, double> values[] = {{"cpu", line.usage->cpu_minutes},
                                                       {"mem", line.usage->memory_minutes},
                                                       {"node", line.usage->node_minutes},
                                                       {"gres/gpu", line.usage->gpu_minutes}};
      for (const auto& [tres, minutes] : values) {
        document.begin_object();
        document.text("name", tres);
        document.number("value", std::llround(minutes * 60));
        document.end();
      }
    }
    document.end();
  }
  document.end();
  document.real("effective_usage", line.rank       ? line.rank->effective_usage
                                   : is_user(line) ? line.norm_usage
                                                   : 1.0);
  document.real_number("usage_normalized", line.norm_usage);
  document.integer("usage", std::llround(std::floor(line.usage->cpu_seconds)));
  document.begin_object("fairshare");
  document.real("factor", line.rank ? line.rank->factor.value_or(0) : 1.0);
  document.real("level", std::isfinite(level_fair_share(line)) ? level_fair_share(line) : 0.0);
  document.end();
  document.begin_array("type");
  document.text(is_user(line) ? "USER" : "ASSOCIATION");
  document.end();
  document.end();
}

}  // namespace minke::view
