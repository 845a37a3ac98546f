#include "cli/metric_search.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>

#include "model/job.pb.h"
#include "os/fd.h"
#include "text/job_id.h"
#include "text/number.h"

namespace minke::cli {

namespace fs = std::filesystem;

namespace {

constexpr int kMaxDepth = 8;
constexpr size_t kMaxEntries = 50000;  // looked at in one search
constexpr size_t kMaxFiles = 500;
constexpr uint64_t kMaxBytes = uint64_t{1} << 30;  // read of one file
constexpr int64_t kSlack = 5;  // s: clocks of file systems, and what is written when the job is over

bool is_skipped(const std::string& name) {
  static const std::set<std::string> names = {"site-packages", "node_modules", "__pycache__",
                                              "venv",          "env",          "artifact"};
  return names.contains(name) || (name.starts_with('.') && name != ".minke");
}

// Whether the path names the job of this number: "job12", "slurm-12", or the number alone where it is long
// enough to be no other number.
bool names_number(std::string_view path, const std::string& number) {
  constexpr size_t kLongEnough = 4;  // characters
  for (size_t at = 0; (at = path.find(number, at)) != std::string_view::npos; at += number.size()) {
    std::string_view before = path.substr(0, at);
    const size_t end = at + number.size();
    if ((!before.empty() && text::is_digit(before.back())) ||
        (end < path.size() && text::is_digit(path[end])))
      continue;
    if (number.size() >= kLongEnough) return true;
    if (before.ends_with('-') || before.ends_with('_')) before.remove_suffix(1);
    const std::string word =
        text::lower_case(before.substr(before.size() - std::min<size_t>(before.size(), 5)));
    if (word.ends_with("job") || word.ends_with("slurm") || word.ends_with("jobid")) return true;
  }
  return false;
}

}  // namespace

MetricSearch::MetricSearch(const model::JobRecord& job, std::string work_dir, std::string tmp_dir)
    : job_(job), work_dir_(std::move(work_dir)), tmp_dir_(std::move(tmp_dir)) {}

Status MetricSearch::use_only(const std::vector<std::string>& paths) {
  fixed_ = true;
  for (const std::string& path : paths) {
    File file;
    file.parser = ml::make_metric_parser(fs::path(path).filename().string());
    if (!file.parser) return failure(path + ": neither .wandb, tfevents, .csv, .tsv nor .jsonl");
    if (::access(path.c_str(), R_OK) != 0) return failure_from_errno(path, errno);
    files_.emplace(path, std::move(file));
  }
  return {};
}

void MetricSearch::look_into(const std::string& directory, int depth) {
  std::error_code ignored;
  for (fs::directory_iterator entry(directory, ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    if (++looked_at_ > kMaxEntries || files_.size() >= kMaxFiles) return;
    const std::string name = entry->path().filename().string();
    std::error_code unknown;
    if (entry->is_directory(unknown) && !entry->is_symlink(unknown)) {
      if (depth < kMaxDepth && !is_skipped(name)) look_into(entry->path().string(), depth + 1);
      continue;
    }
    const std::string path = entry->path().string();
    if (files_.contains(path)) continue;
    auto parser = ml::make_metric_parser(name);
    if (!parser) continue;
    struct stat status;
    if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    // Written while it ran. What goes on being written afterwards is another's.
    if (status.st_mtime < job_.start_time() - 1) continue;
    if (job_.state() != model::JOB_RUNNING && status.st_mtime > job_.end_time() + kSlack) continue;
    File file;
    file.parser = std::move(parser);
    files_.emplace(path, std::move(file));
  }
}

void MetricSearch::read_file(const std::string& path, File& file) {
  if (!file.problem.empty()) return;
  const os::UniqueFd descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status;
  if (!descriptor || ::fstat(descriptor.get(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  if ((file.inode != 0 && status.st_ino != file.inode) || static_cast<uint64_t>(status.st_size) < file.read) {
    // Another file in its place, or it was begun anew.
    File fresh;
    fresh.parser = ml::make_metric_parser(fs::path(path).filename().string());
    file = std::move(fresh);
  }
  file.inode = status.st_ino;
  std::string buffer(size_t{1} << 20, '\0');
  while (file.read < kMaxBytes) {
    const ssize_t got =
        ::pread(descriptor.get(), buffer.data(), buffer.size(), static_cast<off_t>(file.read));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    file.read += static_cast<uint64_t>(got);
    if (const Status fed =
            file.parser->feed(std::string_view(buffer).substr(0, static_cast<size_t>(got)), file.metrics);
        !fed) {
      file.problem = fed.error().message;
      return;
    }
  }
}

void MetricSearch::update() {
  if (!fixed_) {
    looked_at_ = 0;
    if (!work_dir_.empty()) look_into(work_dir_, 0);
    if (!tmp_dir_.empty()) look_into(tmp_dir_, 0);
  }
  for (auto& [path, file] : files_) read_file(path, file);
}

bool MetricSearch::names_job(const std::string& path) const {
  if (!path.starts_with(work_dir_)) return false;
  const std::string below = path.substr(work_dir_.size());
  if (job_.has_array_task_id()) {
    const std::string task = std::to_string(job_.array_job_id()) + "_" + std::to_string(job_.array_task_id());
    if (names_number(below, task)) return true;
  }
  return names_number(below, std::to_string(job_.job_id()));
}

bool MetricSearch::is_ours(const std::string& path, const File& file, bool some_named) const {
  if (fixed_) return true;
  if (!file.parser->certain() && file.metrics.empty()) return false;
  if (const uint32_t named = file.parser->job_id(); named != 0) return named == job_.job_id();
  if (!tmp_dir_.empty() && path.starts_with(tmp_dir_ + "/")) return true;
  return file.parser->certain() && (!some_named || names_job(path));
}

template <typename Take>
void MetricSearch::for_each_of_ours(Take take) const {
  const bool some_named =
      std::any_of(files_.begin(), files_.end(), [&](const auto& one) { return names_job(one.first); });
  for (const auto& [path, file] : files_) {
    if (is_ours(path, file, some_named)) take(path, file);
  }
}

ml::MetricSet MetricSearch::all() const {
  ml::MetricSet metrics;
  for_each_of_ours([&](const std::string&, const File& file) { metrics.merge(file.metrics); });
  return metrics;
}

std::vector<std::string> MetricSearch::paths() const {
  std::vector<std::string> paths;
  for_each_of_ours([&](const std::string& path, const File&) { paths.push_back(path); });
  return paths;
}

std::vector<std::string> MetricSearch::problems() const {
  std::vector<std::string> problems;
  for_each_of_ours([&](const std::string& path, const File& file) {
    if (!file.problem.empty()) problems.push_back(path + ": " + file.problem);
  });
  return problems;
}

}  // namespace minke::cli
