// minke storage-watch: keeps the counts of the cluster's tiers up to date, for those who ask for their usage
// (storage/live_index.h). The daemon starts it, as root, and it ends with the daemon.
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "config/configuration.h"
#include "helpers/names.h"
#include "helpers/programs.h"
#include "helpers/tier_places.h"
#include "model/cluster.pb.h"
#include "node/discovery.h"
#include "os/files.h"
#include "os/minke_home.h"
#include "storage/live_index.h"
#include "storage/words.h"
#include "view/output.h"

namespace minke::helpers {

namespace {

constexpr char kName[] = "minke storage-watch";
constexpr size_t kMaxFileBytes = 4 << 20;
constexpr int kLookMilliseconds = 60'000;  // how often it looks for directories of new users
constexpr int kOtherEndsSeconds = 10;      // an earlier one ends within this time

int fail(const std::string& message) {
  view::print_error(kName, storage::shown_path(message));
  return 1;
}

// On a network file system the kernel tells nothing of what other machines change.
std::vector<std::string> places(const config::StorageConfiguration& storage, const std::string& home) {
  const KeptHere here(storage.keeper);
  const std::vector<storage::Tier> tiers = storage.tiers(home);
  std::vector<std::string> paths;
  for (const storage::Tier& tier : tiers)
    for (const TierPlace& place : tier_places(tier, tiers, os::is_shared(home), here))
      if (!here.is_on_network(place.path)) paths.push_back(following(place.path));
  return paths;
}

std::chrono::steady_clock::time_point next_look() {
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(kLookMilliseconds);
}

// Whether nobody reads its output any more.
bool is_left_alone() {
  pollfd out{STDOUT_FILENO, 0, 0};
  return ::poll(&out, 1, 0) > 0 && (out.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0;
}

}  // namespace

std::string live_directory(const std::string& home) {
  return home + "/storage-live";
}

// Arguments: the cluster's home and its configuration; any others only distinguish processes.
int storage_watch_main(int argc, char** argv) {
  if (argc < 3) return 2;
  std::signal(SIGPIPE, SIG_IGN);
  const std::string home = argv[1];
  const auto text = os::read_file(argv[2], kMaxFileBytes);
  const model::NodeRecord machine = node::discover_machine();
  auto config = text ? config::parse_configuration(*text, argv[2], machine)
                     : Result<config::Configuration>(failure(text.error()));
  if (!config) return fail(config.error().message);
  os::raise_descriptor_limit();
  auto publisher = storage::LivePublisher::open(live_directory(home));
  for (int second = 0; !publisher && publisher.error().code == EWOULDBLOCK && second < kOtherEndsSeconds;
       ++second) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    publisher = storage::LivePublisher::open(live_directory(home));
  }
  if (!publisher) return fail(publisher.error().message);
  while (!is_left_alone()) {
    const std::vector<std::string> paths = places(config->storage, home);
    const auto index = storage::LiveIndex::open(paths);
    if (!index) return fail(index.error().message);
    const auto publish = [&] {
      for (size_t i = 0; i < paths.size(); ++i) publisher->publish(paths[i], (*index)->amount(i));
    };
    publish();
    auto look = next_look();
    // Runs until a user has a directory that it does not know yet.
    while (!is_left_alone()) {
      if ((*index)->follow(kLookMilliseconds, STDOUT_FILENO)) publish();
      if (std::chrono::steady_clock::now() < look) continue;
      if (places(config->storage, home) != paths) break;
      look = next_look();
    }
  }
  return 0;
}

}  // namespace minke::helpers
