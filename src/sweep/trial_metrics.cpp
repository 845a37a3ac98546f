#include "sweep/trial_metrics.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "os/fd.h"

namespace minke::sweep {

namespace fs = std::filesystem;

namespace {

constexpr int kMaxDepth = 8;
constexpr size_t kMaxFiles = 200;
constexpr uint64_t kMaxBytes = uint64_t{1} << 30;  // of one file

}  // namespace

void TrialMetrics::look_into(const std::string& directory, int depth) {
  std::error_code ignored;
  for (fs::directory_iterator entry(directory, ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    if (files_.size() >= kMaxFiles) return;
    std::error_code unknown;
    if (entry->is_symlink(unknown)) continue;
    const std::string path = entry->path().string(), name = entry->path().filename().string();
    if (entry->is_directory(unknown)) {
      if (depth < kMaxDepth && name != "artifact") look_into(path, depth + 1);
    } else if (!files_.contains(path)) {
      if (auto parser = ml::make_metric_parser(name)) files_[path].parser = std::move(parser);
    }
  }
}

void TrialMetrics::read_on(const std::string& path, File& file) {
  const os::UniqueFd descriptor(
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW));
  struct stat status;
  if (!descriptor || ::fstat(descriptor.get(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  if ((file.inode != 0 && file.inode != status.st_ino) || static_cast<uint64_t>(status.st_size) < file.read) {
    // A training that was begun anew writes it anew.
    File fresh;
    fresh.parser = ml::make_metric_parser(fs::path(path).filename().string());
    file = std::move(fresh);
  }
  file.inode = status.st_ino;
  std::string buffer(size_t{256} << 10, '\0');
  while (file.problem.empty() && file.read < kMaxBytes) {
    const ssize_t got =
        ::pread(descriptor.get(), buffer.data(), buffer.size(), static_cast<off_t>(file.read));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    file.read += static_cast<uint64_t>(got);
    const Status fed =
        file.parser->feed(std::string_view(buffer).substr(0, static_cast<size_t>(got)), file.metrics);
    if (!fed) file.problem = fed.error().message;
  }
}

void TrialMetrics::update() {
  look_into(directory_, 0);
  for (auto& [path, file] : files_) read_on(path, file);
}

ml::MetricSet TrialMetrics::all() const {
  ml::MetricSet metrics;
  for (const auto& [path, file] : files_) {
    if (file.parser->certain() || !file.metrics.empty()) metrics.merge(file.metrics);
  }
  return metrics;
}

bool TrialMetrics::has_files() const {
  return std::any_of(files_.begin(), files_.end(),
                     [](const auto& one) { return one.second.parser->certain(); });
}

std::string TrialMetrics::problem() const {
  for (const auto& [path, file] : files_) {
    if (!file.problem.empty()) return path + ": " + file.problem;
  }
  return "";
}

}  // namespace minke::sweep
