// Submitting: makes jobs of a SubmitRequest. It does the checks that need the cluster, and makes the job
// durable before the client is told.
//
// Invariants: a refused submission leaves nothing behind; a job may start only once its submission is
// durable; a key submits once, however often it is sent. State's thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/submission.pb.h"
#include "base/result.h"
#include "engine/embedded/accounts/accounts.h"
#include "engine/embedded/state/job.h"
#include "model/job_spec.pb.h"
#include "rpc/socket.h"
#include "store/job_row.h"

namespace minke::engine {

struct Core;
class SubmissionForecast;

class Submitting {
 public:
  explicit Submitting(Core& core) : core_(core) {}
  using Reply = std::function<void(Result<api::SubmitReply>)>;
  void submit(const api::SubmitRequest& request, const rpc::Peer& peer, Reply reply);
  // All of these or none. `reply` gets the ids once they are durable, before any may start; or which of them
  // was refused, and why. The keys do not count: whoever asks makes sure that it is asked once.
  struct Refused {
    size_t index = 0;  // of the request; as many as there are: all of them
    Error error;
  };
  using ReplyToAll = std::function<void(tl::expected<std::vector<uint32_t>, Refused>)>;
  void submit_all(const std::vector<api::SubmitRequest>& requests, const rpc::Peer& peer, ReplyToAll reply);
  // The same up to the moment when the job would be accepted, for --test-only. The caller makes the forecast.
  struct Tested {
    std::string partition;  // the first that could run it
    std::unique_ptr<SubmissionForecast> forecast;
  };
  Result<Tested> test(const api::SubmitRequest& request, const rpc::Peer& peer);

 private:
  // Fills in defaults of the configuration. The result is what is stored.
  Result<model::JobSpec> complete_spec(const model::JobSpec& given) const;
  // Checks all components, each alone and all together.
  using Charges = std::vector<Accounts::Charge>;
  Status check(const api::SubmitRequest& request, std::vector<model::JobSpec>& specs, uint32_t uid,
               Charges& charges) const;
  Status check(model::JobSpec& spec, uint32_t uid, Charges& charges) const;
  Status check_times(const model::JobSpec& spec) const;
  Status check_array(const model::JobSpec& spec) const;
  Status check_names(const model::JobSpec& spec) const;
  Status check_sizes(const model::JobSpec& spec) const;
  Result<Accounts::Charge> charge_for(model::JobSpec& spec, const std::string& partition, uint32_t uid) const;
  // A submission that passed the checks, with the charges of each component.
  struct Checked {
    const api::SubmitRequest& request;
    const rpc::Peer& peer;
    std::vector<model::JobSpec> specs;
    Charges charges;
  };
  using Jobs = std::vector<std::unique_ptr<Job>>;
  Result<std::vector<model::JobSpec>> specs_of(const api::SubmitRequest& request) const;
  Result<std::optional<uint32_t>> known_job(const std::string& key, uint32_t uid) const;
  struct ToStore {
    store::Batch batch;
    uint64_t new_bytes = 0;  // of contents that no job in memory has
  };
  Jobs as_jobs(const Checked& checked, const std::vector<uint32_t>& ids, ToStore& to_store);
  Jobs not_yet_jobs(const Checked& checked);
  Status starts_now(const Checked& checked);
  Status has_room(const Checked& checked) const;
  Status pay_for(const Checked& checked, uint64_t new_bytes);
  std::shared_ptr<const store::ContentHash> keep_content(const std::string& content, ToStore& to_store);
  void add(const Checked& checked, Reply reply);
  void enter(const Checked& checked, const std::vector<uint32_t>& ids, Jobs jobs, store::Batch& batch);
  Result<uint32_t> enter_one(const api::SubmitRequest& request, const rpc::Peer& peer, store::Batch& batch);
  void take_back(const std::vector<uint32_t>& ids);
  void let_go(Job& job);
  bool may_wait(const model::JobSpec& spec, const Error& problem) const;
  void add_notes(const Job& job, api::SubmitReply& answer) const;
  std::unique_ptr<Job> make_job(const api::SubmitRequest& request, const rpc::Peer& peer, uint32_t id,
                                const model::JobSpec& spec, bool runs_script, ToStore& to_store);
  // Whether the user owns the job of a known key. True for everybody if the job is no longer known.
  bool is_owner_of(uint32_t job_id, uint32_t uid) const;
  bool in_down_partition(const model::JobSpec& spec) const;  // its only partition is down
  void committed(const std::vector<uint32_t>& job_ids, const std::string& key, Status outcome);

  Core& core_;
  struct InFlight {
    uint32_t uid = 0;
    std::vector<Reply> replies;
  };
  std::unordered_map<std::string, InFlight> in_flight_;  // by key
};

}  // namespace minke::engine
