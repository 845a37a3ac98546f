#include "engine/embedded/simulation/request_test.h"

#include <utility>

#include "api/actions.pb.h"
#include "api/field.pb.h"
#include "api/job_filter.pb.h"
#include "api/jobs.pb.h"
#include "api/submission.pb.h"
#include "api/updates.pb.h"
#include "config/configuration.h"
#include "engine/embedded/simulation/engine.h"
#include "model/cluster.pb.h"

namespace minke::engine::simulation {

void RequestTest::start(std::string_view settings, std::string_view tables) {
  model::NodeRecord machine;
  machine.set_name("here");
  machine.set_cpus(4);
  machine.set_sockets(1);
  machine.set_cores_per_socket(4);
  machine.set_threads_per_core(1);
  machine.set_memory_mib(8000);
  const std::string text = std::string(settings) +
                           "\nkill_wait = 1\n"
                           "[[node]]\nname = \"n[1-3]\"\ncpus = 4\nmemory = \"4000M\"\ngpus = \"a100:2\"\n"
                           "[[partition]]\nname = \"main\"\nnodes = \"n[1-3]\"\ndefault = true\n"
                           "[[partition]]\nname = \"short\"\nnodes = \"n1\"\nmax_time = \"1:00:00\"\n" +
                           std::string(tables);
  auto config = config::parse_configuration(text, "minke.toml", machine);
  ASSERT_TRUE(config) << config.error().message;
  config_ = std::move(*config);
  config_.home = home_.path();
  config_.tmp_root = home_.path() + "/tmp";
  config_.shared = true;
  config_.measuring_interval = 0;
  store_ = std::make_shared<MemoryStore>();
  restart();
}

void RequestTest::restart() {
  engine_.reset();
  engine_ = std::make_unique<RequestEngine>(
      config_, store_, [this](uint32_t, const rpc::ServerMessage& answer) { answers_.push_back(answer); });
  engine_->let_owners_live();
}

std::vector<rpc::ServerMessage> RequestTest::ask_all(uint32_t uid, rpc::ClientMessage message) {
  message.set_request_id(++requests_);
  answers_.clear();
  engine_->send(uid, message.SerializeAsString());
  std::vector<rpc::ServerMessage> all;
  for (const rpc::ServerMessage& answer : answers_)
    if (answer.request_id() == requests_ || answer.request_id() == 0) all.push_back(answer);
  return all;
}

rpc::ServerMessage RequestTest::ask(uint32_t uid, rpc::ClientMessage message) {
  const auto all = ask_all(uid, std::move(message));
  EXPECT_FALSE(all.empty()) << "no answer";
  return all.empty() ? rpc::ServerMessage() : all.back();
}

uint32_t RequestTest::outcome(uint32_t uid, rpc::ClientMessage message) {
  const rpc::ServerMessage answer = ask(uid, std::move(message));
  if (answer.has_error()) {
    said_ = answer.error().detail().empty() ? answer.error().message() : answer.error().detail();
    return answer.error().code();
  }
  if (answer.action().failures().empty()) return 0;
  said_ = answer.action().failures(0).message();
  return answer.action().failures(0).code();
}

rpc::ClientMessage RequestTest::submission(const Change& change) {
  rpc::ClientMessage message;
  std::string key = std::to_string(++requests_);
  key.resize(16, '.');
  *message.mutable_submit() = batch_request(key, "run=1", home_.path());
  if (change) change(*message.mutable_submit()->mutable_spec());
  if (message.submit().spec().interactive()) message.mutable_submit()->clear_script();
  return message;
}

uint32_t RequestTest::submit(uint32_t uid, const Change& change) {
  const rpc::ServerMessage answer = ask(uid, submission(change));
  if (answer.has_error()) said_ = answer.error().message() + answer.error().detail();
  return answer.submit().job_id();
}

rpc::ClientMessage RequestTest::cancel(uint32_t job_id) {
  rpc::ClientMessage message;
  message.mutable_signal()->mutable_filter()->add_jobs()->set_job_id(job_id);
  return message;
}

rpc::ClientMessage RequestTest::update(uint32_t job_id, const std::string& name, const std::string& value) {
  rpc::ClientMessage message;
  message.mutable_update_job()->mutable_job()->set_job_id(job_id);
  api::Field& field = *message.mutable_update_job()->add_fields();
  field.set_name(name);
  field.set_value(value);
  return message;
}

model::JobRecord RequestTest::shown(uint32_t job_id) {
  rpc::ClientMessage message;
  message.mutable_query_jobs()->mutable_filter()->set_all_states(true);
  message.mutable_query_jobs()->mutable_filter()->add_jobs()->set_job_id(job_id);
  for (const rpc::ServerMessage& answer : ask_all(kRoot, message))
    for (const model::JobRecord& job : answer.jobs().jobs())
      if (job.job_id() == job_id) return job;
  return {};
}

}  // namespace minke::engine::simulation
