// Fuzz target: any requests of any users in any order to an engine with jobs. Each gets an answer, none fails
// a check, and the next daemon can continue from the state that they left.
//
// An input is a sequence of requests to a new engine: jobs that are replaced all the time, and
// requests of every kind in the protocol, made from its descriptions (rpc/random_message.h),
// sometimes with raw bytes of the input.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "api/accounting.pb.h"
#include "api/actions.pb.h"
#include "api/job_filter.pb.h"
#include "api/jobs.pb.h"
#include "api/steps.pb.h"
#include "api/submission.pb.h"
#include "engine/embedded/simulation/request_engine.h"
#include "engine/embedded/simulation/three_nodes.h"
#include "model/job_spec.pb.h"
#include "model/job_terms.pb.h"
#include "os/log.h"
#include "rpc/messages.pb.h"
#include "rpc/random_message.h"

using namespace minke;
using engine::simulation::MemoryStore;
using engine::simulation::RequestEngine;
using rpc::Choices;
using rpc::RandomMessages;

namespace {

constexpr uint32_t kUsers[] = {1000, 1001, 1000, 0};  // two, and root
constexpr size_t kMostRequests = 200;

// A directory for the scripts of jobs; it is removed at the end.
class Home {
 public:
  Home() : path_(directory() / ("minke-requests-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_ / "tmp");
    [[maybe_unused]] const Status quiet = os::open_log((path_ / "log").string());
  }
  ~Home() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string path() const { return path_.string(); }

 private:
  static std::filesystem::path directory() {
    const std::filesystem::path memory = "/dev/shm";  // syncing scripts takes time on a disk
    return std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path();
  }
  std::filesystem::path path_;
};

config::Configuration configuration() {
  static const Home home;
  static const config::Configuration made = [] {
    auto config = engine::simulation::three_nodes(
        home.path(), "max_array_size = 1001\nmax_job_count = 2000\n", "[licenses]\nmatlab = 4\n");
    MINKE_CHECK(config);
    return *config;
  }();
  return made;
}

class Requests {
 public:
  Requests(const uint8_t* data, size_t size)
      : choices_(data, size), store_(std::make_shared<MemoryStore>()), engine_(start()) {}

  void run() {
    for (size_t count = 0; count < kMostRequests && !choices_.empty(); ++count) one();
    // The next daemon loads the state, lists all of it, and continues.
    engine_.reset();
    engine_ = start();
    show_everything();
    engine_->pass(60);
    for (int i = 0; i < 20; ++i) engine_->end_one(0, 0);
    show_everything();
  }

 private:
  std::unique_ptr<RequestEngine> start() {
    return std::make_unique<RequestEngine>(
        configuration(), store_,
        [this](uint32_t uid, const rpc::ServerMessage& message) { answered(uid, message); });
  }

  void answered(uint32_t, const rpc::ServerMessage& message) {
    if (message.has_submit() && message.submit().job_id() != 0) jobs_.insert(message.submit().job_id());
    if (message.request_id() == request_id_ || message.request_id() == 0) answered_ = true;
    // The message is in the detail if Slurm has its own text for the number.
    const std::string words = message.error().message() + message.error().detail();
    if (words.find("makes no sense to this daemon") == std::string::npos) return;
    std::fprintf(stderr, "a request failed a check\n");
    std::abort();
  }

  void one() {
    switch (choices_.below(16)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return submit();
      case 4:
        return create_step();
      case 5:
      case 6:
        return act_on_tasks();
      case 7:
        engine_->pass(1 + static_cast<int64_t>(choices_.below(4)) * 20);
        return;
      case 8:
        engine_->end_one(choices_.byte(), choices_.rarely() ? 256 : 0);
        return;
      case 9:
        return engine_->hang_up(user());
      case 10:
        return send(choices_.text(200));
      case 11:
        return show_everything();
      default:
        return any();
    }
  }

  uint32_t user() { return kUsers[choices_.below(std::size(kUsers))]; }

  uint32_t some_job() {
    if (jobs_.empty() || choices_.rarely()) return static_cast<uint32_t>(messages().number());
    // One of the latest.
    return *std::next(jobs_.rbegin(),
                      static_cast<ptrdiff_t>(choices_.below(std::min<size_t>(4, jobs_.size()))));
  }

  RandomMessages messages() {
    std::vector<uint64_t> numbers;
    for (auto job = jobs_.rbegin(); job != jobs_.rend() && numbers.size() < 12; ++job)
      numbers.push_back(*job);
    static const std::vector<std::string> texts = {"",
                                                   "a",
                                                   "main",
                                                   "short",
                                                   "n1",
                                                   "n[1-2]",
                                                   "n9",
                                                   "/tmp",
                                                   "/",
                                                   "normal",
                                                   "1",
                                                   "0",
                                                   "-1",
                                                   "4294967295",
                                                   "UNLIMITED",
                                                   "5",
                                                   "10:00",
                                                   "now",
                                                   "now+1hour",
                                                   "gpu:1",
                                                   "gpu:a100:2",
                                                   "matlab:1",
                                                   "matlab",
                                                   "JobId",
                                                   "TimeLimit",
                                                   "Priority",
                                                   "Partition",
                                                   "Nice",
                                                   "Name",
                                                   "Comment",
                                                   "NumNodes",
                                                   "NumCPUs",
                                                   "Dependency",
                                                   "afterok:1",
                                                   "singleton",
                                                   "ArrayTaskThrottle",
                                                   "EndTime",
                                                   "StartTime",
                                                   "Deadline",
                                                   "QOS",
                                                   "Account",
                                                   "State",
                                                   "DOWN",
                                                   "DRAIN",
                                                   "RESUME",
                                                   "UP",
                                                   "Reason",
                                                   "Nodes",
                                                   "Users",
                                                   "root",
                                                   "ALL",
                                                   "FREQ=DAILY",
                                                   "Duration",
                                                   "Flags",
                                                   "MAINT,IGNORE_JOBS",
                                                   "resv",
                                                   "ReqNodeList",
                                                   "ExcNodeList",
                                                   "Features",
                                                   "Gres",
                                                   "Licenses",
                                                   "MinMemoryNode",
                                                   "cyclic",
                                                   "plane=2",
                                                   "arbitrary",
                                                   "block:cyclic",
                                                   "%j_%t.out",
                                                   "PATH=/bin\0"};
    return RandomMessages(choices_, std::move(numbers), texts);
  }

  // The body is the field with this number.
  void send(const std::string& frame) { engine_->send(user(), frame); }
  void ask(uint32_t uid, uint32_t body_number, const std::string& body) {
    std::string frame;
    RandomMessages::add_number(frame, 1, ++request_id_);
    RandomMessages::add_part(frame, body_number, body);
    answered_ = false;
    engine_->send(uid, frame);
    // A submission or a wait may be answered later. Every other request is answered at once.
    const bool later =
        body_number == rpc::ClientMessage::kWaitJob || body_number == rpc::ClientMessage::kCreateStep;
    if (!later && !answered_) {
      std::fprintf(stderr, "request %u is not answered\n", body_number);
      std::abort();
    }
  }

  void submit() {
    api::SubmitRequest request;
    std::string key(16, '\0');
    ++keys_;
    for (size_t i = 0; i < sizeof(keys_); ++i) key[i] = static_cast<char>(keys_ >> (8 * i));
    request.set_key(key);
    request.set_environment(std::string("PATH=/bin\0", 10));
    const size_t shape = choices_.below(12);
    const bool interactive = shape == 0;
    if (!interactive) request.set_script("#!/bin/sh\n");
    const auto fill = [&](model::JobSpec& spec) {
      spec.set_work_dir("/tmp");
      spec.set_name(shape % 2 == 0 ? "a" : "b");
      spec.set_interactive(interactive);
      if (shape >= 8) spec.set_time_limit_minutes(1 + static_cast<uint32_t>(choices_.below(100)));
    };
    model::JobSpec& spec = *request.mutable_spec();
    fill(spec);
    if (shape >= 1 && shape <= 4) {
      model::IndexRange& range = *spec.mutable_array()->add_ranges();
      range.set_first(static_cast<uint32_t>(choices_.below(4)));
      range.set_last(range.first() + static_cast<uint32_t>(choices_.below(12)));
      range.set_step(1 + static_cast<uint32_t>(choices_.below(3)));
      if (shape == 4) spec.mutable_array()->set_max_running(1);
    }
    if (shape == 3 || shape == 5) spec.set_hold(true);
    if (shape == 6 || shape == 2) {
      model::Dependency& dependency = *spec.add_dependencies();
      dependency.set_type(static_cast<model::DependencyType>(choices_.below(6)));
      if (dependency.type() != model::SINGLETON) dependency.set_job_id(some_job());
    }
    if (shape == 7) {
      for (size_t left = 1 + choices_.below(3); left > 0; --left) fill(*request.add_het_components());
    }
    // Appended bytes are merged into the message: some random fields, and some unknown ones.
    std::string more;
    RandomMessages random = messages();
    if (choices_.rarely()) more = random.make(schema_.index_of("minke.model.JobSpec"));
    if (choices_.below(4) == 3) random.add_unknown(more, static_cast<uint32_t>(choices_.below(70)) + 1);
    std::string body = request.SerializeAsString();
    constexpr uint32_t kSpec = 2;
    if (!more.empty()) RandomMessages::add_part(body, kSpec, more);
    ask(user(), rpc::ClientMessage::kSubmit, body);
  }

  void create_step() {
    api::CreateStepRequest request;
    request.set_key("0123456789abcde" + std::string(1, static_cast<char>(choices_.byte())));
    request.set_job_id(some_job());
    request.mutable_spec()->add_argv("true");
    request.mutable_spec()->set_work_dir("/tmp");
    if (choices_.below(2) == 1)
      request.mutable_spec()->set_ntasks(1 + static_cast<uint32_t>(choices_.below(9)));
    if (choices_.below(4) == 1) request.mutable_spec()->set_overlap(true);
    std::string body = request.SerializeAsString();
    RandomMessages random = messages();
    constexpr uint32_t kSpec = 3;
    if (choices_.below(4) == 3)
      RandomMessages::add_part(body, kSpec, random.make(schema_.index_of("minke.api.StepSpec")));
    ask(user(), rpc::ClientMessage::kCreateStep, body);
  }

  // Acts on tasks of an array by ranges, which may overlap.
  void act_on_tasks() {
    api::JobSelector selector;
    selector.set_job_id(some_job());
    for (size_t left = choices_.below(4); left > 0; --left) {
      model::IndexRange& range = *selector.add_tasks();
      range.set_first(static_cast<uint32_t>(choices_.below(16)));
      range.set_last(range.first() + static_cast<uint32_t>(choices_.below(6)));
      range.set_step(static_cast<uint32_t>(choices_.below(3)));
    }
    constexpr uint32_t kNumbers[] = {rpc::ClientMessage::kHold,    rpc::ClientMessage::kSignal,
                                     rpc::ClientMessage::kRequeue, rpc::ClientMessage::kTop,
                                     rpc::ClientMessage::kSuspend, rpc::ClientMessage::kHold};
    const uint32_t kind = kNumbers[choices_.below(std::size(kNumbers))];
    api::HoldRequest hold;  // the selectors are the first field of all of these
    *hold.add_jobs() = selector;
    if (choices_.below(4) == 1) *hold.add_jobs() = selector;
    if (kind == rpc::ClientMessage::kHold)
      hold.set_kind(static_cast<api::HoldRequest::Kind>(choices_.below(3)));
    if (kind != rpc::ClientMessage::kSignal) return ask(user(), kind, hold.SerializeAsString());
    api::SignalRequest signal;
    *signal.mutable_filter()->mutable_jobs() = hold.jobs();
    signal.set_signal(static_cast<uint32_t>(choices_.below(4)) * 9 % 19);
    ask(user(), kind, signal.SerializeAsString());
  }

  // A request of any kind with random fields.
  void any() {
    static const std::vector<uint32_t> bodies = [] {
      constexpr uint8_t kMessage = 11;
      std::vector<uint32_t> found;
      const auto& fields =
          rpc::Schema::of_program().fields(rpc::Schema::of_program().index_of("minke.rpc.ClientMessage"));
      for (uint32_t number = 0; number < fields.size(); ++number) {
        if (fields[number].type == kMessage) found.push_back(number);
      }
      return found;
    }();
    const uint32_t body = bodies[choices_.below(bodies.size())];
    RandomMessages random = messages();
    const size_t type = schema_.fields(schema_.index_of("minke.rpc.ClientMessage"))[body].message;
    std::string bytes = random.make(type);
    if (choices_.rarely()) random.add_unknown(bytes, static_cast<uint32_t>(choices_.below(200)) + 1);
    ask(user(), body, bytes);
  }

  void show_everything() {
    api::QueryJobsRequest brief;
    brief.set_brief(true);
    brief.mutable_filter()->set_all_states(true);
    ask(0, rpc::ClientMessage::kQueryJobs, brief.SerializeAsString());
    brief.set_brief(false);
    ask(0, rpc::ClientMessage::kQueryJobs, brief.SerializeAsString());
    ask(0, rpc::ClientMessage::kQuerySteps, "");
    api::QueryAccountingRequest accounting;
    accounting.set_with_steps(true);
    ask(0, rpc::ClientMessage::kQueryAccounting, accounting.SerializeAsString());
  }

  const rpc::Schema& schema_ = rpc::Schema::of_program();
  Choices choices_;
  std::shared_ptr<MemoryStore> store_;
  std::set<uint32_t> jobs_;
  uint32_t request_id_ = 0;
  uint64_t keys_ = 0;
  bool answered_ = false;
  std::unique_ptr<RequestEngine> engine_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 8192) return 0;
  Requests(data, size).run();
  return 0;
}
