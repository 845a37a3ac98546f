// Rights: who may do what. The kernel tells who asks. The daemon makes all decisions about rights here.
//
// A user may do anything with their own jobs. Operators may do so with everybody's jobs, and may change
// nodes, partitions and reservations. Administrators may also stop the cluster and make it read its
// configuration again. In personal mode the daemon's user has all these rights. In shared mode root has them,
// the members of configured groups, and users to whom sacctmgr gave an admin level.
//
// State's thread. Asks the name service (which may block) and keeps the answers for a while.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "engine/embedded/server/kept_answers.h"
#include "engine/embedded/server/request_kind.h"
#include "engine/embedded/state/job_matcher.h"

namespace minke::api {
class ExplainJobReply;
class UpdateAccountsRequest;
}  // namespace minke::api

namespace minke::model {
enum AdminLevel : int;
class JobSpec;
}  // namespace minke::model

namespace minke::node {
class LaunchOrder;
}  // namespace minke::node

namespace minke::engine {

class Budgets;
struct Core;

class Rights {
 public:
  explicit Rights(Core& core);
  ~Rights();

  bool may_connect(uint32_t uid);
  bool is_administrator(uint32_t uid);
  bool is_operator(uint32_t uid);
  // Whether the user may change the job and see its script. Only owner and root may start a step in it.
  bool owns(uint32_t uid, uint32_t job_uid) { return uid == job_uid || is_operator(uid); }
  // Whose jobs the user may know of (PrivateData). Every answer about jobs must ask this. A request for a job
  // that the user may not see gets the same answer as for a job that never existed.
  Viewer viewer(uint32_t uid);
  // Whether the user may change a job of `job_uid`, else the error for them. A job that they may not see is
  // reported as one that never existed.
  Status access(uint32_t uid, uint32_t job_uid);
  // Removes what the user may not know from the reasons why a job waits: contents of other users' jobs, and
  // the owners of the jobs before it.
  Status redact(uint32_t uid, api::ExplainJobReply& explanation);

  // Whether this user may send such requests at all. The request's handler checks everything else.
  Status admits(uint32_t uid, RequestKind kind);
  // For changes of accounts: only administrators, and users with an admin level, may set an admin level.
  // Coordinators may change what is in their accounts.
  Status admits(uint32_t uid, const api::UpdateAccountsRequest& request);
  // Refuses options of a job that only operators may use.
  Status admits(uint32_t uid, const model::JobSpec& spec);

  // 4294967295: the user is not known.
  uint32_t primary_group(uint32_t uid);
  // The user's groups; `gid` is the primary one.
  const std::vector<uint32_t>& groups(uint32_t uid, uint32_t gid) { return known(uid, gid).groups; }

  // How much of the daemon each user may use at a time.
  Budgets& budgets() { return *budgets_; }
  void reconfigured();

  // Sets the user and groups that a job's processes get; does nothing in personal mode.
  void set_identity(uint32_t uid, uint32_t gid, node::LaunchOrder& order);

 private:
  struct Known {
    std::vector<uint32_t> groups;
    bool is_administrator = false;
    bool is_operator = false;
  };
  model::AdminLevel level_of(uint32_t uid) const;
  const Known& known(uint32_t uid, uint32_t gid);
  using PrimaryGroups = KeptAnswers<uint32_t, uint32_t>;
  using Strangers = KeptAnswers<uint32_t, bool>;  // subordinate ids that belong to no user
  using KnownUsers = KeptAnswers<uint64_t, Known>;

  Core& core_;
  std::unique_ptr<Budgets> budgets_;
  PrimaryGroups primary_groups_;
  Strangers strangers_;
  KnownUsers known_;  // by uid and gid
};

}  // namespace minke::engine
