#include "node/supervisor.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "model/step_record.pb.h"
#include "node/journal.pb.h"
#include "node/launch.pb.h"
#include "node/launcher.h"
#include "node/namespaces.h"
#include "node/recording.h"
#include "node/tmp_dir.h"
#include "node/tmp_image.h"
#include "os/random_key.h"
#include "text/hex.h"

namespace minke::node {
namespace {

int64_t now_seconds() {
  return std::time(nullptr);
}

std::string random_name() {
  return text::to_hex(os::random_key().substr(0, 8));
}

bool places_in_range(const LaunchOrder& order) {
  const uint32_t places = std::max(1u, static_cast<uint32_t>(order.places_size()));
  return std::all_of(order.tasks().begin(), order.tasks().end(),
                     [places](const TaskOrder& task) { return task.place() < places; });
}

bool descriptors_in_range(const LaunchOrder& order, size_t count) {
  auto fits = [count](const StreamOrder& stream) {
    return !stream.has_descriptor() || stream.descriptor() < count;
  };
  return std::all_of(order.tasks().begin(), order.tasks().end(), [&](const TaskOrder& task) {
    return fits(task.stdin()) && fits(task.stdout()) && fits(task.stderr());
  });
}

Status check_order(const LaunchOrder& order, size_t descriptors) {
  const bool nothing = std::any_of(order.tasks().begin(), order.tasks().end(), [&](const TaskOrder& task) {
    return task.argv().empty() && order.argv().empty();
  });
  if (nothing || order.tasks().empty()) return failure("nothing to run", EINVAL);
  if (!descriptors_in_range(order, descriptors)) return failure("a file descriptor is missing", EBADF);
  if (!places_in_range(order)) return failure("a place is missing", EINVAL);
  return {};
}

JournalRecord launching_record(const LaunchOrder& order) {
  JournalRecord record;
  Launching& launching = *record.mutable_launching();
  *launching.mutable_id() = order.id();
  launching.set_start_time(now_seconds());
  launching.set_tag(order.tag());
  for (const TaskOrder& task : order.tasks()) launching.add_ranks(task.rank());
  launching.set_tmp_dir(order.tmp_dir());
  launching.set_ends_job(order.ends_job());
  launching.set_boot_ticks(boot_ticks_now());
  return record;
}

// Keeps an unreadable file under another name for an administrator to examine; best effort.
void keep_damaged(const std::string& path) {
  const std::string aside = path + ".damaged";
  ::unlink(aside.c_str());
  const bool kept = ::link(path.c_str(), aside.c_str()) == 0;
  log_line(path + " is damaged: what follows the damage is not known any more" +
           (kept ? "; it is kept as " + aside : ""));
}

}  // namespace

void log_line(const std::string& line) {
  char time[32];
  std::time_t now = std::time(nullptr);
  std::tm parts{};
  std::strftime(time, sizeof time, "%FT%T", ::localtime_r(&now, &parts));
  std::fprintf(stderr, "[%s] launcher: %s\n", time, line.c_str());
}

void signal_group(pid_t root, int signal_number) {
  if (::kill(-root, signal_number) != 0 && errno == ESRCH) ::kill(root, signal_number);
}

Result<std::unique_ptr<Supervisor>> Supervisor::create(os::EventLoop& loop, Options options) {
  auto contents = Journal::read(options.journal_path);
  if (!contents && contents.error().code == EILSEQ) {
    std::string aside = options.journal_path + ".damaged";
    log_line(contents.error().message + "; moved to " + aside);
    if (std::rename(options.journal_path.c_str(), aside.c_str()) != 0)
      return failure_from_errno(aside, errno);
    contents = JournalContents{};  // without an id: it gets a new one
  }
  if (!contents) return failure(contents.error());
  if (!contents->whole) keep_damaged(options.journal_path);
  LaunchTable table;
  for (const JournalRecord& record : contents->records) table.apply(record);
  JournalHeader header;
  header.set_boot_id(boot_id());
  header.set_id(contents->whole && !contents->header.id().empty() ? contents->header.id() : random_name());
  bool same_boot = contents->header.boot_id() == header.boot_id();
  if (!same_boot) {  // its pids belong to nobody now
    JournalRecord record;
    for (auto& [key, launch] : table.all()) {
      if (launch.ended()) continue;
      *record.mutable_lost()->mutable_id() = key.id();
      record.mutable_lost()->set_end_time(now_seconds());
      table.apply(record);
    }
  }
  auto journal = Journal::create(options.journal_path, header, table.records());
  const bool goes_on = same_boot && contents->whole && contents->header.id() == header.id();
  if (!journal && goes_on) {
    log_line(journal.error().message + ": going on with the journal as it is");
    journal = Journal::resume(options.journal_path, *contents);
  }
  if (!journal) return failure(journal.error());
  std::unique_ptr<Supervisor> supervisor(
      new Supervisor(loop, std::move(options), std::move(*journal), std::move(table)));
  supervisor->journal_id_ = header.id();
  supervisor->recover(same_boot);
  return supervisor;
}

Supervisor::Supervisor(os::EventLoop& loop, Options options, Journal journal, LaunchTable table)
    : loop_(loop),
      options_(std::move(options)),
      instance_(random_name()),
      table_(std::move(table)),
      journal_(std::move(journal)),
      spawner_(std::string(kLaunchMarker) + "=" + options_.home_id + "/"),
      child_list_(options_.use_kernel_child_list),
      tmp_dirs_(options_.home_id),
      groups_(options_.home_id, options_.shared),
      cpus_(processors_of_machine()),
      timer_(loop.make_timer([this] { schedule_clearing(); })),
      early_timer_(loop.make_timer([this] { deliver_early_signals(); })),
      idle_timer_(loop.make_timer([this] {
        if (jobs_.empty()) tmp_dirs_.remove_spares();
      })) {}

void Supervisor::set_daemon(Sink sink, pid_t daemon) {
  sink_ = std::move(sink);
  daemon_ = daemon;
  if (sink_) return;
  if (auto status = journal_.sync(); !status) log_line(status.error().message);
}

void Supervisor::record(const JournalRecord& record) {
  if (auto status = node::record(record, journal_, table_); !status) log_line(status.error().message);
  if (sink_ || sync_scheduled_) return;
  // No daemon commits it, so it must survive a power cut here. One sync serves a burst.
  sync_scheduled_ = true;
  loop_.defer([this] {
    sync_scheduled_ = false;
    if (auto status = journal_.sync(); !status) log_line(status.error().message);
  });
}

Status Supervisor::prepare(const LaunchOrder& order, size_t descriptors, Confinement& confinement) {
  if (Status good = check_order(order, descriptors); !good) return good;
  JobKey key{order.id().job_id(), order.id().run()};
  auto [at, is_new] = jobs_.try_emplace(key);
  Job& job = at->second;
  if (job.ending) return failure("the job is ending", EBUSY);
  if (is_new) {
    job.key = key;
    job.start = std::chrono::steady_clock::now();
  }
  if (order.has_identity()) job.identity = order.identity();
  if (const Status made = make_directories(order, job); !made) return made;
  if (order.offline() && !job.network) {
    if (const Status made = join_network(order, job); !made) return made;
  }
  if (job.cpus.empty()) {
    for (int i = 0; i < order.job_cpus_size(); ++i) {
      const bool told = i < order.job_near_cpus_size();
      job.cpus.push_back(
          cpus_.take(order.job_cpus(i), told ? parse_cpus(order.job_near_cpus(i)) : std::set<uint32_t>()));
    }
  }
  auto made = groups_.make(order, job.cpus);
  if (!made) return failure("no control group: " + made.error().message, made.error().code);
  confinement = {.groups = std::move(*made),
                 .cpus = job.cpus,
                 .binds = job.binds,
                 .network = job.network ? job.network->space.get() : -1};
  if (::geteuid() == 0 && can_name_hosts()) {
    confinement.host_names = true;
    if (!order.hosts().empty()) confinement.binds.push_back({order.hosts(), "/etc/hosts"});
  }
  if (order.has_identity()) add_closed_directories(order, confinement.binds);
  add_namespaces(order, confinement);
  if (order.id().kind() == model::STEP_BATCH) remember_streams(order);
  return {};
}

Status Supervisor::make_directories(const LaunchOrder& order, Job& job) {
  if (order.tmp_dir().empty() || !job.tmp_dir.empty()) return {};
  std::optional<Owner> owner;
  if (order.has_identity()) owner = Owner{order.identity().uid(), order.identity().gid()};
  const bool limited = owner && order.tmp_bytes() != 0;
  if (auto made = limited ? make_tmp_image(order.tmp_dir(), order.tmp_bytes(), *owner)
                          : tmp_dirs_.make(order.tmp_dir(), owner);
      !made)
    return made;
  job.tmp_dir = order.tmp_dir();  // only directories made here are removed later
  sweep(job.tmp_dir.substr(0, job.tmp_dir.rfind('/')));
  if (!order.private_directories() || !owner) return {};
  std::vector<std::string> own = private_directories(job);
  if (limited) own.back() = tmp_image_private(order.tmp_dir());
  if (auto made = make_memory_dir(options_.memory_dir); !made) return made;
  const char* const targets[] = {"/dev/shm", "/tmp"};
  for (size_t i = 0; i < own.size(); ++i) {
    if (auto made = tmp_dirs_.make(own[i], owner); !made) return made;
    job.binds.push_back({own[i], targets[i]});
  }
  return {};
}

// A missing directory needs no hiding, and nothing could be mounted on it.
void Supervisor::add_closed_directories(const LaunchOrder& order, std::vector<Bind>& binds) const {
  const auto there = [](const std::string& path) { return ::access(path.c_str(), F_OK) == 0; };
  for (const std::string& path : order.hidden_directories()) {
    const std::string empty = options_.memory_dir + "/empty";
    if (!there(path)) continue;
    if (make_memory_dir(options_.memory_dir) && (::mkdir(empty.c_str(), 0) == 0 || errno == EEXIST) &&
        ::chmod(empty.c_str(), 0555) == 0)
      binds.push_back({empty, path, true});
  }
  for (const std::string& path : order.read_only_directories())
    if (there(path)) binds.push_back({path, path, true});
}

std::vector<std::string> Supervisor::private_directories(const Job& job) const {
  const std::string name = std::to_string(job.key.job_id) + "." + std::to_string(job.key.run);
  return {options_.memory_dir + "/" + name, job.tmp_dir + ".tmp"};
}

void Supervisor::remember_streams(const LaunchOrder& order) {
  Job& job = jobs_.at({order.id().job_id(), order.id().run()});
  const TaskOrder& task = order.tasks(0);
  job.batch_stderr = task.stderr().same_as_stdout() ? task.stdout().path() : task.stderr().path();
  job.message_prefix = order.script_error_prefix();
}

void Supervisor::launch(LaunchOrder order, std::vector<os::UniqueFd> descriptors) {
  LaunchKey key = LaunchKey::of(order.id());
  if (const LaunchState* known = table_.find(key)) {
    known->announced ? tell_ended(*known) : tell_started(*known);
    return;
  }
  JournalRecord launching = launching_record(order);
  // Nothing is launched that is not in the journal: a later launcher would not know of it.
  Status ready = node::record(launching, journal_, table_);
  LaunchState& launch = *table_.find(key);
  Confinement confinement;
  if (ready) ready = prepare(order, descriptors.size(), confinement);
  if (ready) {
    start_tasks(launch, order, descriptors, confinement);
    return;
  }
  JournalRecord record_of_failure;
  LaunchFailed& failed = *record_of_failure.mutable_failed();
  *failed.mutable_id() = key.id();
  failed.set_launch_error(ready.error().message);
  failed.set_error_number(static_cast<uint32_t>(std::max(0, ready.error().code)));
  failed.set_end_time(now_seconds());
  record(record_of_failure);
  launch_ended(launch);
}

void Supervisor::start_tasks(LaunchState& launch, const LaunchOrder& order,
                             const std::vector<os::UniqueFd>& descriptors, const Confinement& confinement) {
  Job& job = jobs_.at(launch.key.job);
  std::vector<pid_t> pids = spawner_.spawn(order, descriptors, confinement);
  JournalRecord record_of_pids;
  Running& running = *record_of_pids.mutable_running();
  *running.mutable_id() = launch.key.id();
  running.set_boot_ticks(boot_ticks_now());
  for (pid_t pid : pids) running.add_pids(static_cast<uint32_t>(std::max(pid, 0)));
  record(record_of_pids);
  for (uint32_t position = 0; position < pids.size(); ++position) {
    pid_t pid = pids[position];
    if (pid <= 0) {
      task_failed(launch, position, Error{-pid, std::string("cannot fork: ") + std::strerror(-pid)});
      continue;
    }
    roots_[pid] = {launch.key, position};
    sessions_[pid] = job.key;
    job.sessions.push_back(pid);
    ++job.live_roots;
  }
  launch.ended() ? launch_ended(launch) : tell_started(launch);
}

void Supervisor::task_failed(LaunchState& launch, uint32_t position, const Error& error) {
  JournalRecord record_of_end;
  TaskEnded& ended = *record_of_end.mutable_task_ended();
  *ended.mutable_id() = launch.key.id();
  ended.set_position(position);
  ended.mutable_end()->set_rank(launch.tasks[position].rank);
  ended.mutable_end()->set_status(1 << 8);
  ended.mutable_end()->set_end_time(now_seconds());
  ended.mutable_end()->set_error(error.message);
  ended.mutable_end()->set_error_number(static_cast<uint32_t>(error.code));
  record(record_of_end);
}

void Supervisor::launch_ended(LaunchState& launch) {
  auto job = jobs_.find(launch.key.job);
  if (launch.ends_job && job != jobs_.end()) {
    job->second.ended.push_back(launch.key);
    begin_end(job->second);
    return;
  }
  kill_rest_of(launch);
  launch.announced = true;
  tell_ended(launch);
}

void Supervisor::end_job(const EndJobOrder& order) {
  JobKey key{order.job_id(), order.run()};
  auto [at, is_new] = jobs_.try_emplace(key);
  Job& job = at->second;
  if (is_new) {  // its steps were all collected; some may be of an earlier launcher
    job.key = key;
    job.start = std::chrono::steady_clock::now();
    job.of_earlier_launcher = true;
  }
  if (job.tmp_dir.empty()) job.tmp_dir = order.tmp_dir();
  job.asked_to_end = true;
  begin_end(job);
}

void Supervisor::collect(const CollectOrder& order) {
  JournalRecord collected;
  for (const LaunchId& id : order.ids()) {
    const LaunchState* launch = table_.find(LaunchKey::of(id));
    if (launch != nullptr && launch->announced) *collected.mutable_collected()->add_ids() = id;
  }
  if (!collected.has_collected()) return;
  record(collected);
  if (!journal_.overgrown()) return;
  if (auto status = journal_.rewrite(table_.records()); !status) log_line(status.error().message);
}

Inventory Supervisor::inventory() {
  Inventory inventory;
  inventory.set_instance(instance_);
  inventory.set_pid(static_cast<uint32_t>(::getpid()));
  inventory.set_journal_id(journal_id_);
  for (const auto& [key, launch] : table_.all()) *inventory.add_launches() = to_message(launch, true);
  if (const ControlGroups* groups = groups_.groups()) {
    inventory.set_groups_version(static_cast<uint32_t>(groups->version()));
    inventory.set_hides_devices(groups->devices_problem().empty());
    inventory.set_devices_problem(groups->devices_problem());
    for (const auto& [controller, directory] : groups->bases()) {
      GroupBase& base = *inventory.add_group_bases();
      base.set_controller(controller);
      base.set_directory(directory);
    }
  }
  if (!groups_.groups()) inventory.set_devices_problem(groups_.problem());
  return inventory;
}

bool Supervisor::idle() const {
  return roots_.empty() && jobs_.empty() && table_.empty();
}

void Supervisor::tell_started(const LaunchState& launch) {
  if (!sink_) return;
  LauncherMessage message;
  *message.mutable_started() = to_message(launch, false);
  sink_(message);
}

void Supervisor::tell_ended(const LaunchState& launch) {
  if (!sink_) return;
  LauncherMessage message;
  *message.mutable_ended() = to_message(launch, false);
  sink_(message);
}

std::vector<pid_t> Supervisor::live_roots(const LaunchState& launch) const {
  std::vector<pid_t> pids;
  for (const auto& task : launch.tasks) {
    // If the task has ended, the pid may belong to another process.
    if (task.pid != 0 && !task.end && roots_.contains(task.pid)) pids.push_back(task.pid);
  }
  return pids;
}

}  // namespace minke::node
