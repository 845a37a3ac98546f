#include "engine/embedded/accounts/rights.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>

#include "api/accounts.pb.h"
#include "api/explanation.pb.h"
#include "config/budgets.h"
#include "engine/embedded/accounts/accounts.h"
#include "engine/embedded/core.h"
#include "engine/embedded/server/budgets.h"
#include "model/accounts.pb.h"
#include "model/error.h"
#include "model/job_spec.pb.h"
#include "node/launch.pb.h"
#include "os/descriptors.h"
#include "os/subordinate_ids.h"
#include "rpc/messages.pb.h"

namespace minke::engine {

namespace {

constexpr int64_t kKeptSeconds = 300;
constexpr int64_t kNothingKeptSeconds = 10;  // for unknown users, who may be created at any moment
constexpr size_t kMostKept = 10000;
constexpr int kMostGroups = 65536;  // the kernel's limit
constexpr uint32_t kNobody = 0xffffffff;

// The user's groups with `gid` first.
std::vector<uint32_t> groups_of(uint32_t uid, uint32_t gid) {
  std::vector<char> buffer(65536);
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) return {gid};
  std::vector<gid_t> groups(64);
  for (;;) {
    int count = static_cast<int>(groups.size());
    if (::getgrouplist(entry.pw_name, gid, groups.data(), &count) >= 0) {
      groups.resize(static_cast<size_t>(count));
      return {groups.begin(), groups.end()};
    }
    if (groups.size() >= kMostGroups) return {gid};
    groups.resize(std::min<size_t>(kMostGroups, groups.size() * 4));
  }
}

bool has_group(const std::vector<uint32_t>& groups, const std::string& name) {
  if (name.empty()) return false;
  std::vector<char> buffer(1 << 20);
  group entry{};
  group* found = nullptr;
  if (::getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr)
    return false;
  return std::find(groups.begin(), groups.end(), entry.gr_gid) != groups.end();
}

uint32_t primary_group_of(uint32_t uid) {
  std::vector<char> buffer(65536);
  passwd entry{};
  passwd* found = nullptr;
  const bool none = ::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr;
  return none ? kNobody : entry.pw_gid;
}

}  // namespace

Rights::Rights(Core& core)
    : core_(core),
      budgets_(std::make_unique<Budgets>(
          config::budget_limits(config::load_budget_settings(core.config.source_path),
                                os::spare_descriptors()),
          [this](uint32_t uid) { return is_operator(uid); })),
      primary_groups_(kMostKept),
      strangers_(kMostKept),
      known_(kMostKept) {}

Rights::~Rights() = default;

void Rights::reconfigured() {
  budgets_->set_limits(
      config::budget_limits(config::load_budget_settings(core_.config.source_path), os::spare_descriptors()));
}

uint32_t Rights::primary_group(uint32_t uid) {
  return primary_groups_.get(uid, core_.now(), [uid] {
    const uint32_t group = primary_group_of(uid);
    return PrimaryGroups::Answer{group, group == kNobody ? kNothingKeptSeconds : kKeptSeconds};
  });
}

const Rights::Known& Rights::known(uint32_t uid, uint32_t gid) {
  return known_.get(uint64_t{uid} << 32 | gid, core_.now(), [&] {
    Known user;
    user.groups = gid == kNobody ? std::vector<uint32_t>() : groups_of(uid, gid);
    user.is_administrator = has_group(user.groups, core_.config.administrators);
    user.is_operator = user.is_administrator || has_group(user.groups, core_.config.operators);
    return KnownUsers::Answer{std::move(user), kKeptSeconds};
  });
}

bool Rights::may_connect(uint32_t uid) {
  if (!core_.config.shared) return uid == ::geteuid() || uid == 0;
  if (uid == 0) return true;
  // With the subordinate ids of containers, one user could appear as any number of users.
  return !strangers_.get(uid, core_.now(), [&] {
    return Strangers::Answer{os::is_subordinate(uid) && primary_group(uid) == kNobody, kNothingKeptSeconds};
  });
}

// The admin level that sacctmgr gave the user.
model::AdminLevel Rights::level_of(uint32_t uid) const {
  const model::UserRecord* user = core_.accounts->book().user(core_.state.user_name(uid));
  return user == nullptr ? model::ADMIN_NONE : user->admin_level();
}

bool Rights::is_administrator(uint32_t uid) {
  if (uid == 0 || uid == ::geteuid() || level_of(uid) == model::ADMIN_ADMINISTRATOR) return true;
  return core_.config.shared && known(uid, primary_group(uid)).is_administrator;
}

bool Rights::is_operator(uint32_t uid) {
  if (uid == 0 || uid == ::geteuid() || level_of(uid) != model::ADMIN_NONE) return true;
  return core_.config.shared && known(uid, primary_group(uid)).is_operator;
}

Viewer Rights::viewer(uint32_t uid) {
  return {uid, !core_.config.private_jobs || is_operator(uid)};
}

Status Rights::access(uint32_t uid, uint32_t job_uid) {
  if (owns(uid, job_uid)) return {};
  return failure("", viewer(uid).sees(job_uid) ? model::kAccessDenied : model::kInvalidJobId);
}

Status Rights::redact(uint32_t uid, api::ExplainJobReply& explanation) {
  if (!core_.config.private_jobs || is_operator(uid)) return {};
  if (explanation.job().uid() != uid)
    return failure(std::string(model::slurm_error_text(model::kInvalidJobId)), model::kInvalidJobId);
  const std::string own = core_.state.user_name(uid);
  for (api::JobInTheWay& job : *explanation.mutable_jobs()) {
    if (job.user() != own) job.clear_user();
  }
  return {};
}

Status Rights::admits(uint32_t uid, RequestKind kind) {
  switch (kind) {
    case rpc::ClientMessage::kShutdown:
    case rpc::ClientMessage::kReconfigure:
      if (!is_administrator(uid)) return failure("", model::kAccessDenied);
      return {};
    case rpc::ClientMessage::kUpdateNode:
    case rpc::ClientMessage::kUpdatePartition:
    case rpc::ClientMessage::kUpdateReservation:
      if (!is_operator(uid)) return failure("", model::kAccessDenied);
      return {};
    default:
      return {};
  }
}

Status Rights::admits(uint32_t uid, const api::UpdateAccountsRequest& request) {
  if (!is_operator(uid)) return core_.accounts->admits_coordinator(core_.state.user_name(uid), request);
  const auto level_now = [this](const std::string& name) {
    const model::UserRecord* user = core_.accounts->book().user(name);
    return user == nullptr ? model::ADMIN_NONE : user->admin_level();
  };
  const bool changes = std::any_of(request.users().begin(), request.users().end(), [&](const auto& user) {
    return user.admin_level() != level_now(user.name());
  });
  const bool removes =
      std::any_of(request.removed_users().begin(), request.removed_users().end(),
                  [&](const std::string& name) { return level_now(name) != model::ADMIN_NONE; });
  if ((changes || removes) && !is_administrator(uid))
    return failure("only administrators may change an admin level, or remove a user who has one",
                   model::kAccessDenied);
  return {};
}

Status Rights::admits(uint32_t uid, const model::JobSpec& spec) {
  if (is_operator(uid)) return {};
  if (spec.nice() < 0) return failure("only operators may ask for less than --nice=0", model::kAccessDenied);
  if (spec.has_priority() && spec.priority() != 0)
    return failure("only operators may set a priority", model::kAccessDenied);
  if (!spec.admin_comment().empty())
    return failure("only operators may set AdminComment", model::kAccessDenied);
  if (spec.expedited_requeue())
    return failure("only operators may ask for --requeue=expedite", model::kNotSupported);
  return {};
}

void Rights::set_identity(uint32_t uid, uint32_t gid, node::LaunchOrder& order) {
  if (!core_.config.shared) return;
  node::Identity& identity = *order.mutable_identity();
  identity.set_uid(uid);
  identity.set_gid(gid);
  for (const uint32_t group : known(uid, gid).groups) identity.add_groups(group);
  order.set_private_directories(core_.config.private_tmp);
}

}  // namespace minke::engine
