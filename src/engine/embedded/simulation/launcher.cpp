#include "engine/embedded/simulation/launcher.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "engine/embedded/state/tags.pb.h"
#include "model/job_record.pb.h"
#include "model/step_record.pb.h"
#include "node/journal.pb.h"
#include "node/launch.pb.h"
#include "node/launcher.h"
#include "node/recording.h"

namespace minke::engine::simulation {

namespace {

using Time = Agenda::Time;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kExit{1};       // between a deadly signal and the end
constexpr milliseconds kClearing{2};   // between two attempts to clear away
constexpr milliseconds kStarting{30};  // until a new launcher answers

// A program's words: "run=30" is its duration, "exit=1" its exit code, "term=5"
// how long it survives a SIGTERM.
int64_t number_after(const std::string& text, const std::string& word, int64_t otherwise) {
  const size_t at = text.find(word);
  return at == std::string::npos ? otherwise : std::strtoll(text.c_str() + at + word.size(), nullptr, 10);
}

// The task's own process does this: it needs no descriptor of the launcher.
std::optional<std::string> read_program(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

node::JobKey key_of(uint32_t job_id, uint32_t run) {
  return {job_id, run};
}

}  // namespace

// ---- Machine ---------------------------------------------------------------------------------------

Machine::Machine(Agenda& agenda, std::string home, Clock clock)
    : agenda_(agenda), home_(std::move(home)), clock_(std::move(clock)) {}

void Machine::reboot() {
  processes_.clear();
  ++boot_;
}

void Machine::note(const node::LaunchState& launch, uint32_t position, bool executed) {
  JobTag tag;
  std::string task;
  if (launch.key.kind == model::STEP_BATCH && tag.ParseFromString(launch.tag)) {
    const model::JobRecord& record = tag.record();
    task = std::to_string(tag.spec_id()) + "_" +
           (record.has_array_task_id() ? std::to_string(record.array_task_id()) : "");
  }
  starts_.push_back({launch.key, launch.tasks[position].rank, boot_, now(), executed, std::move(task)});
}

Machine::Process& Machine::start(const node::LaunchState& launch, uint32_t position,
                                 const std::string& script) {
  const uint32_t pid = take_pid();
  Process& process = processes_[pid];
  process.launch = launch.key;
  process.position = position;
  process.pid = pid;
  process.left = seconds(number_after(script, "run=", 1));
  process.status = static_cast<int>(number_after(script, "exit=", 0)) << 8;
  process.term_grace = number_after(script, "term=", 0);
  note(launch, position, true);
  schedule(process);
  return process;
}

void Machine::schedule(Process& process) {
  process.ends = agenda_.now() + process.left;
  agenda_.at(process.ends, [this, pid = process.pid, boot = boot_] {
    const auto found = processes_.find(pid);
    if (boot != boot_ || found == processes_.end() || found->second.stopped) return;
    if (found->second.ends <= agenda_.now()) end(pid, found->second.status);
  });
}

void Machine::signal(uint32_t pid, int number) {
  const auto found = processes_.find(pid);
  if (found == processes_.end()) return;
  Process& process = found->second;
  if (number == SIGSTOP && !process.stopped) {
    process.stopped = true;
    process.left = std::max(Time{0}, process.ends - agenda_.now());
  } else if (number == SIGCONT && process.stopped) {
    process.stopped = false;
    schedule(process);
  } else if (number == SIGKILL || number == SIGTERM) {
    if (number == SIGKILL && std::exchange(process.stopped, false))
      process.ends = agenda_.now() + process.left;
    const Time grace = number == SIGKILL ? Time(kExit) : Time(seconds(process.term_grace)) + kExit;
    const Time left = process.stopped ? process.left : std::max(Time{0}, process.ends - agenda_.now());
    if (grace < left) process.status = number;
    process.left = std::min(left, grace);
    if (!process.stopped) schedule(process);
  }
}

void Machine::end(uint32_t pid, int status) {
  const auto ended = processes_.extract(pid);
  if (on_exit) on_exit(ended.mapped(), status);
}

std::vector<uint32_t> Machine::pids_of(const node::JobKey& job) const {
  std::vector<uint32_t> pids;
  for (const auto& [pid, process] : processes_) {
    if (process.launch.job == job) pids.push_back(pid);
  }
  return pids;
}

// ---- LauncherModel ---------------------------------------------------------------------------------

Result<std::unique_ptr<LauncherModel>> LauncherModel::create(Machine& machine) {
  const std::string path = node::launcher_journal_path(machine.home());
  auto contents = node::Journal::read(path);
  if (!contents && contents.error().code == EILSEQ) contents = node::JournalContents{};
  if (!contents) return failure(contents.error());
  node::LaunchTable table;
  for (const node::JournalRecord& record : contents->records) table.apply(record);
  if (contents->header.boot_id() != machine.boot_id()) {
    node::JournalRecord record;
    for (auto& [key, launch] : table.all()) {
      if (launch.ended()) continue;
      *record.mutable_lost()->mutable_id() = key.id();
      record.mutable_lost()->set_end_time(machine.now());
      table.apply(record);
    }
  }
  node::JournalHeader header;
  header.set_boot_id(machine.boot_id());
  const bool named = contents->whole && !contents->header.id().empty();
  header.set_id(named ? contents->header.id() : "journal-" + std::to_string(machine.take_pid()));
  auto journal = node::Journal::create(path, header, table.records());
  if (!journal && named && contents->header.boot_id() == machine.boot_id())
    journal = node::Journal::resume(path, *contents);
  if (!journal) return failure(journal.error());
  std::unique_ptr<LauncherModel> made(
      new LauncherModel(machine, std::move(*journal), std::move(table), header.id()));
  made->recover();
  return made;
}

LauncherModel::LauncherModel(Machine& machine, node::Journal journal, node::LaunchTable table,
                             std::string journal_id)
    : machine_(machine),
      table_(std::move(table)),
      journal_(std::move(journal)),
      journal_id_(std::move(journal_id)) {
  pid_ = machine_.take_pid();
  machine_.on_exit = [this](const Machine::Process& process, int status) { exited(process, status); };
}

LauncherModel::~LauncherModel() {
  machine_.on_exit = nullptr;
}

void LauncherModel::recover() {
  for (auto& [key, launch] : table_.all()) {
    if (launch.ended() && !launch.ends_job) {
      launch.announced = true;
      continue;
    }
    Job& job = jobs_[key.job];
    job.of_earlier_launcher = true;
    if (job.tmp_dir.empty() && launch.launch_error.empty()) job.tmp_dir = launch.tmp_dir;
    job.ended.push_back(key);
  }
  for (const auto& [key, job] : jobs_) begin_end(key);
}

void LauncherModel::set_daemon(Sink sink) {
  sink_ = std::move(sink);
  if (!sink_) sync_soon();
}

void LauncherModel::record(const node::JournalRecord& record) {
  (void)node::record(record, journal_, table_);
  if (!sink_) sync_soon();
}

void LauncherModel::sync_soon() {
  if (std::exchange(sync_scheduled_, true)) return;
  machine_.agenda().after(Time{0}, [this, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.expired()) return;
    sync_scheduled_ = false;
    (void)journal_.sync();
  });
}

Status LauncherModel::prepare(const node::LaunchOrder& order) {
  Job& job = jobs_[key_of(order.id().job_id(), order.id().run())];
  if (job.ending) return failure("the job is ending", EBUSY);
  if (order.tmp_dir().empty() || !job.tmp_dir.empty()) return {};
  if (::mkdir(order.tmp_dir().c_str(), 0700) != 0 && errno != EEXIST)
    return failure_from_errno(order.tmp_dir(), errno);
  job.tmp_dir = order.tmp_dir();
  return {};
}

void LauncherModel::launch(node::LaunchOrder order) {
  const node::LaunchKey key = node::LaunchKey::of(order.id());
  if (const node::LaunchState* known = table_.find(key)) {
    known->announced ? tell_ended(*known) : tell_started(*known);
    return;
  }
  node::JournalRecord launching_record;
  node::Launching& launching = *launching_record.mutable_launching();
  *launching.mutable_id() = order.id();
  launching.set_start_time(machine_.now());
  launching.set_tag(order.tag());
  launching.set_tmp_dir(order.tmp_dir());
  launching.set_ends_job(order.ends_job());
  launching.set_boot_ticks(1);
  for (const node::TaskOrder& task : order.tasks()) launching.add_ranks(task.rank());
  Status ready = node::record(launching_record, journal_, table_);
  node::LaunchState& launch = *table_.find(key);
  if (ready) ready = prepare(order);
  ready ? start_tasks(launch, order) : fail(launch, ready.error());
}

void LauncherModel::fail(node::LaunchState& launch, const Error& error) {
  node::JournalRecord failure_record;
  *failure_record.mutable_failed()->mutable_id() = launch.key.id();
  failure_record.mutable_failed()->set_launch_error(error.message);
  failure_record.mutable_failed()->set_end_time(machine_.now());
  failure_record.mutable_failed()->set_error_number(static_cast<uint32_t>(std::max(0, error.code)));
  record(failure_record);
  launch_ended(launch);
}

void LauncherModel::start_tasks(node::LaunchState& launch, const node::LaunchOrder& order) {
  node::JournalRecord running_record;
  node::Running& running = *running_record.mutable_running();
  *running.mutable_id() = order.id();
  running.set_boot_ticks(1);
  std::vector<std::pair<uint32_t, int>> not_executed;  // position, errno
  for (uint32_t position = 0; position < launch.tasks.size(); ++position) {
    const node::TaskOrder& task = order.tasks(static_cast<int>(position));
    std::string words;
    int problem = 0;
    for (const std::string& word : task.argv().empty() ? order.argv() : task.argv()) {
      words += word + " ";
      if (!word.ends_with("/slurm_script")) continue;
      const auto script = read_program(word);
      if (script) words += *script;
      if (!script) problem = ENOENT;
      if (script && !script->starts_with("#!")) problem = ENOEXEC;
    }
    if (problem != 0) {
      not_executed.emplace_back(position, problem);
      running.add_pids(0);
      machine_.note(launch, position, false);
      continue;
    }
    const uint32_t pid = machine_.start(launch, position, words).pid;
    pids_[launch.key].push_back(pid);
    running.add_pids(pid);
  }
  record(running_record);
  for (const auto& [position, problem] : not_executed) {
    node::JournalRecord end;
    *end.mutable_task_ended()->mutable_id() = order.id();
    end.mutable_task_ended()->set_position(position);
    node::TaskEnd& task_end = *end.mutable_task_ended()->mutable_end();
    task_end.set_rank(launch.tasks[position].rank);
    task_end.set_status(problem << 8);
    task_end.set_end_time(machine_.now());
    record(end);
  }
  launch.ended() ? launch_ended(launch) : tell_started(launch);
}

void LauncherModel::exited(const Machine::Process& process, int status) {
  const auto own = pids_.find(process.launch);
  if (own == pids_.end() || std::erase(own->second, process.pid) == 0) return;
  if (own->second.empty()) pids_.erase(own);
  node::LaunchState* launch = table_.find(process.launch);
  if (launch == nullptr) return;
  node::JournalRecord end;
  *end.mutable_task_ended()->mutable_id() = process.launch.id();
  end.mutable_task_ended()->set_position(process.position);
  node::TaskEnd& task_end = *end.mutable_task_ended()->mutable_end();
  task_end.set_rank(launch->tasks[process.position].rank);
  task_end.set_status(status);
  task_end.set_end_time(machine_.now());
  task_end.mutable_usage()->set_user_microseconds(kMicrosecondsOfTask);
  record(end);
  if (sink_ && launch->tasks.size() > 1) {
    node::LauncherMessage message;
    *message.mutable_task_ended()->mutable_id() = process.launch.id();
    *message.mutable_task_ended()->add_ended_tasks() = task_end;
    sink_(message);
  }
  if (launch->ended()) launch_ended(*launch);
}

void LauncherModel::launch_ended(node::LaunchState& launch) {
  const auto job = jobs_.find(launch.key.job);
  if (launch.ends_job && job != jobs_.end()) {
    job->second.ended.push_back(launch.key);
    begin_end(launch.key.job);
    return;
  }
  launch.announced = true;
  tell_ended(launch);
}

void LauncherModel::signal(const node::SignalOrder& order) {
  if (order.signal() == 0) return;
  const node::JobKey key = key_of(order.job_id(), order.run());
  for (const auto& [launch, pids] : std::map(pids_)) {
    if (launch.job != key) continue;
    const bool batch = launch.kind == model::STEP_BATCH;
    if (order.target() == node::SignalOrder::STEPS && batch) continue;
    if ((order.target() == node::SignalOrder::BATCH_SHELL ||
         order.target() == node::SignalOrder::BATCH_SESSION) &&
        !batch)
      continue;
    if (order.target() == node::SignalOrder::ONE_STEP && (batch || launch.step_id != order.step_id()))
      continue;
    for (const uint32_t pid : pids) machine_.signal(pid, static_cast<int>(order.signal()));
  }
}

void LauncherModel::end_job(const node::EndJobOrder& order) {
  const node::JobKey key = key_of(order.job_id(), order.run());
  Job& job = jobs_[key];
  if (job.tmp_dir.empty()) job.tmp_dir = order.tmp_dir();
  job.asked_to_end = true;
  begin_end(key);
}

void LauncherModel::begin_end(const node::JobKey& key) {
  jobs_.at(key).ending = true;
  for (const uint32_t pid : machine_.pids_of(key)) machine_.signal(pid, SIGKILL);
  machine_.agenda().after(kClearing, [this, key, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) clear(key);
  });
}

void LauncherModel::clear(const node::JobKey& key) {
  const auto job = jobs_.find(key);
  if (job == jobs_.end()) return;
  if (!machine_.pids_of(key).empty()) return begin_end(key);
  if (!job->second.tmp_dir.empty()) ::rmdir(job->second.tmp_dir.c_str());
  finish(key);
}

void LauncherModel::finish(const node::JobKey& key) {
  const Job job = std::move(jobs_.extract(key).mapped());
  for (const node::LaunchKey& ended : job.ended) {
    node::LaunchState* launch = table_.find(ended);
    if (launch == nullptr) continue;
    if (!launch->ended()) {
      node::JournalRecord lost;
      *lost.mutable_lost()->mutable_id() = ended.id();
      lost.mutable_lost()->set_end_time(machine_.now());
      record(lost);
    }
    launch->announced = true;
    tell_ended(*launch);
  }
  if (!job.asked_to_end || !sink_) return;
  node::LauncherMessage message;
  message.mutable_job_ended()->set_job_id(key.job_id);
  message.mutable_job_ended()->set_run(key.run);
  sink_(message);
}

void LauncherModel::collect(const node::CollectOrder& order) {
  node::JournalRecord collected;
  for (const node::LaunchId& id : order.ids()) {
    const node::LaunchState* launch = table_.find(node::LaunchKey::of(id));
    if (launch != nullptr && launch->announced) *collected.mutable_collected()->add_ids() = id;
  }
  if (!collected.has_collected()) return;
  record(collected);
  if (journal_.overgrown()) (void)journal_.rewrite(table_.records());
}

node::Inventory LauncherModel::inventory() const {
  node::Inventory inventory;
  inventory.set_instance("launcher-" + std::to_string(pid_));
  inventory.set_pid(pid_);
  inventory.set_journal_id(journal_id_);
  for (const auto& [key, launch] : table_.all()) *inventory.add_launches() = node::to_message(launch, true);
  return inventory;
}

void LauncherModel::tell_started(const node::LaunchState& launch) {
  if (!sink_) return;
  node::LauncherMessage message;
  *message.mutable_started() = node::to_message(launch, false);
  sink_(message);
}

void LauncherModel::tell_ended(const node::LaunchState& launch) {
  if (!sink_) return;
  node::LauncherMessage message;
  *message.mutable_ended() = node::to_message(launch, false);
  sink_(message);
}

// ---- between the two -------------------------------------------------------------------------------

void LauncherHost::kill() {
  launcher.reset();
  connection.reset();
  if (on_kill) std::exchange(on_kill, nullptr)();
}

namespace {

class SimulatedLauncher final : public node::LauncherClient {
 public:
  SimulatedLauncher(os::EventLoop& loop, LauncherHost& host, Callbacks callbacks)
      : loop_(loop), host_(host), callbacks_(std::move(callbacks)) {}
  ~SimulatedLauncher() override { disconnect(); }

  void start() override {
    disconnect();
    link_ = std::make_shared<bool>(true);
    deliver(to_launcher_, kStarting, [this] { connect(); });
  }
  void launch(node::LaunchOrder order, std::vector<os::UniqueFd>) override {
    send([order = std::move(order)](LauncherModel& launcher) { launcher.launch(order); });
  }
  void signal(node::SignalOrder order) override {
    send([order](LauncherModel& launcher) { launcher.signal(order); });
  }
  void end_job(node::EndJobOrder order) override {
    send([order](LauncherModel& launcher) { launcher.end_job(order); });
  }
  void collect(node::CollectOrder order) override {
    send([order](LauncherModel& launcher) { launcher.collect(order); });
  }
  void shutdown() override {}
  bool connected() const override { return connected_; }

 private:
  void disconnect() {
    if (host_.launcher && attached_) host_.launcher->set_daemon(nullptr);
    if (std::exchange(attached_, false)) host_.on_kill = nullptr;
    link_.reset();
    connected_ = false;
    to_launcher_ = to_daemon_ = Time{0};
  }

  // Delivers while this connection lasts, and never before earlier messages.
  void deliver(Time& last, Time delay, std::function<void()> work) {
    Agenda& agenda = host_.machine.agenda();
    last = std::max(last, agenda.now() + delay);
    agenda.at(last, [work = std::move(work), link = std::weak_ptr<bool>(link_)] {
      if (!link.expired()) work();
    });
  }
  void send(std::function<void(LauncherModel&)> order) {
    if (!connected_) return;
    Agenda& agenda = host_.machine.agenda();
    to_launcher_ = std::max(to_launcher_, agenda.now() + host_.delay());
    agenda.at(to_launcher_,
              [&host = host_, order = std::move(order), connection = std::weak_ptr<bool>(host_.connection)] {
                if (host.launcher && !connection.expired()) order(*host.launcher);
              });
  }
  // Like the socket: its callbacks run on the daemon's loop.
  void receive(std::function<void()> work) {
    deliver(to_daemon_, host_.delay(), [this, work = std::move(work), link = std::weak_ptr<bool>(link_)] {
      loop_.post([work, link] {
        if (!link.expired()) work();
      });
    });
  }

  void connect() {
    if (!host_.launcher) {
      ++host_.started;
      auto made = host_.can_start
                      ? LauncherModel::create(host_.machine)
                      : Result<std::unique_ptr<LauncherModel>>(failure("no launcher can be started"));
      if (!made) {
        host_.problem = made.error().message;
        return receive([this] { lose(failure("the launcher could not be started")); });
      }
      host_.launcher = std::move(*made);
    }
    host_.on_kill = [this] {
      connected_ = false;
      link_ = std::make_shared<bool>(true);  // no message of the old connection arrives any more
      to_launcher_ = to_daemon_ = Time{0};
      receive([this] { lose(failure("the launcher has closed the connection")); });
    };
    host_.connection = std::make_shared<bool>(true);
    attached_ = true;
    node::Inventory inventory = host_.launcher->inventory();
    receive([this, inventory = std::move(inventory)] {
      connected_ = true;
      callbacks_.on_inventory(inventory);
    });
    host_.launcher->set_daemon(
        [this](const node::LauncherMessage& message) { receive([this, message] { told(message); }); });
  }

  void lose(Status why) {
    disconnect();
    callbacks_.on_lost_connection(std::move(why));
  }

  void told(const node::LauncherMessage& message) {
    switch (message.body_case()) {
      case node::LauncherMessage::kStarted:
        return callbacks_.on_started(message.started());
      case node::LauncherMessage::kEnded:
        return callbacks_.on_ended(message.ended());
      case node::LauncherMessage::kTaskEnded:
        return callbacks_.on_task_ended(message.task_ended());
      case node::LauncherMessage::kJobEnded:
        return callbacks_.on_job_ended(message.job_ended());
      case node::LauncherMessage::kInventory:
      case node::LauncherMessage::BODY_NOT_SET:
        return;
    }
  }

  os::EventLoop& loop_;
  LauncherHost& host_;
  Callbacks callbacks_;
  std::shared_ptr<bool> link_;  // of this connection or attempt to connect
  bool attached_ = false;       // the launcher sends to this one
  bool connected_ = false;
  Time to_launcher_{0}, to_daemon_{0};  // arrival of the last message sent
};

}  // namespace

std::unique_ptr<node::LauncherClient> make_simulated_launcher(os::EventLoop& loop, LauncherHost& host,
                                                              node::LauncherClient::Callbacks callbacks) {
  return std::make_unique<SimulatedLauncher>(loop, host, std::move(callbacks));
}

}  // namespace minke::engine::simulation
