// Writes a job's script from the store as a file that its user can run and nobody can replace, and reads its
// environment. Both are kept while jobs in memory need them.
//
// A spooled script is not durable, because a sync for each new script is too slow. A script of an earlier
// daemon may have lost its contents in a power cut, so it is compared with the store's before its first run
// under this daemon (spooled_ has the scripts that this daemon has written or compared).
#include "engine/embedded/launching/launching.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <unordered_set>
#include <utility>

#include "engine/embedded/core.h"
#include "os/files.h"
#include "os/volatile_file.h"
#include "store/store.h"
#include "submit/data_directives.h"
#include "text/hex.h"

namespace minke::engine {

using namespace model;

namespace {

constexpr char kStagedMark[] = "/data_lines";  // beside a spooled script

// Makes one directory with this mode, independent of the umask.
Status make_passable(const std::string& path, mode_t mode) {
  if (::mkdir(path.c_str(), mode) != 0) {
    if (errno == EEXIST) return {};
    return failure_from_errno(path, errno);
  }
  if (::chmod(path.c_str(), mode) != 0) return failure_from_errno(path, errno);
  return {};
}

struct FileOwner {
  uid_t uid;
  gid_t gid;
};

bool is_there(const std::string& path, const std::string& text, mode_t mode,
              const std::optional<FileOwner>& owner) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || (info.st_mode & 07777) != mode ||
      static_cast<size_t>(info.st_size) != text.size() || (owner && info.st_uid != owner->uid))
    return false;
  const auto contents = os::read_file(path, text.size());
  return contents && *contents == text;
}

// Makes a file with these contents, unless it exists already.
Status keep(const std::string& path, const std::string& text, mode_t mode,
            const std::optional<FileOwner>& owner) {
  if (is_there(path, text, mode, owner)) return {};
  if (const Status written = os::replace_volatile_file(path, text, mode); !written) return written;
  if (owner && ::lchown(path.c_str(), owner->uid, owner->gid) != 0) return failure_from_errno(path, errno);
  return {};
}

std::string spool_name(const store::ContentHash& hash) {
  return text::to_hex(hash).substr(0, 32);
}

}  // namespace

void Launching::clear_spool() {
  std::unordered_set<std::string> needed;
  for (const auto& [id, job] : core_.state.jobs()) {
    if (job->submission->script)
      needed.insert((core_.config.shared ? std::to_string(job->uid) + "/" : "") +
                    spool_name(*job->submission->script));
  }
  const std::string spool = core_.config.home + "/spool";
  std::error_code ignored;
  const int depth = core_.config.shared ? 1 : 0;
  for (std::filesystem::recursive_directory_iterator entry(spool, ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    if (entry.depth() < depth) continue;
    entry.disable_recursion_pending();
    if (needed.contains(entry->path().lexically_relative(spool).string())) continue;
    std::error_code left;  // one that cannot be removed does no harm
    spooled_.erase(entry->path().string());
    std::filesystem::remove_all(entry->path(), left);
  }
}

Result<Launching::SpooledScript> Launching::spooled_script(const Job& job) {
  MINKE_CHECK(job.submission->script != nullptr);
  // In shared mode each user's scripts are in a separate directory of root's: only the user can read the
  // script, and nobody can replace it.
  const std::string users =
      core_.config.home + "/spool" + (core_.config.shared ? "/" + std::to_string(job.uid) : "");
  const mode_t mode = core_.config.shared ? 0711 : 0700;
  const std::string directory = users + "/" + spool_name(*job.submission->script);
  SpooledScript spooled{.path = directory + "/slurm_script", .data_lines = directory + kStagedMark};
  if (const auto known = spooled_.find(directory); known != spooled_.end()) {
    if (::access(spooled.path.c_str(), X_OK) == 0) {
      if (!known->second) spooled.data_lines.clear();
      return spooled;
    }
  }
  const auto script = core_.store.content(*job.submission->script);
  if (!script) return failure(script.error());
  if (!*script) return failure("the script of job " + std::to_string(job.id) + " is not in the store");
  if (const Status made = make_passable(core_.config.home + "/spool", mode); !made)
    return failure(made.error());
  if (const Status made = make_passable(users, mode); !made) return failure(made.error());
  if (const Status made = make_passable(directory, mode); !made) return failure(made.error());
  const std::optional<FileOwner> owner =
      core_.config.shared ? std::optional<FileOwner>({job.uid, job.gid}) : std::nullopt;
  // First writes the file with the #MINKE lines beside it: `minke staged-script`
  // copies data before the script runs.
  const auto data = submit::read_data_directives(**script);
  const bool staged = data && !data->empty();
  if (!staged) {
    spooled.data_lines.clear();
    ::unlink((directory + kStagedMark).c_str());
  } else if (const Status kept = keep(spooled.data_lines, **script, 0600, owner); !kept) {
    return failure(kept.error());
  }
  if (const Status kept = keep(spooled.path, core_.software.spooled(**script), 0700, owner); !kept)
    return failure(kept.error());
  spooled_[directory] = staged;
  // Removes unneeded scripts after this many new ones.
  constexpr unsigned kSpooledBeforeClearing = 1000;
  if (++spooled_since_clearing_ == kSpooledBeforeClearing) {
    spooled_since_clearing_ = 0;
    core_.loop.post([this] { clear_spool(); });
  }
  return spooled;
}

Result<std::shared_ptr<const std::string>> Launching::environment_of(const Job& job) {
  const auto& hash = job.submission->environment;
  for (auto& known : environments_) {
    if (known.first == hash) return known.second;
  }
  auto content = core_.store.content(*hash);
  if (!content) return failure(content.error());
  if (!*content) return failure("the environment of job " + std::to_string(job.id) + " is not in the store");
  constexpr size_t kKept = 8;
  if (environments_.size() >= kKept) environments_.erase(environments_.begin());
  environments_.emplace_back(hash, std::make_shared<const std::string>(std::move(**content)));
  return environments_.back().second;
}

}  // namespace minke::engine
