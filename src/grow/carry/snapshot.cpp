#include "grow/carry/snapshot.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "api/jobs.pb.h"
#include "api/machine.pb.h"
#include "engine/engine.h"
#include "grow/carry/message_file.h"
#include "os/files.h"
#include "os/minke_home.h"
#include "store/repair.h"

namespace minke::grow {
namespace {

constexpr mode_t kDirectoryOfRoot = 0700;
constexpr mode_t kFileOfRoot = 0600;
constexpr size_t kLongestManifest = size_t{1} << 16;
constexpr int kForm = 1;

std::string database_of(const std::string& directory) {
  return directory + "/cluster.db";
}
std::string record_of(const std::string& directory) {
  return directory + "/record";
}
std::string queue_of(const std::string& directory) {
  return directory + "/queue";
}
std::string manifest_of(const std::string& directory) {
  return directory + "/snapshot.json";
}

// Somebody else's directory may be one that he reads, or changes meanwhile.
Status check_private(const std::string& directory) {
  struct stat about = {};
  if (::lstat(directory.c_str(), &about) != 0) return failure_from_errno(directory, errno);
  if (!S_ISDIR(about.st_mode)) return failure(directory + " is no directory", ENOTDIR);
  if (about.st_uid != ::geteuid() || (about.st_mode & 077) != 0)
    return failure(directory + " must belong to root and be closed to all others: chmod 700 " + directory,
                   EPERM);
  return {};
}

bool is_active(const model::JobRecord& record) {
  return record.state() == model::JOB_PENDING || record.state() == model::JOB_RUNNING ||
         record.state() == model::JOB_SUSPENDED || record.completing();
}

Status keep_record(engine::Engine& cluster, const std::string& path) {
  auto file = MessageFile::create(path);
  if (!file) return failure(file.error());
  api::QueryAccountingRequest all;
  all.set_with_steps(true);
  all.set_duplicates(true);
  const Status taken = cluster.accounting(all, [&](api::AccountingReply& part) -> Status {
    for (const api::AccountedJob& job : part.jobs()) {
      if (is_active(job.job())) continue;
      if (const Status kept = file->add(job.SerializeAsString()); !kept) return kept;
    }
    return {};
  });
  return taken ? file->finish() : taken;
}

Status keep_queue(engine::Engine& cluster, const std::string& path) {
  auto file = MessageFile::create(path);
  if (!file) return failure(file.error());
  api::QueryJobsRequest all;
  const Status taken = cluster.jobs(all, [&](api::JobsReply& part) -> Status {
    for (const model::JobRecord& job : part.jobs()) {
      if (!is_active(job)) continue;
      if (const Status kept = file->add(job.SerializeAsString()); !kept) return kept;
    }
    return {};
  });
  return taken ? file->finish() : taken;
}

Result<std::map<std::string, uint64_t>> machine_of(engine::Engine& cluster) {
  std::map<std::string, uint64_t> machine;
  const Status taken = cluster.nodes([&](api::NodesReply& part) -> Status {
    for (const model::NodeRecord& node : part.nodes()) {
      machine["cpu"] += node.cpus();
      machine["billing"] += node.cpus();
      machine["mem"] += node.memory_mib();
      ++machine["node"];
      for (const model::Gres& one : node.gres()) machine["gres/" + one.name()] += one.count();
    }
    return {};
  });
  if (!taken) return failure(taken.error());
  return machine;
}

}  // namespace

Status take_snapshot(engine::Engine& cluster, const OldCluster& old, const std::string& directory) {
  if (const Status made = os::make_directories(directory, kDirectoryOfRoot); !made) return made;
  if (const Status ours = check_private(directory); !ours) return ours;
  if (::access(manifest_of(directory).c_str(), F_OK) == 0) return {};
  // What an interrupted call left is no snapshot.
  for (const char* end : {"", "-wal", "-shm", "-lock"}) ::unlink((database_of(directory) + end).c_str());
  if (const Status copied = store::back_up(os::database_path(old.home), database_of(directory)); !copied)
    return copied;
  if (const Status kept = keep_record(cluster, record_of(directory)); !kept) return kept;
  if (const Status kept = keep_queue(cluster, queue_of(directory)); !kept) return kept;
  const auto machine = machine_of(cluster);
  if (!machine) return failure(machine.error());
  const nlohmann::json manifest = {{"form", kForm},
                                   {"home", old.home},
                                   {"cluster", old.name},
                                   {"half_life", old.half_life},
                                   {"weight_age", old.weight_age},
                                   {"max_age", old.max_age},
                                   {"machine", *machine},
                                   {"time", static_cast<int64_t>(std::time(nullptr))}};
  return os::replace_file(manifest_of(directory), manifest.dump(2) + "\n", kFileOfRoot);
}

Result<Snapshot> Snapshot::open(const std::string& directory) {
  if (const Status ours = check_private(directory); !ours) return failure(ours.error());
  const auto text = os::read_file(manifest_of(directory), kLongestManifest);
  if (!text)
    return failure(directory + " has no snapshot of a cluster: " + text.error().message, text.error().code);
  const auto manifest = nlohmann::json::parse(*text, nullptr, false);
  if (!manifest.is_object() || manifest.value("form", 0) != kForm)
    return failure(manifest_of(directory) +
                   " is of another release of Minke, or damaged: take the snapshot again");
  Snapshot snapshot;
  snapshot.directory_ = directory;
  snapshot.time_ = manifest.value("time", int64_t{0});
  snapshot.cluster_ = {.home = manifest.value("home", ""),
                       .name = manifest.value("cluster", ""),
                       .half_life = manifest.value("half_life", int64_t{0}),
                       .weight_age = manifest.value("weight_age", uint32_t{0}),
                       .max_age = manifest.value("max_age", int64_t{0})};
  if (const auto machine = manifest.find("machine"); machine != manifest.end() && machine->is_object()) {
    for (const auto& [name, count] : machine->items()) {
      if (count.is_number_unsigned()) snapshot.machine_[name] = count;
    }
  }
  auto store = store::Store::open(database_of(directory));
  if (!store) return failure(store.error());
  snapshot.store_ = std::move(*store);
  auto loaded = snapshot.store_->load();
  if (!loaded) return failure(loaded.error());
  snapshot.loaded_ = std::move(*loaded);
  if (const Status read = snapshot.read_records(); !read) return failure(read.error());
  if (const Status read = snapshot.read_queue(); !read) return failure(read.error());
  return snapshot;
}

Status Snapshot::read_records() {
  store::LoadedRows& rows = loaded_.rows;
  accounts = rows.read(store::kAccounts);
  users = rows.read(store::kUsers);
  qos = rows.read(store::kQos);
  uint32_t foreign = 0;
  for (model::AssociationRecord& one : rows.read(store::kAssociations)) {
    if (!one.cluster().empty()) {
      ++foreign;
      continue;
    }
    associations.push_back(std::move(one));
  }
  for (model::UsageRecord& one : rows.read(store::kUsage)) usage.emplace(one.id(), std::move(one));
  for (model::UsageRecord& one : rows.read(store::kQosUsage)) qos_usage.emplace(one.id(), std::move(one));
  if (foreign > 0) left_out.push_back(std::to_string(foreign) + " associations of other clusters");
  for (const model::ResourceRecord& one : rows.read(store::kResources))
    left_out.push_back("the licences " + one.name() + " of " + one.server() +
                       " (sacctmgr add resource writes them there)");
  for (const model::FederationRecord& one : rows.read(store::kFederations))
    left_out.push_back("the federation " + one.name());
  if (!rows.damaged().empty()) {
    return failure(directory_ + ": " + std::to_string(rows.damaged().size()) +
                   " records of the old cluster cannot be read (the first: " +
                   store::in_words(rows.damaged().front()) + "); repair it first: minke repair");
  }
  return {};
}

Status Snapshot::read_queue() {
  std::map<uint32_t, const store::JobRow*> rows;
  for (const store::JobRow& row : loaded_.active_jobs) rows[row.record.job_id()] = &row;
  return read_messages(queue_of(directory_), [&](const std::string& message) -> Status {
    ActiveJob job;
    if (!job.record.ParseFromString(message))
      return failure(queue_of(directory_) + " is damaged: take the snapshot again");
    if (const auto row = rows.find(job.record.job_id()); row != rows.end()) {
      job.script = row->second->script;
      job.environment = row->second->environment;
    }
    active_jobs_.push_back(std::move(job));
    return {};
  });
}

Result<std::string> Snapshot::content(const store::ContentHash& hash) const {
  auto found = store_->content(hash);
  if (!found) return failure(found.error());
  if (!*found) return failure("its contents are not in the old data base");
  return std::move(**found);
}

Result<store::Store::ArrayOutcome> Snapshot::outcome(uint32_t job_id) const {
  const auto of_array = store_->array_outcome(job_id);
  if (!of_array || of_array->ended > 0) return of_array;
  const auto job = store_->job(job_id);
  if (!job) return failure(job.error());
  store::Store::ArrayOutcome outcome;
  if (!*job || (*job)->record.array_job_id() != 0) return outcome;
  const model::JobRecord& record = (*job)->record;
  const bool active = is_active(record);
  outcome.ended = active ? 0 : 1;
  outcome.succeeded = !active && record.state() == model::JOB_COMPLETE && record.exit_code() == 0 ? 1 : 0;
  return outcome;
}

Status Snapshot::ended_jobs(const TakeJob& take) const {
  return read_messages(record_of(directory_), [&](const std::string& message) -> Status {
    api::AccountedJob job;
    if (!job.ParseFromString(message))
      return failure(record_of(directory_) + " is damaged: take the snapshot again");
    return take(job);
  });
}

Result<uint32_t> next_job_id(const std::string& directory) {
  const auto snapshot = Snapshot::open(directory);
  if (!snapshot) return failure(snapshot.error());
  return snapshot->highest_job_id() + 1;
}

}  // namespace minke::grow
