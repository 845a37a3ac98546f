// A job's script as a file that its user can run and nobody can replace, and its environment, both from the
// store; kept while jobs in memory need them.
#include "engine/embedded/launching.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <unordered_set>
#include <utility>

#include "engine/embedded/core.h"
#include "os/files.h"
#include "submit/data_directives.h"
#include "text/hex.h"

namespace minke::engine {

using namespace model;

namespace {

constexpr char kStagedMark[] = "/data_lines";  // beside a spooled script

// One directory, with this mode whatever the umask is.
Status make_passable(const std::string& path, mode_t mode) {
  if (::mkdir(path.c_str(), mode) != 0) {
    if (errno == EEXIST) return {};
    return failure_from_errno(path, errno);
  }
  if (::chmod(path.c_str(), mode) != 0) return failure_from_errno(path, errno);
  return {};
}

std::string spool_name(const store::ContentHash& hash) {
  return text::to_hex(hash).substr(0, 32);
}

}  // namespace

void Launching::clear_spool() const {
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
    std::filesystem::remove_all(entry->path(), left);
  }
}

Result<Launching::SpooledScript> Launching::spooled_script(const Job& job) {
  MINKE_CHECK(job.submission->script != nullptr);
  // In shared mode each user's scripts are in a directory of their own, which root keeps: only the user can
  // read the script, nobody can replace it.
  const std::string users =
      core_.config.home + "/spool" + (core_.config.shared ? "/" + std::to_string(job.uid) : "");
  const mode_t mode = core_.config.shared ? 0711 : 0700;
  const std::string directory = users + "/" + spool_name(*job.submission->script);
  SpooledScript spooled{.path = directory + "/slurm_script", .data_lines = directory + kStagedMark};
  if (::access(spooled.path.c_str(), X_OK) == 0) {
    if (::access(spooled.data_lines.c_str(), F_OK) != 0) spooled.data_lines.clear();
    return spooled;
  }
  const auto script = core_.store.content(*job.submission->script);
  if (!script) return failure(script.error());
  if (!*script) return failure("the script of job " + std::to_string(job.id) + " is not in the store");
  if (const Status made = make_passable(core_.config.home + "/spool", mode); !made)
    return failure(made.error());
  if (const Status made = make_passable(users, mode); !made) return failure(made.error());
  if (const Status made = make_passable(directory, mode); !made) return failure(made.error());
  // Beside it, made first, what its #MINKE lines are read from: `minke staged-script` brings data before it
  // runs.
  if (const auto data = submit::read_data_directives(**script); data && !data->empty()) {
    const std::string& mark = spooled.data_lines;
    if (const Status marked = os::replace_file(mark, **script, 0600); !marked) return failure(marked.error());
    if (core_.config.shared && ::lchown(mark.c_str(), job.uid, job.gid) != 0)
      return failure_from_errno(mark, errno);
  } else {
    spooled.data_lines.clear();
  }
  if (const Status written = os::replace_file(spooled.path, core_.software.spooled(**script), 0700); !written)
    return failure(written.error());
  if (core_.config.shared && ::lchown(spooled.path.c_str(), job.uid, job.gid) != 0)
    return failure_from_errno(spooled.path, errno);
  // Scripts that no job needs any more are cleared away once so many others have come.
  constexpr unsigned kSpooledBeforeClearing = 1000;
  if (++spooled_ == kSpooledBeforeClearing) {
    spooled_ = 0;
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
