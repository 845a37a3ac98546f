// minke storage-keep: does what the calendar requires in the cluster's tiers: snapshots, and the purge of
// scratch with its notices. The daemon starts it (engine/embedded/watching/storage_keeping.h); at its end it
// prints in how many seconds the next step is due.
//
// storage-state/ in the cluster's home holds its progress. A step is noted when it has been done: a killed
// step is done again, which does no harm. In a shared cluster, whatever touches a user's scratch runs with
// that user's rights.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "config/configuration.h"
#include "config/helper_settings.h"
#include "helpers/mail/notice.h"
#include "helpers/mail/send.h"
#include "helpers/my_tiers.h"
#include "helpers/names.h"
#include "helpers/programs.h"
#include "helpers/tier_places.h"
#include "model/cluster.pb.h"
#include "node/discovery.h"
#include "os/beneath.h"
#include "os/fd.h"
#include "os/files.h"
#include "os/minke_home.h"
#include "os/user_child.h"
#include "storage/purge.h"
#include "storage/purge_calendar.h"
#include "storage/snapshots.h"
#include "storage/words.h"
#include "view/output.h"

namespace minke::helpers {

namespace {

constexpr char kName[] = "minke storage-keep";
constexpr int64_t kMostSeconds = 24 * 3600;
constexpr int64_t kLookSeconds = 60;            // how often it looks for directories that are new
constexpr int64_t kNodeSeconds = 3600;          // between two purges of a node's own directories
constexpr int64_t kAfterFailureSeconds = 3600;  // a snapshot that failed is tried again
constexpr int kOtherEndsTenths = 100;           // of a second, for which it waits for another keeper
constexpr size_t kMaxFileBytes = 4 << 20;
constexpr std::chrono::hours kPurging{1};  // of one place; the rest is left for the next time

struct Keeper {
  config::Configuration config;
  config::HelperSettings settings;
  std::string home;
  std::vector<storage::Tier> tiers;
  std::optional<KeptHere> here;  // once the configuration is read
  bool shared = false;
  int64_t now = 0;
  int64_t ahead = 0;           // of the clock, in tests
  int64_t next = 0;            // when the next step is due
  int64_t next_snapshots = 0;  // when the next snapshot is due
  bool failed = false;

  void say(const std::string& message) {
    failed = true;
    view::print_error(kName, message);
  }
  void due(int64_t time) { next = std::min(next, std::max(time, now + 1)); }
  void look_at_clock() { now = std::time(nullptr) + ahead; }
};

void keep_due_snapshots(Keeper& keeper);

// ---- purge --------------------------------------------------------------------------------------------

struct Found {
  uint64_t files = 0, space = 0;
};

// Runs with the rights of the place's owner, in a child: nobody else's rights touch the owner's files. It
// ends with the keeper, whose lock it also holds; the next keeper continues. Snapshots that come due
// meanwhile are made beside it.
bool purge_place(Keeper& keeper, const TierPlace& place, int64_t before, bool remove, int record,
                 Found& found) {
  std::optional<os::Rights> rights;
  if (keeper.shared && place.user.empty())
    return false;  // it belongs to no user in particular: there are no rights to take
  if (keeper.shared) rights = os::rights_of(place.uid, place.gid);
  const auto beside = [&keeper] {
    keep_due_snapshots(keeper);
    return true;
  };
  const os::ChildLimits limits{.time = kPurging, .bytes = sizeof found, .goes_on = beside};
  const auto purged = os::run_in_child(rights, limits, [&](int answer) {
    storage::PurgeResult result;
    const Status done =
        storage::purge_tree(place.path, {.before = before, .remove = remove, .record = record}, result);
    if (!done) view::print_error(kName, storage::shown_path(place.path) + ": " + done.error().message);
    report_errors(kName, result.failures.kept(), result.failures.count());
    const Found told{result.files, result.space};
    return done && ::write(answer, &told, sizeof told) == sizeof told ? 0 : 1;
  });
  if (!purged) view::print_error(kName, storage::shown_path(place.path) + ": " + purged.error().message);
  if (!purged || purged->exit_code != 0 || purged->said.size() != sizeof found) return false;
  std::memcpy(&found, purged->said.data(), sizeof found);
  return true;
}

void send_notice(Keeper& keeper, const storage::PurgeState& state, const TierPlace& place, const Found& sum,
                 const std::string& list, uint32_t days, bool last) {
  if (!keeper.config.mail) return;
  char host[256] = "localhost";
  ::gethostname(host, sizeof host - 1);
  Notice notice;
  notice.to = place.user;
  notice.host = host;
  notice.now = keeper.now;
  const std::string amount =
      storage::counted(sum.files, "file") + " (" + storage::bytes_text(sum.space) + ")";
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
  std::optional<os::Rights> rights;
  if (keeper.shared) {
    auto found = mail_program_rights(keeper.settings.mail_run_as);
    if (!found) return keeper.say(found.error().message);
    rights = std::move(*found);
  }
  const auto outcome = make_mail_sender(keeper.config.mail->settings, rights)->send(*ready);
  if (outcome.delivery != Delivery::kSent) keeper.say("mail to " + place.user + ": " + outcome.reason);
}

// Opens the directory of a place's lists: only the cluster writes to it, beside the place. Users may write to
// its parent, if that is a group's.
Result<os::UniqueFd> open_lists(const Keeper& keeper, const TierPlace& place) {
  const std::string list = purge_list(place.path), lists = list.substr(0, list.rfind('/'));
  const std::string above = lists.substr(0, lists.rfind('/'));
  const os::UniqueFd parent(::open(above.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const std::string name = lists.substr(lists.rfind('/') + 1);
  if (!parent || (::mkdirat(parent.get(), name.c_str(), 0755) != 0 && errno != EEXIST))
    return failure_from_errno(lists, errno);
  auto opened = os::open_beneath(parent.get(), name, O_RDONLY | O_DIRECTORY);
  if (!opened) return failure(lists + ": " + std::strerror(opened.error().code), opened.error().code);
  if (keeper.shared)
    if (const Status own = os::check_roots_directory(opened->get(), lists); !own) return failure(own.error());
  return opened;
}

// Writes the list of what is to be removed.
void give_notice(Keeper& keeper, const storage::Tier& tier, const storage::PurgeState& state, bool last) {
  for (const TierPlace& place : tier_places(tier, keeper.tiers, keeper.shared, *keeper.here)) {
    keep_due_snapshots(keeper);
    const std::string list = purge_list(place.path);
    const auto lists = open_lists(keeper, place);
    if (!lists) {
      keeper.say(lists.error().message);
      continue;
    }
    const std::string name = list.substr(list.rfind('/') + 1), fresh = name + ".new";
    (void)::unlinkat(lists->get(), fresh.c_str(), 0);
    const os::UniqueFd record(::openat(
        lists->get(), fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0440));
    if (!record || (keeper.shared && ::fchown(record.get(), place.uid, place.gid) != 0)) {
      keeper.say(list + ".new: " + std::strerror(errno));
      continue;
    }
    Found found;
    if (!purge_place(keeper, place, state.before, false, record.get(), found)) {
      keeper.say(storage::shown_path(place.path) + ": it could not be looked through");
      continue;
    }
    if (found.files == 0) {
      (void)::unlinkat(lists->get(), fresh.c_str(), 0);
      (void)::unlinkat(lists->get(), name.c_str(), 0);
      continue;
    }
    if (::renameat(lists->get(), fresh.c_str(), lists->get(), name.c_str()) != 0)
      keeper.say(list + ": " + std::strerror(errno));
    send_notice(keeper, state, place, found, list, tier.purge_days, last);
  }
}

os::UniqueFd open_log(Keeper& keeper) {
  const std::string path = keeper.home + "/purge.log";
  os::UniqueFd log(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!log) keeper.say(path + ": " + std::strerror(errno));
  return log;
}

bool remove_all(Keeper& keeper, const storage::Tier& tier, const storage::PurgeState& state) {
  const os::UniqueFd record = open_log(keeper);
  if (!record) return false;
  bool all = true;
  for (const TierPlace& place : tier_places(tier, keeper.tiers, keeper.shared, *keeper.here)) {
    keep_due_snapshots(keeper);
    const std::string list = purge_list(place.path), name = list.substr(list.rfind('/') + 1);
    const auto lists = open_lists(keeper, place);
    // Users who were not told lose nothing.
    if (!lists || ::faccessat(lists->get(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0) continue;
    Found found;
    if (!purge_place(keeper, place, state.before, true, record.get(), found)) {
      keeper.say(storage::shown_path(place.path) + ": it could not be purged");
      all = false;
      continue;
    }
    (void)::unlinkat(lists->get(), name.c_str(), 0);
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

// What lies on a node's own disk for days is copies and caches: it goes without notice, once an hour.
void keep_node_places(Keeper& keeper, const storage::Tier& tier) {
  const std::string path = keeper.home + "/storage-state/purge-" + tier.name;
  const auto text = os::read_file(path, kMaxFileBytes);
  const int64_t last = text ? std::strtoll(text->c_str(), nullptr, 10) : 0;
  if (last <= keeper.now && keeper.now < last + kNodeSeconds) return keeper.due(last + kNodeSeconds);
  keeper.due(keeper.now + kNodeSeconds);
  const os::UniqueFd record = open_log(keeper);
  if (!record) return;
  const int64_t before = keeper.now - int64_t{tier.purge_days} * 86400;
  for (const TierPlace& place : tier_places(tier, keeper.tiers, keeper.shared, *keeper.here)) {
    keep_due_snapshots(keeper);
    Found found;
    if (!purge_place(keeper, place, before, true, record.get(), found))
      keeper.say(storage::shown_path(place.path) + ": it could not be purged");
  }
  if (const Status noted = os::replace_file(path, std::to_string(keeper.now) + "\n", 0600); !noted)
    keeper.say(noted.error().message);
}

// ---- snapshots ----------------------------------------------------------------------------------------

// A snapshot that failed is not tried at each look: its place and when are noted beside the purge's state.
class FailedSnapshots {
 public:
  explicit FailedSnapshots(const Keeper& keeper) : path_(keeper.home + "/storage-state/failed-snapshots") {
    const auto text = os::read_file(path_, kMaxFileBytes);
    if (!text) return;
    std::istringstream lines(*text);
    int64_t time = 0;
    std::string place;
    while (lines >> time && lines.get() == ' ' && std::getline(lines, place)) times_[place] = time;
    before_ = times_;
  }
  // When the place is tried again; the past if it did not fail, or the clock was set back since.
  int64_t again(const std::string& place, int64_t now) const {
    const auto found = times_.find(storage::shown_path(place));
    return found == times_.end() || found->second > now ? 0 : found->second + kAfterFailureSeconds;
  }
  void made(const std::string& place) { times_.erase(storage::shown_path(place)); }
  void failed(const std::string& place, int64_t now) { times_[storage::shown_path(place)] = now; }
  Status keep() const {
    if (times_ == before_) return {};
    std::string text;
    for (const auto& [place, time] : times_) text += std::to_string(time) + " " + place + "\n";
    return os::replace_file(path_, text, 0600);
  }

 private:
  std::string path_;
  std::map<std::string, int64_t> times_, before_;
};

void keep_snapshots_of(Keeper& keeper, const storage::Tier& tier, const TierPlace& place,
                       FailedSnapshots& failed) {
  keeper.look_at_clock();
  std::vector<int64_t> times = storage::list_snapshots(place.path);
  storage::Failures failures;
  int64_t next = std::max(storage::next_snapshot(times, tier.snapshots, keeper.now),
                          failed.again(place.path, keeper.now));
  if (next <= keeper.now) {
    const int64_t time = keeper.now;
    const Status made = storage::make_snapshot(
        place.path, time, {.without = keeper.home, .keep_free = keeper.config.storage.snapshot_free},
        failures);
    keeper.look_at_clock();
    if (made) {
      times.push_back(time);
      failed.made(place.path);
      next = storage::next_snapshot(times, tier.snapshots, keeper.now);
    } else {
      keeper.say("no snapshot of " + storage::shown_path(place.path) + ": " +
                 storage::shown_path(made.error().message));
      failed.failed(place.path, time);
      next = time + kAfterFailureSeconds;
    }
  }
  // Also where there is no room for another one.
  for (const int64_t old : storage::expired_snapshots(times, tier.snapshots, keeper.now)) {
    if (const Status removed = storage::remove_snapshot(place.path, old, failures); !removed)
      keeper.say(storage::shown_path(place.path) + ": " + removed.error().message);
  }
  report_errors(kName, failures.kept(), failures.count());
  keeper.next_snapshots = std::min(keeper.next_snapshots, next);
}

// Removing old files may take hours, so this is asked between two places of it.
void keep_due_snapshots(Keeper& keeper) {
  keeper.look_at_clock();
  if (!keeper.config.storage.snapshots || keeper.now < keeper.next_snapshots) return;
  keeper.next_snapshots = keeper.now + kLookSeconds;
  FailedSnapshots failed(keeper);
  for (const storage::Tier& tier : keeper.tiers) {
    if (tier.snapshots.empty()) continue;
    for (const TierPlace& place : tier_places(tier, keeper.tiers, keeper.shared, *keeper.here))
      keep_snapshots_of(keeper, tier, place, failed);
  }
  if (const Status kept = failed.keep(); !kept) keeper.say(kept.error().message);
}

}  // namespace

std::string purge_list(const std::string& path) {
  const size_t slash = path.rfind('/');
  return path.substr(0, slash) + "/to_delete" + path.substr(slash);
}

// Arguments: the cluster's home, its configuration, and, for tests, the time to assume (s).
int storage_keep_main(int argc, char** argv) {
  if (argc < 3) return 2;
  std::signal(SIGPIPE, SIG_IGN);  // a mail program may not read all of it
  Keeper keeper;
  keeper.home = argv[1];
  keeper.shared = os::is_shared(keeper.home);
  keeper.ahead = argc > 3 ? std::strtoll(argv[3], nullptr, 10) - std::time(nullptr) : 0;
  keeper.look_at_clock();
  keeper.next = keeper.now + kMostSeconds;
  const auto text = os::read_file(argv[2], kMaxFileBytes);
  const model::NodeRecord machine = node::discover_machine();
  auto config = text ? config::parse_configuration(*text, argv[2], machine)
                     : Result<config::Configuration>(failure(text.error()));
  if (!config) {
    view::print_error(kName, config.error().message);
    return 1;
  }
  keeper.config = std::move(*config);
  keeper.settings = config::read_helper_settings(argv[2]);
  keeper.tiers = keeper.config.storage.tiers(keeper.home);
  keeper.here.emplace(keeper.config.storage.keeper);
  os::raise_descriptor_limit();
  ::umask(0022);
  // One at a time, also with a keeper of a test.
  if (const Status made = os::make_directories(keeper.home + "/storage-state", 0700); !made) {
    view::print_error(kName, made.error().message);
    return 1;
  }
  auto lock = os::lock_file(keeper.home + "/storage-state/lock");
  for (int tenth = 0; !lock && lock.error().code == EWOULDBLOCK && tenth < kOtherEndsTenths; ++tenth) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    lock = os::lock_file(keeper.home + "/storage-state/lock");
  }
  if (!lock) {
    view::print_error(kName, lock.error().message);
    return 1;
  }
  keep_due_snapshots(keeper);
  for (const storage::Tier& tier : keeper.tiers)
    if (keeper.config.storage.purge && tier.purge_days > 0)
      tier.of_node ? keep_node_places(keeper, tier) : keep_purge(keeper, tier);
  keep_due_snapshots(keeper);
  if (keeper.config.storage.snapshots) keeper.due(keeper.next_snapshots);
  keeper.look_at_clock();  // it may have taken long
  std::printf("%lld\n", static_cast<long long>(std::max<int64_t>(1, keeper.next - keeper.now)));
  return keeper.failed ? 1 : 0;
}

}  // namespace minke::helpers
