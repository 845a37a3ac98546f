#include "cli/storage/shown_scan.h"

#include <atomic>

#include "cli/progress.h"
#include "storage/words.h"

namespace minke::cli {

Result<storage::Usage> scan_and_show(const std::vector<std::string>& roots, storage::UsageOptions options) {
  std::atomic<uint64_t> entered{0};
  options.entered = &entered;
  const ProgressText text(storage::number_text, " directories");
  // How many there are is known at the end; from inode tables none is entered.
  const ProgressLine line([&] { return "counting files … " + (entered == 0 ? "" : text.of(entered, 0)); });
  return storage::scan_usage(roots, options);
}

}  // namespace minke::cli
