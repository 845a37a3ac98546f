// bring_usage(): what has been used, into slurmctld's own files while it is stopped. What those held before
// is kept beside the snapshot, and each call writes the sum of both: twice is as once.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <ctime>

#include "accounts/fair_tree.h"
#include "grow/carry/accounts_there.h"
#include "grow/carry/carry.h"
#include "grow/carry/commands.h"
#include "grow/carry/controller.h"
#include "grow/carry/database.h"
#include "grow/carry/parts.h"
#include "grow/carry/slurm_numbers.h"
#include "grow/carry/snapshot.h"
#include "grow/carry/usage_file.h"
#include "os/files.h"
#include "text/number.h"

namespace minke::grow {
namespace {

constexpr size_t kLongestFile = size_t{1} << 30;
constexpr size_t kLongestMarker = 4096;
constexpr mode_t kFileOfRoot = 0600;

struct Use {
  std::string what;  // "user ann in physics"
  uint32_t id = 0;   // in the new Slurm
  const model::UsageRecord* record = nullptr;
  const model::UsageRecord* earlier = nullptr;  // what has been brought of it before
};

uint32_t whole_seconds(long double seconds) {
  return static_cast<uint32_t>(std::clamp(seconds, 0.0L, 4294967290.0L));
}

UsageFile::Record decayed(const model::UsageRecord& record, const Snapshot& snapshot,
                          const SlurmNumbers& numbers, int64_t now) {
  const auto age = static_cast<double>(std::max<int64_t>(0, now - record.time()));
  const long double left = accounts::decayed_usage(1, age, static_cast<double>(snapshot.cluster().half_life));
  UsageFile::Record out{
      .id = 0, .raw = record.raw() * left, .tres = {}, .wall = whole_seconds(record.wall_seconds() * left)};
  for (const model::TresSeconds& one : record.tres()) {
    if (const auto number = numbers.tres.find(one.name()); number != numbers.tres.end())
      out.tres[number->second] += one.seconds() * left;
  }
  return out;
}

UsageFile::Record in_slurms_words(const Use& use, const Snapshot& snapshot, const SlurmNumbers& numbers,
                                  int64_t now) {
  UsageFile::Record out = decayed(*use.record, snapshot, numbers, now);
  out.id = use.id;
  if (use.earlier == nullptr) return out;
  const UsageFile::Record earlier = decayed(*use.earlier, snapshot, numbers, now);
  out.raw = std::max(0.0L, out.raw - earlier.raw);
  out.wall -= std::min(out.wall, earlier.wall);
  for (auto& [id, seconds] : out.tres)
    if (const auto found = earlier.tres.find(id); found != earlier.tres.end())
      seconds = std::max(decltype(found->second + 0){0}, seconds - found->second);
  return out;
}

void add(UsageFile& file, const UsageFile::Record& more) {
  auto found = std::find_if(file.records.begin(), file.records.end(),
                            [&](const auto& one) { return one.id == more.id; });
  if (found == file.records.end())
    found = file.records.insert(found, UsageFile::Record{.id = more.id, .raw = 0, .tres = {}, .wall = 0});
  found->raw += more.raw;
  for (const auto& [id, seconds] : more.tres) found->tres[id] += seconds;
  found->wall = whole_seconds(static_cast<long double>(found->wall) + more.wall);
}

// slurmctld reads it as its own user.
Status replace_as_it_was(const std::string& path, const std::string& bytes) {
  struct stat before = {};
  if (::stat(path.c_str(), &before) != 0) return failure_from_errno(path, errno);
  const std::string fresh = path + ".minke";
  if (const Status written = os::replace_file(fresh, bytes, before.st_mode & 07777); !written) return written;
  if (::chown(fresh.c_str(), before.st_uid, before.st_gid) != 0 || ::rename(fresh.c_str(), path.c_str()) != 0)
    return failure_from_errno(path, errno);
  return {};
}

// While slurmctld is stopped.
Status add_to_file(const Controller& controller, const std::string& name, const Snapshot& snapshot,
                   const std::vector<Use>& uses, const SlurmNumbers& numbers) {
  const std::string path = controller.state_directory() + "/" + name;
  const std::string kept = snapshot.directory() + "/" + name + ".before";
  if (::access(kept.c_str(), F_OK) != 0) {
    const auto bytes = os::read_file(path, kLongestFile);
    if (!bytes) return failure(path + ": " + bytes.error().message, bytes.error().code);
    if (const auto sound = parse_usage_file(*bytes); !sound)
      return failure(path + ": " + sound.error().message);
    if (const Status done = os::replace_file(kept, *bytes, kFileOfRoot); !done) return done;
  }
  const auto before = os::read_file(kept, kLongestFile);
  if (!before) return failure(kept + ": " + before.error().message, before.error().code);
  auto file = parse_usage_file(*before);
  if (!file) return failure(kept + ": " + file.error().message);
  const int64_t now = std::time(nullptr);
  for (const Use& use : uses) add(*file, in_slurms_words(use, snapshot, numbers, now));
  return replace_as_it_was(path, format_usage_file(*file));
}

// A user without shares in each account that people have left who used something: what they used counts for
// the account as before. Whether there are new ones.
Result<bool> add_removed_people(const Snapshot& snapshot, const NewSlurm& slurm,
                                const SlurmNumbers& numbers) {
  const Commands commands(slurm);
  bool any = false;
  for (const model::AssociationRecord& one : snapshot.associations) {
    const auto used = snapshot.usage.find(one.id());
    if (!one.user().empty() || used == snapshot.usage.end() || used->second.raw() <= 0 ||
        numbers.associations.contains({one.account(), kRemovedPeople, ""}))
      continue;
    const Status added =
        commands.change({"sacctmgr", "-i", "-Q", "add", "user", std::string("name=") + kRemovedPeople,
                         "account=" + one.account(), "cluster=" + snapshot.cluster().name, "fairshare=0"});
    if (!added) return failure(added.error());
    any = true;
  }
  return any;
}

struct Uses {
  std::vector<Use> associations, qos;
  std::vector<std::string> remarks;
};

Uses uses_of(const Snapshot& snapshot, const Snapshot* before, const SlurmNumbers& numbers) {
  Uses uses;
  const auto earlier = [](const std::map<uint32_t, model::UsageRecord>* records, uint32_t id) {
    if (records == nullptr) return static_cast<const model::UsageRecord*>(nullptr);
    const auto found = records->find(id);
    return found == records->end() ? nullptr : &found->second;
  };
  for (const model::AssociationRecord& one : snapshot.associations) {
    const auto used = snapshot.usage.find(one.id());
    if (used == snapshot.usage.end() || used->second.raw() <= 0) continue;
    const std::string user = one.user().empty() ? kRemovedPeople : one.user();
    const std::string what = "user " + user + " in " + one.account();
    const auto id = numbers.associations.find({one.account(), user, one.partition()});
    if (id == numbers.associations.end()) {
      uses.remarks.push_back(what + ": is not there; bring the accounts first");
    } else {
      uses.associations.push_back(
          {what, id->second, &used->second, earlier(before == nullptr ? nullptr : &before->usage, one.id())});
    }
  }
  for (const model::QosRecord& one : snapshot.qos) {
    const auto used = snapshot.qos_usage.find(one.id());
    if (used == snapshot.qos_usage.end() || used->second.raw() <= 0) continue;
    const auto id = numbers.qos.find(one.name());
    if (id == numbers.qos.end()) {
      uses.remarks.push_back("QOS " + one.name() + ": is not there; bring the accounts first");
    } else {
      uses.qos.push_back({"QOS " + one.name(), id->second, &used->second,
                          earlier(before == nullptr ? nullptr : &before->qos_usage, one.id())});
    }
  }
  return uses;
}

}  // namespace

Result<Brought> bring_usage(const std::string& directory, const NewSlurm& slurm) {
  return bring_usage_since(directory, nullptr, slurm);
}

Result<Brought> bring_usage_since(const std::string& directory, const Snapshot* before,
                                  const NewSlurm& slurm) {
  const auto snapshot = Snapshot::open(directory);
  if (!snapshot) return failure(snapshot.error());
  const auto database = Database::open(slurm, directory);
  if (!database) return failure(database.error());
  auto numbers = slurm_numbers(*database, snapshot->cluster().name);
  if (!numbers) return failure(numbers.error());
  const auto added = add_removed_people(*snapshot, slurm, *numbers);
  if (!added) return failure(added.error());
  if (*added) {
    numbers = slurm_numbers(*database, snapshot->cluster().name);
    if (!numbers) return failure(numbers.error());
  }
  Uses uses = uses_of(*snapshot, before, *numbers);
  Brought brought;
  brought.remarks = std::move(uses.remarks);
  const std::string kept_controller = directory + "/slurmctld-stopped";
  auto controller = Controller::find(slurm);
  if (!controller) {
    // A call that was killed has stopped it.
    if (::access(kept_controller.c_str(), F_OK) != 0) return failure(controller.error());
    if (const Status started = Controller::start_it(slurm); !started) return failure(started.error());
    controller = Controller::find(slurm);
    if (!controller) return failure(controller.error());
  }
  const std::string marker = controller->state_directory() +
                             (before == nullptr ? "/minke_usage_brought" : "/minke_left_usage_brought");
  const std::string this_snapshot = snapshot->cluster().name + " " + std::to_string(snapshot->time()) + "\n";
  if (const auto known = os::read_file(marker, kLongestMarker)) {
    brought.there_already = uses.associations.size() + uses.qos.size();
    if (*known != this_snapshot)
      brought.remarks.emplace_back(
          "usage was brought before, from another snapshot: it is not counted twice");
    return brought;
  }
  if (const Status noted = os::replace_file(kept_controller, "", kFileOfRoot); !noted)
    return failure(noted.error());
  if (const Status stopped = controller->stop(); !stopped) return failure(stopped.error());
  Status written = add_to_file(*controller, "assoc_usage", *snapshot, uses.associations, *numbers);
  if (written) written = add_to_file(*controller, "qos_usage", *snapshot, uses.qos, *numbers);
  // From here on slurmctld counts what is used on top of it.
  if (written) written = os::replace_file(marker, this_snapshot, kFileOfRoot);
  if (const Status started = controller->start(); !started) return failure(started.error());
  ::unlink(kept_controller.c_str());
  if (!written) return failure(written.error());
  brought.added = uses.associations.size() + uses.qos.size();
  return brought;
}

}  // namespace minke::grow
