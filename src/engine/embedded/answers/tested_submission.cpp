#include "engine/embedded/answers/tested_submission.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/submission.pb.h"
#include "engine/embedded/core.h"
#include "engine/embedded/scheduling/submission_forecast.h"
#include "engine/embedded/server/flow_control.h"
#include "model/error.h"
#include "rpc/envelope.h"
#include "text/hostlist.h"

namespace minke::engine {

namespace {

class TestedSubmission : public std::enable_shared_from_this<TestedSubmission> {
 public:
  TestedSubmission(Core& core, Submitting::Tested tested, LongAnswer& answer)
      : core_(core), tested_(std::move(tested)), answer_(answer) {}

  void go_on() {
    answer_.next_with_forecast([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->make_piece();
    });
  }

 private:
  void make_piece() {
    if (!tested_.forecast->go_on()) return go_on();
    const auto& best = tested_.forecast->best();
    if (!best) {
      return fail(Error{model::kNodesBusy,
                        "no node that could run it is available, or too much is before it to say when it "
                        "starts"});
    }
    rpc::AnswerEnvelope answer;
    api::SubmitReply& reply = answer.body<api::SubmitReply>();
    reply.set_job_id(core_.state.next_job_id());
    reply.set_start_time(best->after_unlimited ? 0 : best->start);  // 0: unknown
    std::vector<std::string> names;
    uint32_t cpus = 0;
    for (const model::NodeAllocation& node : best->nodes) {
      names.push_back(node.node());
      cpus += node.cpus();
    }
    // Components may share a node.
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    reply.set_num_cpus(cpus);
    reply.set_node_list(text::compress_hostlist_sorted(names));
    reply.set_partition(tested_.partition);
    answer_.send(answer.message(), true);
    answer_.end();
  }

  void fail(const Error& error) {
    rpc::AnswerEnvelope answer;
    rpc::set_error(answer.message(), error);
    answer_.send(answer.message(), true);
    answer_.end();
  }

  Core& core_;
  const Submitting::Tested tested_;
  LongAnswer& answer_;
};

}  // namespace

void tell_tested(Core& core, Submitting::Tested tested, LongAnswer& answer) {
  const auto one = std::make_shared<TestedSubmission>(core, std::move(tested), answer);
  answer.keep(one);
  one->go_on();
}

}  // namespace minke::engine
