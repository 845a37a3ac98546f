#include "engine/embedded/simulation/request_test.h"

#include <utility>

#include "api/accounts.pb.h"
#include "api/actions.pb.h"
#include "api/field.pb.h"
#include "api/job_filter.pb.h"
#include "api/jobs.pb.h"
#include "api/submission.pb.h"
#include "api/updates.pb.h"
#include "engine/embedded/accounts/accounts.h"
#include "engine/embedded/simulation/engine.h"
#include "engine/embedded/simulation/job_requests.h"
#include "engine/embedded/simulation/three_nodes.h"
#include "rpc/messages.pb.h"
#include "store/store.h"

namespace minke::engine::simulation {

void RequestTest::start(std::string_view settings, std::string_view tables) {
  auto config = three_nodes(home_.path(), settings, tables);
  ASSERT_TRUE(config) << config.error().message;
  config_ = std::move(*config);
  store_ = std::make_shared<MemoryStore>();
  take_up(RequestEngine::kBeginning);
}

void RequestTest::restart() {
  take_up(core().now());
}

void RequestTest::take_up(int64_t now) {
  engine_.reset();
  engine_ = std::make_unique<RequestEngine>(
      config_, store_, [this](uint32_t, const rpc::ServerMessage& answer) { answers_.push_back(answer); },
      now);
  engine_->let_owners_live();
}

std::vector<rpc::AnswerEnvelope> RequestTest::ask_all(uint32_t uid, rpc::RequestEnvelope request) {
  rpc::ClientMessage& message = request.message();
  message.set_request_id(++requests_);
  answers_.clear();
  engine_->send(uid, message.SerializeAsString());
  std::vector<rpc::AnswerEnvelope> all;
  for (const rpc::AnswerEnvelope& answer : answers_)
    if (answer.message().request_id() == requests_ || answer.message().request_id() == 0)
      all.push_back(answer);
  return all;
}

rpc::AnswerEnvelope RequestTest::ask(uint32_t uid, rpc::RequestEnvelope message) {
  const auto all = ask_all(uid, std::move(message));
  EXPECT_FALSE(all.empty()) << "no answer";
  return all.empty() ? rpc::AnswerEnvelope() : all.back();
}

uint32_t RequestTest::outcome(uint32_t uid, rpc::RequestEnvelope message) {
  const rpc::ServerMessage answer = ask(uid, std::move(message)).message();
  if (answer.has_error()) {
    said_ = answer.error().detail().empty() ? answer.error().message() : answer.error().detail();
    return answer.error().code();
  }
  if (answer.action().failures().empty()) return 0;
  said_ = answer.action().failures(0).message();
  return answer.action().failures(0).code();
}

rpc::RequestEnvelope RequestTest::submission(const Change& change) {
  rpc::ClientMessage message;
  std::string key = std::to_string(++requests_);
  key.resize(16, '.');
  *message.mutable_submit() = batch_request(key, "run=1", home_.path());
  if (change) change(*message.mutable_submit()->mutable_spec());
  if (message.submit().spec().interactive()) message.mutable_submit()->clear_script();
  return message;
}

uint32_t RequestTest::submit(uint32_t uid, const Change& change) {
  const rpc::ServerMessage answer = ask(uid, submission(change)).message();
  if (answer.has_error()) said_ = answer.error().message() + answer.error().detail();
  return answer.submit().job_id();
}

rpc::RequestEnvelope RequestTest::cancel(uint32_t job_id) {
  return simulation::cancel(job_id);
}

rpc::RequestEnvelope RequestTest::update(uint32_t job_id, const std::string& name, const std::string& value) {
  rpc::ClientMessage message;
  message.mutable_update_job()->mutable_job()->set_job_id(job_id);
  api::Field& field = *message.mutable_update_job()->add_fields();
  field.set_name(name);
  field.set_value(value);
  return message;
}

rpc::RequestEnvelope RequestTest::change_of_accounts() {
  rpc::ClientMessage message;
  message.mutable_update_accounts()->set_version(core().accounts->book().version());
  return message;
}

model::JobRecord RequestTest::shown(uint32_t job_id) {
  rpc::ClientMessage message;
  message.mutable_query_jobs()->mutable_filter()->set_all_states(true);
  message.mutable_query_jobs()->mutable_filter()->add_jobs()->set_job_id(job_id);
  for (const rpc::AnswerEnvelope& answer : ask_all(kRoot, message))
    for (const model::JobRecord& job : answer.message().jobs().jobs())
      if (job.job_id() == job_id) return job;
  const auto stored = core().store.job(job_id);
  if (stored && *stored) return (*stored)->record;
  ADD_FAILURE() << "there is no job " << job_id;
  return {};
}

}  // namespace minke::engine::simulation
