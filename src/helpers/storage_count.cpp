// minke storage-count: counts directories for the daemon. Their paths come on standard input, each ended by
// NUL; for each, a line goes to standard output: its number, bytes of space, files, milliseconds. A directory
// that cannot be counted has no line.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "helpers/names.h"
#include "helpers/programs.h"
#include "os/files.h"
#include "storage/live_index.h"
#include "storage/usage_scan.h"
#include "storage/words.h"
#include "view/output.h"

namespace minke::helpers {

// Argument: the cluster's home, which may have an up-to-date count.
int storage_count_main(int argc, char** argv) {
  constexpr size_t kMaxBytes = 1 << 20;
  std::string input;
  char buffer[65536];
  for (ssize_t got; (got = ::read(STDIN_FILENO, buffer, sizeof buffer)) > 0 && input.size() < kMaxBytes;)
    input.append(buffer, static_cast<size_t>(got));
  os::raise_descriptor_limit();
  // Jobs have priority.
  if (::nice(10) == -1) view::print_error("minke storage-count", "it runs as fast as everything else");
  size_t number = 0;
  for (size_t at = 0; at < input.size(); ++number) {
    const std::string path = input.c_str() + at;
    at += path.size() + 1;
    const auto begin = std::chrono::steady_clock::now();
    // Other file systems mounted below are not part of the tier.
    const std::string followed = following(path);
    auto amount = argc > 1 ? storage::live_amount(live_directory(argv[1]), followed) : std::nullopt;
    if (!amount) {
      const auto usage = storage::scan_usage({followed}, {.one_file_system = true, .snapshots = false});
      if (!usage) continue;
      amount = usage->total;
    }
    const auto taken = std::chrono::steady_clock::now() - begin;
    std::printf("%zu %llu %llu %lld\n", number, static_cast<unsigned long long>(amount->space),
                static_cast<unsigned long long>(amount->entries),
                static_cast<long long>(std::chrono::duration_cast<std::chrono::milliseconds>(taken).count()));
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace minke::helpers
