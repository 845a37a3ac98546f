#include "view/document/accounts.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "accounts/coordinators.h"
#include "model/accounts.pb.h"

namespace minke::view {
namespace {

using model::Limits;
using TresLimits = google::protobuf::RepeatedPtrField<model::Tres>;

// Slurm's fixed numbers; GPUs have the first number behind them.
int64_t id_of(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, int64_t>, 9> kIds = {{{"cpu", 1},
                                                                         {"mem", 2},
                                                                         {"energy", 3},
                                                                         {"node", 4},
                                                                         {"billing", 5},
                                                                         {"fs/disk", 6},
                                                                         {"vmem", 7},
                                                                         {"pages", 8},
                                                                         {"gres/gpu", 1001}}};
  for (const auto& [known, id] : kIds) {
    if (known == name) return id;
  }
  return 0;
}

void tres_list(Document& document, std::string_view key, const TresLimits& limits) {
  document.begin_array(key);
  for (const model::Tres& limit : limits) {
    const std::string& name = limit.name();
    const size_t slash = name.find('/');
    describe_tres_kind(document, name.substr(0, slash),
                       slash == std::string::npos ? std::string() : name.substr(slash + 1), id_of(name),
                       static_cast<int64_t>(limit.count()));
  }
  document.end();
}

void no_tres(Document& document, std::string_view key) {
  tres_list(document, key, {});
}

// Writes a limit: unset and infinite if there is none.
void limit(Document& document, std::string_view key, bool is_set, uint32_t value) {
  document.number(key, is_set ? std::optional<int64_t>(value) : std::nullopt, !is_set);
}
#define MINKE_LIMIT(key, field) limit(document, key, limits.has_##field(), limits.field())

template <typename List>
void texts(Document& document, std::string_view key, const List& list) {
  document.begin_array(key);
  for (const auto& one : list) document.text(one);
  document.end();
}

// Writes the place of an association, for use within another record.
void describe_place(Document& document, const model::AssociationRecord& record, const std::string& cluster) {
  document.begin_object();
  document.text("account", record.account());
  document.text("cluster", cluster);
  document.text("partition", record.partition());
  document.text("user", record.user());
  document.integer("id", record.id());
  document.end();
}

template <typename Belongs>
void describe_places(Document& document, const accounts::AccountBook& book, const std::string& cluster,
                     bool shown, Belongs belongs) {
  document.begin_array("associations");
  for (const uint32_t id : book.in_tree_order()) {
    const model::AssociationRecord& one = *book.association(id);
    if (shown && belongs(one)) describe_place(document, one, cluster);
  }
  document.end();
}

void describe_coordinators(Document& document, const std::vector<accounts::Coordination>& coordinators) {
  document.begin_array("coordinators");
  for (const accounts::Coordination& one : coordinators) {
    document.begin_object();
    document.text("name", one.name);
    document.boolean("direct", one.direct);
    document.end();
  }
  document.end();
}

// The words of documents for those of sacctmgr.
std::string_view qos_flag(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {"DenyOnLimit", "DENY_LIMIT"}, {"NoDecay", "NO_DECAY"}, {"OverPartQOS", "OVERRIDE_PARTITION_QOS"}};
  for (const auto& [flag, word] : kWords) {
    if (flag == name) return word;
  }
  return name;
}

void describe_job_limits(Document& document, const Limits& limits) {
  document.begin_object("jobs");
  document.begin_object("per");
  MINKE_LIMIT("count", grp_jobs);
  MINKE_LIMIT("accruing", grp_jobs_accrue);
  MINKE_LIMIT("submitted", grp_submit_jobs);
  MINKE_LIMIT("wall_clock", max_wall);
  document.end();
  MINKE_LIMIT("active", max_jobs);
  MINKE_LIMIT("accruing", max_jobs_accrue);
  MINKE_LIMIT("total", max_submit_jobs);
  document.end();
}

// Returns the path from root to it: "/physics/theory/0-ada/".
std::string lineage_of(const accounts::AccountBook& book, uint32_t id) {
  std::string lineage = "/";
  for (; book.parent(id) != 0; id = book.parent(id)) {
    const model::AssociationRecord& one = *book.association(id);
    lineage = "/" + (one.user().empty() ? one.account() : "0-" + one.user()) + lineage;
  }
  return lineage;
}

}  // namespace

void describe_tres_kind(Document& document, const std::string& type, const std::string& name, int64_t id,
                        int64_t count) {
  document.begin_object();
  document.text("type", type);
  document.text("name", name);
  document.integer("id", id);
  document.integer("count", count);
  document.end();
}

void describe_association(Document& document, const model::AssociationRecord& record,
                          const accounts::AccountBook& book, const std::string& cluster) {
  const Limits limits = book.effective_limits(record.id());
  document.begin_object();
  texts(document, "accounting", std::array<std::string, 0>());
  document.text("account", record.account());
  document.text("cluster", cluster);
  document.text("comment", record.comment());
  document.begin_object("default");
  document.text("qos", book.default_qos(record.id()));
  document.end();
  texts(document, "flags", std::array<std::string, 0>());
  document.begin_object("max");
  describe_job_limits(document, limits);
  document.begin_object("tres");
  tres_list(document, "total", limits.grp_tres());
  document.begin_object("group");
  tres_list(document, "minutes", limits.grp_tres_mins());
  tres_list(document, "active", limits.grp_tres_run_mins());
  document.end();
  document.begin_object("minutes");
  no_tres(document, "total");
  document.begin_object("per");
  tres_list(document, "job", limits.max_tres_mins());
  document.end();
  document.end();
  document.begin_object("per");
  tres_list(document, "job", limits.max_tres());
  tres_list(document, "node", limits.max_tres_per_node());
  document.end();
  document.end();
  document.begin_object("per");
  document.begin_object("account");
  MINKE_LIMIT("wall_clock", grp_wall);
  document.end();
  document.end();
  document.end();
  document.integer("id", record.id());
  document.boolean(
      "is_default",
      !record.user().empty() && book.default_account(record.user(), record.cluster()) == record.account());
  document.text("lineage", lineage_of(book, record.id()));
  document.begin_object("min");
  MINKE_LIMIT("priority_threshold", min_priority);
  document.end();
  document.text("parent_account", record.parent_account());
  document.text("partition", record.partition());
  limit(document, "priority", record.has_priority(), record.priority());
  texts(document, "qos", book.allowed_qos(record.id()));
  document.integer("shares_raw", record.shares());
  document.text("user", record.user());
  document.end();
}

void describe_account(Document& document, const model::AccountRecord& record,
                      const accounts::AccountBook& book, const std::string& cluster, bool with_associations) {
  document.begin_object();
  describe_places(document, book, cluster, with_associations,
                  [&](const model::AssociationRecord& one) { return one.account() == record.name(); });
  describe_coordinators(document, accounts::coordinators_of(book, record.name()));
  document.text("description", record.description());
  document.text("name", record.name());
  document.text("organization", record.organization());
  texts(document, "flags", std::array<std::string, 0>());
  document.end();
}

void describe_user(Document& document, const model::UserRecord& record, const accounts::AccountBook& book,
                   const std::string& cluster, bool with_associations) {
  document.begin_object();
  document.begin_array("administrator_level");
  document.text(record.admin_level() == model::ADMIN_ADMINISTRATOR ? "Administrator"
                : record.admin_level() == model::ADMIN_OPERATOR    ? "Operator"
                                                                   : "None");
  document.end();
  describe_places(document, book, cluster, with_associations,
                  [&](const model::AssociationRecord& one) { return one.user() == record.name(); });
  describe_coordinators(document, accounts::coordinated_by(book, record.name()));
  document.begin_object("default");
  document.text("account", record.default_account());
  document.text("wckey", record.default_wckey());
  document.end();
  document.text("flags", "NONE");
  document.text("name", record.name());
  document.text("old_name", "");
  document.begin_array("wckeys");
  for (const std::string& key : record.wckeys()) describe_wckey(document, key, record, cluster);
  document.end();
  document.end();
}

void describe_qos(Document& document, const model::QosRecord& record) {
  const Limits& limits = record.limits();
  document.begin_object();
  document.text("description", record.description());
  document.begin_array("flags");
  for (const std::string& flag : record.flags()) document.text(qos_flag(flag));
  document.end();
  document.integer("id", record.id());
  document.begin_object("limits");
  document.integer("grace_time", record.grace_seconds());
  document.begin_object("max");
  document.begin_object("active_jobs");
  MINKE_LIMIT("accruing", grp_jobs_accrue);
  MINKE_LIMIT("count", grp_jobs);
  document.end();
  document.begin_object("jobs");
  MINKE_LIMIT("count", grp_submit_jobs);
  document.begin_object("active_jobs");
  document.begin_object("per");
  MINKE_LIMIT("account", max_jobs_per_account);
  MINKE_LIMIT("user", max_jobs);
  document.end();
  document.end();
  document.begin_object("per");
  MINKE_LIMIT("account", max_submit_jobs_per_account);
  MINKE_LIMIT("user", max_submit_jobs);
  document.end();
  document.end();
  document.begin_object("tres");
  tres_list(document, "total", limits.grp_tres());
  document.begin_object("minutes");
  tres_list(document, "total", limits.grp_tres_mins());
  document.begin_object("per");
  tres_list(document, "qos", limits.grp_tres_run_mins());
  tres_list(document, "job", limits.max_tres_mins());
  no_tres(document, "account");
  no_tres(document, "user");
  document.end();
  document.end();
  document.begin_object("per");
  tres_list(document, "account", limits.max_tres_per_account());
  tres_list(document, "job", limits.max_tres());
  tres_list(document, "node", limits.max_tres_per_node());
  tres_list(document, "user", limits.max_tres_per_user());
  document.end();
  document.end();
  document.begin_object("wall_clock");
  document.begin_object("per");
  MINKE_LIMIT("qos", grp_wall);
  MINKE_LIMIT("job", max_wall);
  document.end();
  document.end();
  document.begin_object("accruing");
  document.begin_object("per");
  MINKE_LIMIT("account", max_jobs_accrue_per_account);
  MINKE_LIMIT("user", max_jobs_accrue);
  document.end();
  document.end();
  document.end();
  document.real_number(
      "factor", record.has_limit_factor() ? std::optional<double>(record.limit_factor()) : std::nullopt,
      !record.has_limit_factor());
  document.begin_object("min");
  MINKE_LIMIT("priority_threshold", min_priority);
  document.begin_object("tres");
  document.begin_object("per");
  tres_list(document, "job", limits.min_tres());
  document.end();
  document.end();
  document.end();
  document.end();
  document.text("name", record.name());
  document.begin_object("preempt");
  texts(document, "list", record.preempt());
  document.begin_array("mode");
  std::string mode = record.preempt_mode().empty() ? "disabled" : record.preempt_mode();
  for (char& c : mode) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  document.text(mode);
  document.end();
  limit(document, "exempt_time", record.has_preempt_exempt_seconds(), record.preempt_exempt_seconds());
  document.end();
  document.number("priority", record.priority());
  document.real_number("usage_factor", record.has_usage_factor() ? record.usage_factor() : 1.0);
  document.real_number(
      "usage_threshold",
      record.has_usage_threshold() ? std::optional<double>(record.usage_threshold()) : std::nullopt,
      !record.has_usage_threshold());
  document.end();
}

}  // namespace minke::view
