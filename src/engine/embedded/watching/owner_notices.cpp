#include "engine/embedded/watching/owner_notices.h"

#include <sys/mman.h>
#include <unistd.h>

#include <utility>

#include "engine/embedded/accounts/rights.h"
#include "engine/embedded/core.h"
#include "model/error.h"
#include "os/detached.h"
#include "os/helper_program.h"
#include "os/log.h"

namespace minke::engine {

namespace {

constexpr size_t kMostBytes = 4096;

Result<os::UniqueFd> start_program(uid_t uid, gid_t gid, const Owner& owner, const std::string& message) {
  const os::UniqueFd input(::memfd_create("minke-notice", MFD_CLOEXEC));
  if (!input ||
      ::write(input.get(), message.data(), message.size()) != static_cast<ssize_t>(message.size()) ||
      ::lseek(input.get(), 0, SEEK_SET) != 0)
    return failure_from_errno("memfd", errno);
  return os::start_detached(
      {.argv = os::helper_command(os::Helper::kSayToOwner,
                                  {std::to_string(owner.pid), std::to_string(owner.start_ticks),
                                   std::to_string(uid), std::to_string(gid)}),
       .log_path = "/dev/null",
       .without_variables = {},
       .input = input.get()});
}

}  // namespace

Status OwnerNotices::say(const Job& job, const std::string& message) {
  if (message.size() > kMostBytes)
    return failure("a notice has " + std::to_string(kMostBytes) + " characters at most",
                   model::kPathnameTooLong);
  if (!job.details || job.details->owner.pid == 0) return {};
  auto charge = core_.rights->budgets().take(job.uid, Budget::kHelperProcesses, 1);
  if (!charge) return failure(charge.error());
  OfUser& user = users_[job.uid];
  user.waiting.push_back({job.details->owner, job.gid, message, std::move(*charge)});
  if (!user.running) start_next(job.uid);
  return {};
}

void OwnerNotices::start_next(uid_t uid) {
  OfUser& user = users_[uid];
  while (!user.waiting.empty()) {
    Notice notice = std::move(user.waiting.front());
    user.waiting.pop_front();
    auto started = start_program(uid, notice.gid, notice.owner, notice.message);
    if (!started) {
      os::log_warning("a notice could not be written: " + started.error().message);
      continue;
    }
    user.running = std::move(*started);
    user.charge = std::move(notice.charge);
    user.watch = core_.loop.on_readable(user.running.get(), [this, uid] {
      char said[64];  // it writes nothing: this is its end
      OfUser& ended = users_[uid];
      if (::read(ended.running.get(), said, sizeof said) > 0) return;
      const auto watch = std::move(ended.watch);
      ended.running.reset();
      ended.charge = {};
      start_next(uid);
    });
    return;
  }
  users_.erase(uid);
}

}  // namespace minke::engine
