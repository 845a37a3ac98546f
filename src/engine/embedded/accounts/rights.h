// Who may do what, as the kernel says who asks. All of the daemon's decisions about rights are made here.
//
// A user may do with his own jobs what he likes; operators with everybody's, and they change nodes,
// partitions and reservations; administrators stop the cluster and have it read its configuration. In
// personal mode the daemon's user is all of that. In shared mode root is, the members of the groups that the
// configuration names, and whom sacctmgr gave an admin level.
//
// State's thread. Asks the name service, and keeps the answers for a while.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "engine/embedded/server/kept_answers.h"
#include "engine/embedded/server/request_kind.h"
#include "engine/embedded/state/job_matcher.h"

namespace minke::api {
class UpdateAccountsRequest;
}  // namespace minke::api

namespace minke::model {
enum AdminLevel : int;
class JobSpec;
}  // namespace minke::model

namespace minke::node {
class LaunchOrder;
}  // namespace minke::node

namespace minke::rpc {
class ServerMessage;
}  // namespace minke::rpc

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
  // To change a job, and see its script. Steps run as its owner: nobody but he and root may start one in it.
  bool owns(uint32_t uid, uint32_t job_uid) { return uid == job_uid || is_operator(uid); }
  // Whose jobs he may know of at all: PrivateData. Every answer that speaks of jobs asks this; to a job that
  // he does not see, it is the one to a job that there never was.
  Viewer viewer(uint32_t uid);
  // Whether he may change a job of this user, and if not, what he is told: a job that he does not see is one
  // that there never was.
  Status access(uint32_t uid, uint32_t job_uid);
  // Why a job waits, as this user may know it: nothing of another's job, and whose the jobs before it are
  // only where they are his.
  void redact(uint32_t uid, rpc::ServerMessage& answer);

  // Whether requests of this kind are for everybody: what is further to be asked, the request says itself.
  Status admits(uint32_t uid, RequestKind kind);
  // Of changes of accounts, an admin level is for administrators alone, and whoever has one.
  Status admits(uint32_t uid, const api::UpdateAccountsRequest& request);
  // What only operators may ask for in a job.
  Status admits(uint32_t uid, const model::JobSpec& spec);

  // How much of the daemon each user may have at a time.
  Budgets& budgets() { return *budgets_; }
  void reconfigured();

  // Whose rights a job's processes have; without effect in personal mode.
  void set_identity(uint32_t uid, uint32_t gid, node::LaunchOrder& order);

 private:
  struct Known {
    std::vector<uint32_t> groups;
    bool is_administrator = false;
    bool is_operator = false;
  };
  model::AdminLevel level_of(uint32_t uid) const;
  const Known& known(uint32_t uid, uint32_t gid);
  uint32_t primary_group(uint32_t uid);
  using PrimaryGroups = KeptAnswers<uint32_t, uint32_t>;
  using Strangers = KeptAnswers<uint32_t, bool>;  // subordinate ids that are nobody's own
  using KnownUsers = KeptAnswers<uint64_t, Known>;

  Core& core_;
  std::unique_ptr<Budgets> budgets_;
  PrimaryGroups primary_groups_;
  Strangers strangers_;
  KnownUsers known_;  // by uid and gid
};

}  // namespace minke::engine
