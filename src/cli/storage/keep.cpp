// minke storage-keep: what is due by the calendar in the cluster's tiers: snapshots, and the purge of scratch
// with its notices. The daemon starts it (engine/embedded/storage_keeping.h); it says at its end in how many
// seconds it has something to do again.
//
// Where it is stands in storage-state/ in the cluster's home. A step is noted when it has been done: one that
// was killed is done again, which does no harm. In a shared cluster what touches a user's scratch runs with
// that user's rights.
#include <fcntl.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "cli/fetch.h"
#include "cli/mail/notice.h"
#include "cli/mail/send.h"
#include "cli/storage/my_tiers.h"
#include "cli/storage/names.h"
#include "cli/storage/storage.h"
#include "cli/storage/tier_places.h"
#include "engine/embedded/config.h"
#include "node/discovery.h"
#include "os/become.h"
#include "os/fd.h"
#include "os/files.h"
#include "os/minke_home.h"
#include "storage/purge.h"
#include "storage/purge_calendar.h"
#include "storage/snapshots.h"
#include "storage/words.h"

namespace minke::cli {

namespace {

constexpr char kName[] = "minke storage-keep";
constexpr int64_t kMostSeconds = 24 * 3600;
constexpr size_t kMaxFileBytes = 4 << 20;

struct Keeper {
  engine::Configuration config;
  std::string home;
  std::vector<storage::Tier> tiers;
  bool shared = false;
  int64_t now = 0;
  int64_t next = 0;  // when something is due again
  bool failed = false;

  void say(const std::string& message) {
    failed = true;
    print_error(kName, message);
  }
  void due(int64_t time) { next = std::min(next, std::max(time, now + 1)); }
};

// ---- purge --------------------------------------------------------------------------------------------

struct Found {
  uint64_t files = 0, space = 0;
};

// With the rights of the place's owner, in a child: for what is theirs nobody else's rights are used.
bool purge_place(const Keeper& keeper, const TierPlace& place, int64_t before, bool remove, int record,
                 Found& found) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  const os::UniqueFd reader(ends[0]);
  os::UniqueFd writer(ends[1]);
  const pid_t self = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return false;
  if (child == 0) {
    if (keeper.shared) {
      std::vector<gid_t> groups(256);
      int count = static_cast<int>(groups.size());
      if (::getgrouplist(place.user.c_str(), place.gid, groups.data(), &count) < 0) count = 0;
      groups.resize(static_cast<size_t>(count));
      if (groups.empty()) groups.push_back(place.gid);
      if (!os::become(place.uid, place.gid, groups)) ::_exit(1);
    }
    // It ends with the keeper, whose lock it has, too: the next one goes on.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != self) ::_exit(1);
    storage::PurgeResult result;
    const Status purged =
        storage::purge_tree(place.path, {.before = before, .remove = remove, .record = record}, result);
    if (!purged) print_error(kName, storage::shown_path(place.path) + ": " + purged.error().message);
    report_errors(kName, result.failures.kept(), result.failures.count());
    const Found told{result.files, result.space};
    const bool said = ::write(writer.get(), &told, sizeof told) == sizeof told;
    ::_exit(purged && said ? 0 : 1);
  }
  writer.reset();
  const bool told = ::read(reader.get(), &found, sizeof found) == sizeof found;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return told && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void send_notice(Keeper& keeper, const storage::PurgeState& state, const TierPlace& place, const Found& found,
                 const std::string& list, uint32_t days, bool last) {
  if (!keeper.config.mail) return;
  char host[256] = "localhost";
  ::gethostname(host, sizeof host - 1);
  Notice notice;
  notice.to = place.user;
  notice.host = host;
  notice.now = keeper.now;
  const std::string amount =
      storage::counted(found.files, "file") + " (" + storage::bytes_text(found.space) + ")";
  notice.subject =
      std::string(last ? "Last notice: " : "") + amount + " in " + place.path + " will be removed";
  notice.body = amount + " in " + place.path + " were not used for " + storage::counted(days, "day") +
                ". What is still not used by then will be removed " +
                (last ? "after the end of the 15th, in three days at the earliest"
                      : "after the end of the 15th of this month") +
                ".\n\nThey are listed in " + list +
                "\nWhat you still need: use it, or copy it to your project or home.\n";
  notice.id = "purge." + std::to_string(state.month) + (last ? ".2." : ".1.") + place.user;
  auto ready = compose_notice(notice, keeper.config.mail->settings);
  if (!ready) return keeper.say("mail to " + place.user + ": " + ready.error().message);
  const auto outcome = make_mail_sender(keeper.config.mail->settings)->send(*ready);
  if (outcome.delivery != Delivery::kSent) keeper.say("mail to " + place.user + ": " + outcome.reason);
}

// The list of what is to go, in a directory that nobody but the cluster writes to.
void give_notice(Keeper& keeper, const storage::Tier& tier, const storage::PurgeState& state, bool last) {
  for (const TierPlace& place : tier_places(tier, keeper.tiers, keeper.shared)) {
    const std::string list = purge_list(place.path);
    const std::string lists = list.substr(0, list.rfind('/'));
    if (const Status made = os::make_directories(lists, 0755); !made) {
      keeper.say(made.error().message);
      continue;
    }
    const std::string fresh = list + ".new";
    (void)::unlink(fresh.c_str());
    const os::UniqueFd record(
        ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0440));
    if (!record || (keeper.shared && ::fchown(record.get(), place.uid, place.gid) != 0)) {
      keeper.say(fresh + ": " + std::strerror(errno));
      continue;
    }
    Found found;
    if (!purge_place(keeper, place, state.before, false, record.get(), found)) {
      keeper.say(storage::shown_path(place.path) + ": it could not be looked through");
      continue;
    }
    if (found.files == 0) {
      (void)::unlink(fresh.c_str());
      (void)::unlink(list.c_str());
      continue;
    }
    if (::rename(fresh.c_str(), list.c_str()) != 0) keeper.say(list + ": " + std::strerror(errno));
    send_notice(keeper, state, place, found, list, tier.purge_days, last);
  }
}

bool remove_all(Keeper& keeper, const storage::Tier& tier, const storage::PurgeState& state) {
  const std::string path = keeper.home + "/purge.log";
  const os::UniqueFd record(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!record) {
    keeper.say(path + ": " + std::strerror(errno));
    return false;
  }
  bool all = true;
  for (const TierPlace& place : tier_places(tier, keeper.tiers, keeper.shared)) {
    const std::string list = purge_list(place.path);
    // Who was not told loses nothing.
    if (::access(list.c_str(), F_OK) != 0) continue;
    Found found;
    if (!purge_place(keeper, place, state.before, true, record.get(), found)) {
      keeper.say(storage::shown_path(place.path) + ": it could not be purged");
      all = false;
      continue;
    }
    (void)::unlink(list.c_str());
  }
  return all;
}

void keep_purge(Keeper& keeper, const storage::Tier& tier) {
  const std::string path = keeper.home + "/storage-state/purge-" + tier.name;
  storage::PurgeState state;
  if (const auto text = os::read_file(path, kMaxFileBytes))
    state = storage::parse_purge_state(*text).value_or(storage::PurgeState{});
  for (;;) {
    const storage::PurgeStep step = storage::purge_step(state, keeper.now);
    if (step == storage::PurgeStep::kNone) break;
    const storage::PurgeState after = storage::after_purge_step(state, step, keeper.now, tier.purge_days);
    if (step == storage::PurgeStep::kRemove) {
      if (!remove_all(keeper, tier, state)) return keeper.due(keeper.now + 3600);
    } else {
      give_notice(keeper, tier, after, step == storage::PurgeStep::kSecondNotice);
    }
    state = after;
    if (const Status noted = os::replace_file(path, storage::format_purge_state(state), 0600); !noted)
      return keeper.say(noted.error().message);
  }
  keeper.due(storage::next_purge_step(state, keeper.now));
}

// ---- snapshots ----------------------------------------------------------------------------------------

void keep_snapshots(Keeper& keeper, const storage::Tier& tier) {
  for (const TierPlace& place : tier_places(tier, keeper.tiers, keeper.shared)) {
    std::vector<int64_t> times = storage::list_snapshots(place.path);
    storage::Failures failures;
    if (storage::next_snapshot(times, tier.snapshots, keeper.now) <= keeper.now) {
      const Status made = storage::make_snapshot(place.path, keeper.now, keeper.home, failures);
      if (made) {
        times.push_back(keeper.now);
      } else {
        keeper.say(storage::shown_path(place.path) + ": " + storage::shown_path(made.error().message));
        keeper.due(keeper.now + 3600);
        continue;
      }
    }
    for (const int64_t old : storage::expired_snapshots(times, tier.snapshots, keeper.now)) {
      if (const Status removed = storage::remove_snapshot(place.path, old, failures); !removed)
        keeper.say(storage::shown_path(place.path) + ": " + removed.error().message);
    }
    report_errors(kName, failures.kept(), failures.count());
    keeper.due(storage::next_snapshot(times, tier.snapshots, keeper.now));
  }
}

}  // namespace

std::string purge_list(const std::string& path) {
  const size_t slash = path.rfind('/');
  return path.substr(0, slash) + "/to_delete" + path.substr(slash);
}

// Arguments: the cluster's home, its configuration, and, for trials, the time that it is to be (s).
int storage_keep_main(int argc, char** argv) {
  if (argc < 3) return 2;
  std::signal(SIGPIPE, SIG_IGN);  // a mail program may not want all of it
  Keeper keeper;
  keeper.home = argv[1];
  keeper.shared = os::is_shared(keeper.home);
  keeper.now = argc > 3 ? std::strtoll(argv[3], nullptr, 10) : std::time(nullptr);
  keeper.next = keeper.now + kMostSeconds;
  const auto text = os::read_file(argv[2], kMaxFileBytes);
  const model::NodeRecord machine = node::discover_machine();
  auto config = text ? engine::parse_configuration(*text, argv[2], machine)
                     : Result<engine::Configuration>(failure(text.error()));
  if (!config) {
    print_error(kName, config.error().message);
    return 1;
  }
  keeper.config = std::move(*config);
  keeper.tiers = keeper.config.storage.tiers(keeper.home);
  os::raise_descriptor_limit();
  ::umask(0022);
  // Whoever else is at it, for a trial: one at a time.
  if (const Status made = os::make_directories(keeper.home + "/storage-state", 0700); !made) {
    print_error(kName, made.error().message);
    return 1;
  }
  const auto lock = os::lock_file(keeper.home + "/storage-state/lock");
  if (!lock) {
    print_error(kName, lock.error().message);
    return 1;
  }
  for (const storage::Tier& tier : keeper.tiers) {
    if (keeper.config.storage.snapshots && !tier.snapshots.empty()) keep_snapshots(keeper, tier);
    if (keeper.config.storage.purge && tier.purge_days > 0) keep_purge(keeper, tier);
  }
  std::printf("%lld\n", static_cast<long long>(keeper.next - keeper.now));
  return keeper.failed ? 1 : 0;
}

}  // namespace minke::cli
