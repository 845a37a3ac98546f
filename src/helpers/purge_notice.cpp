#include "helpers/purge_notice.h"

#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "helpers/programs.h"
#include "os/files.h"
#include "storage/purge_calendar.h"

namespace minke::helpers {
namespace {

constexpr size_t kMostStateBytes = 4096;
constexpr uint64_t kMostListed = 5'000'000;

// In a shared cluster only its keeper reads the state: the list's own time is as good.
storage::PurgeState state_of(const TierConfiguration& cluster, const storage::Tier& tier, int64_t noticed) {
  const auto text = os::read_file(cluster.home + "/storage-state/purge-" + tier.name, kMostStateBytes);
  const auto state = text ? storage::parse_purge_state(*text) : std::nullopt;
  return state && state->first_notice != 0 ? *state : storage::state_of_notice(noticed, tier.purge_days);
}

}  // namespace

std::optional<PurgeNotice> purge_notice_of(const TierConfiguration& cluster, const storage::Tier& tier,
                                           const std::string& path,
                                           const std::function<void(PurgedFile)>& take) {
  if (tier.purge_days == 0 || tier.of_node || path.find('/') == std::string::npos) return std::nullopt;
  PurgeNotice notice{.list = purge_list(path)};
  struct stat status {};
  if (::stat(notice.list.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  notice.noticed = status.st_mtime;
  const storage::PurgeState state = state_of(cluster, tier, notice.noticed);
  notice.before = state.before;
  notice.removal = storage::expected_removal(state);
  std::ifstream lines(notice.list);
  std::string line;
  while (notice.files < kMostListed && std::getline(lines, line)) {
    std::istringstream fields(line);
    PurgedFile file;
    uint64_t owner = 0;
    if (!(fields >> file.last_use >> owner >> file.bytes) || fields.get() != ' ') continue;
    std::getline(fields, file.path);
    ++notice.files;
    notice.bytes += file.bytes;
    if (take) take(std::move(file));
  }
  return notice;
}

}  // namespace minke::helpers
