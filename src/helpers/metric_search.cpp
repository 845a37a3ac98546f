#include "helpers/metric_search.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>

#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "os/fd.h"
#include "text/job_id.h"
#include "text/number.h"

namespace minke::helpers {

namespace fs = std::filesystem;

namespace {

constexpr int kMaxDepth = 8;
constexpr size_t kMaxEntries = 50000;  // looked at in one search
constexpr size_t kMaxFiles = 500;
constexpr uint64_t kMaxBytes = uint64_t{1} << 30;  // read of one file
constexpr int64_t kSlack = 5;  // s: for clocks of file systems, and writes at the job's end

bool is_skipped(const std::string& name) {
  static const std::set<std::string> names = {"site-packages", "node_modules", "__pycache__",
                                              "venv",          "env",          "artifact"};
  return names.contains(name) || (name.starts_with('.') && name != ".minke");
}

// How clearly a path names a job as its writer.
enum class Naming { kNone, kWeak, kStrong };

// Strong: "job12", "slurm-12", or the number alone if it is long enough to be unique. Weak: "log-12.csv",
// which may also be the twelfth of something.
Naming naming_of(std::string_view path, const std::string& number) {
  Naming found = Naming::kNone;
  constexpr size_t kLongEnough = 4;  // characters
  for (size_t at = 0; (at = path.find(number, at)) != std::string_view::npos; at += number.size()) {
    std::string_view before = path.substr(0, at);
    const size_t end = at + number.size();
    if ((!before.empty() && text::is_digit(before.back())) ||
        (end < path.size() && text::is_digit(path[end])))
      continue;
    if (number.size() >= kLongEnough) return Naming::kStrong;
    if (before.ends_with('-') || before.ends_with('_')) {
      if (path.substr(end).starts_with('.')) found = Naming::kWeak;
      before.remove_suffix(1);
    }
    const std::string word =
        text::lower_case(before.substr(before.size() - std::min<size_t>(before.size(), 5)));
    if (word.ends_with("job") || word.ends_with("slurm") || word.ends_with("jobid")) return Naming::kStrong;
  }
  return found;
}

Naming naming_of(std::string_view path, const model::JobRecord& job) {
  Naming found = naming_of(path, std::to_string(job.job_id()));
  if (job.has_array_task_id())
    found = std::max(found, naming_of(path, std::to_string(job.array_job_id()) + "_" +
                                                std::to_string(job.array_task_id())));
  return found;
}

bool has_ended(const model::JobRecord& job) {
  return job.state() != model::JOB_PENDING && job.state() != model::JOB_RUNNING &&
         job.state() != model::JOB_SUSPENDED;
}

// Whether the job may have written at that time: certainly while it ran, and with some slack around it.
bool may_have_written(const model::JobRecord& job, int64_t time, int64_t before, int64_t after) {
  return time >= job.start_time() - before && (!has_ended(job) || time <= job.end_time() + after);
}
bool ran_then(const model::JobRecord& job, int64_t time) {
  return may_have_written(job, time, 0, 0);
}

bool is_below(const std::string& path, const std::string& directory) {
  return path.starts_with(directory) &&
         (path.size() == directory.size() || directory.ends_with('/') || path[directory.size()] == '/');
}

}  // namespace

std::vector<model::JobRecord> rivals_of(const model::JobRecord& job,
                                        const std::vector<const model::JobRecord*>& records) {
  constexpr size_t kMost = 500;
  std::vector<model::JobRecord> rivals;
  for (const model::JobRecord* one : records) {
    if (one->job_id() == job.job_id() || one->uid() != job.uid() || one->start_time() == 0 ||
        one->state() == model::JOB_PENDING)
      continue;
    if ((has_ended(job) && one->start_time() > job.end_time() + kSlack) ||
        (has_ended(*one) && one->end_time() + kSlack < job.start_time()))
      continue;
    const std::string &own = job.spec().work_dir(), &others = one->spec().work_dir();
    if (!is_below(own, others) && !is_below(others, own)) continue;
    rivals.push_back(*one);
    if (rivals.size() == kMost) break;
  }
  return rivals;
}

// For the job itself, and then for each rival: how clearly any file is named after it.
struct MetricSearch::Names {
  Naming own = Naming::kNone;
  std::vector<Naming> rivals;
};

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
    // Must be written while the job ran. A file that is still written later is another job's.
    if (!may_have_written(job_, status.st_mtime, 1, kSlack)) continue;
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
    // It is another file in its place, or it was begun anew.
    File fresh;
    fresh.parser = ml::make_metric_parser(fs::path(path).filename().string());
    file = std::move(fresh);
  }
  file.inode = status.st_ino;
  file.written = status.st_mtime;
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

namespace {

// An empty directory name contains nothing.
bool is_within(const std::string& path, const std::string& directory) {
  return !directory.empty() && path.starts_with(directory + "/");
}

// What a rival's place and time count for, beside the job, which `surely` or only possibly ran then.
enum class Claim { kNone, kEqual, kStronger };
Claim claim_of(const model::JobRecord& rival, const std::string& path, int64_t written, bool surely) {
  if (!is_below(path, rival.spec().work_dir()) || !may_have_written(rival, written, 1, kSlack))
    return Claim::kNone;
  const bool rival_surely = ran_then(rival, written);
  if (rival_surely == surely) return Claim::kEqual;
  return rival_surely ? Claim::kStronger : Claim::kNone;
}

}  // namespace

MetricSearch::Owner MetricSearch::owner_of(const std::string& path, const File& file,
                                           const Names& names) const {
  if (fixed_) return Owner::kJob;
  if (!file.parser->certain() && file.metrics.empty()) return Owner::kAnother;
  if (const uint32_t named = file.parser->job_id(); named != 0)
    return named == job_.job_id() ? Owner::kJob : Owner::kAnother;
  if (is_within(path, tmp_dir_)) return Owner::kJob;
  if (!file.parser->certain()) return Owner::kAnother;
  const std::string below = path.substr(work_dir_.size());
  const Naming own = naming_of(below, job_);
  if (own == Naming::kStrong) return Owner::kJob;
  if (names.own == Naming::kStrong) return Owner::kAnother;
  const bool surely = ran_then(job_, file.written);
  bool contended = false;
  for (size_t i = 0; i < rivals_.size(); ++i) {
    const model::JobRecord& rival = rivals_[i];
    const Naming others = naming_of(below, rival);
    if (others == Naming::kStrong || (others == Naming::kWeak && own == Naming::kNone))
      return Owner::kAnother;
    if (names.rivals[i] != Naming::kNone) continue;
    const Claim claim = claim_of(rival, path, file.written, surely);
    if (claim == Claim::kStronger) return Owner::kAnother;
    contended |= claim == Claim::kEqual;
  }
  if (own == Naming::kWeak || rivals_.empty()) return Owner::kJob;
  if (names.own == Naming::kWeak) return Owner::kAnother;
  return contended ? Owner::kUnknown : Owner::kJob;
}

MetricSearch::Names MetricSearch::names() const {
  Names names;
  names.rivals.resize(rivals_.size());
  for (const auto& [path, file] : files_) {
    if (!is_below(path, work_dir_)) continue;
    const std::string below = path.substr(work_dir_.size());
    names.own = std::max(names.own, naming_of(below, job_));
    for (size_t i = 0; i < rivals_.size(); ++i)
      names.rivals[i] = std::max(names.rivals[i], naming_of(below, rivals_[i]));
  }
  return names;
}

template <typename Take>
void MetricSearch::for_each(Owner wanted, Take take) const {
  const Names found = names();
  for (const auto& [path, file] : files_) {
    if (owner_of(path, file, found) == wanted) take(path, file);
  }
}

std::string MetricSearch::dispute() const {
  std::string paths;
  size_t count = 0;
  for_each(Owner::kUnknown, [&](const std::string& path, const File&) {
    constexpr size_t kShown = 3;
    if (++count <= kShown) paths += (paths.empty() ? "" : ", ") + path;
  });
  if (count == 0) return "";
  std::string others;
  for (size_t i = 0; i < std::min<size_t>(rivals_.size(), 3); ++i)
    others += (others.empty() ? "" : ", ") + text::format_job_id(rivals_[i]);
  return "it cannot be told whether job " + text::format_job_id(job_) + " wrote " + paths +
         (count > 3 ? " …" : "") + ": other jobs ran there at the same time (" + others +
         (rivals_.size() > 3 ? " …" : "") +
         "). Files with the job's number are told apart: log-$SLURM_JOB_ID.csv";
}

ml::MetricSet MetricSearch::all() const {
  ml::MetricSet metrics;
  for_each(Owner::kJob, [&](const std::string&, const File& file) { metrics.merge(file.metrics); });
  return metrics;
}

std::vector<std::string> MetricSearch::paths() const {
  std::vector<std::string> paths;
  for_each(Owner::kJob, [&](const std::string& path, const File&) { paths.push_back(path); });
  return paths;
}

std::vector<std::string> MetricSearch::problems() const {
  std::vector<std::string> problems;
  for_each(Owner::kJob, [&](const std::string& path, const File& file) {
    if (!file.problem.empty()) problems.push_back(path + ": " + file.problem);
  });
  return problems;
}

}  // namespace minke::helpers
