#include "engine/quota_rule.h"

#include "storage/words.h"

namespace minke::engine {

QuotaUse counted_use(const storage::Tier& tier, uint64_t space, uint64_t files, const QuotaUse& before,
                     int64_t now) {
  const auto since = [&](uint64_t used, uint64_t soft, int64_t over) -> int64_t {
    if (soft == 0 || used <= soft) return 0;
    return over != 0 ? over : now;
  };
  return {.space = space,
          .files = files,
          .space_over = since(space, tier.space, before.space_over),
          .files_over = since(files, tier.files, before.files_over)};
}

std::string quota_problem(const storage::Tier& tier, const std::string& path, const QuotaUse& use,
                          int64_t grace, int64_t now) {
  const auto exceeds = [&](uint64_t used, uint64_t soft, uint64_t hard, int64_t over_since) {
    if (hard > 0 && used > hard) return true;
    return over_since > 0 && soft > 0 && used > soft && now >= over_since + grace;
  };
  const std::string shown = storage::shown_path(path);
  const std::string more = " in " + shown + "; to find them: minke storage scan --top 10 " + shown;
  if (exceeds(use.files, tier.files, tier.hard_files, use.files_over))
    return std::string(kQuotaExceeded) + ": " + storage::number_text(use.files) + " of " +
           storage::number_text(tier.files) + " files" + more;
  if (exceeds(use.space, tier.space, tier.hard_space, use.space_over))
    return std::string(kQuotaExceeded) + ": " + storage::bytes_text(use.space) + " of " +
           storage::bytes_text(tier.space) + more;
  return "";
}

}  // namespace minke::engine
