#include "cli/runs.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "api/accounting.pb.h"
#include "cli/complain.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "ml/metric_files.h"
#include "model/job_state.pb.h"
#include "os/capture.h"
#include "os/fd.h"
#include "text/number.h"
#include "text/printable.h"
#include "text/state.h"
#include "view/output.h"

namespace minke::cli {

namespace fs = std::filesystem;

namespace {

constexpr int kMaxDepth = 6;
constexpr int kMaxSeconds = 3600;             // of one upload
constexpr size_t kMaxHead = size_t{1} << 20;  // a run names its job within these bytes

struct Run {
  std::string directory;  // …/wandb/offline-run-20261121_133852-klzzqi7y
  uint32_t job = 0;       // 0: it does not name one
  std::string state;      // of the job; empty: unknown
  bool running = false;
  bool uploaded = false;
};

// Returns the file of the run; empty if there is none.
std::string file_of(const std::string& directory) {
  std::error_code ignored;
  for (fs::directory_iterator entry(directory, ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    if (entry->path().extension() == ".wandb") return entry->path().string();
  }
  return "";
}

// wandb marks an uploaded run by a file beside it.
bool is_uploaded(const std::string& file) {
  return ::access((file + ".synced").c_str(), F_OK) == 0;
}

uint32_t job_of(const std::string& file) {
  const os::UniqueFd descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  const auto parser = ml::make_metric_parser("run.wandb");
  ml::MetricSet metrics;
  std::string buffer(65536, '\0');
  for (size_t at = 0; at < kMaxHead && parser->job_id() == 0;) {
    const ssize_t got = ::pread(descriptor.get(), buffer.data(), buffer.size(), static_cast<off_t>(at));
    if (got <= 0 || !parser->feed(std::string_view(buffer).substr(0, static_cast<size_t>(got)), metrics))
      break;
    at += static_cast<size_t>(got);
  }
  return parser->job_id();
}

void find_runs(const std::string& directory, int depth, std::vector<Run>& found) {
  std::error_code ignored;
  for (fs::directory_iterator entry(directory, ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    std::error_code unknown;
    if (!entry->is_directory(unknown) || entry->is_symlink(unknown))
      continue;  // "latest-run" is a link to another run
    const std::string name = entry->path().filename().string(), path = entry->path().string();
    if (name.starts_with("offline-run-")) {
      const std::string file = file_of(path);
      if (file.empty()) continue;
      found.push_back({path, job_of(file), "", false, is_uploaded(file)});
    } else if (depth < kMaxDepth && !name.starts_with('.') && name != "site-packages" &&
               name != "node_modules") {
      find_runs(path, depth + 1, found);
    }
  }
}

// Finds the states of the runs' jobs.
Status ask_for_jobs(std::vector<Run>& found) {
  api::QueryAccountingRequest query;
  for (const Run& run : found) {
    if (run.job != 0) query.mutable_filter()->add_jobs()->set_job_id(run.job);
  }
  if (query.filter().jobs_size() == 0) return {};
  query.mutable_filter()->set_all_states(true);
  auto cluster = engine::open();
  if (!cluster) return failure(cluster.error());
  const auto records = engine::fetch_accounting(**cluster, query);
  if (!records) return {};  // these are jobs of another cluster: their runs are as good as any
  for (Run& run : found) {
    for (const api::AccountedJob* one : records->records) {
      if (one->job().job_id() != run.job) continue;
      run.state = text::job_state_name(one->job().state());
      run.running = one->job().state() == model::JOB_RUNNING || one->job().state() == model::JOB_SUSPENDED;
    }
  }
  return {};
}

std::string program_on_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  for (const std::string_view directory : text::split(path == nullptr ? "" : path, ':')) {
    const std::string candidate = std::string(directory) + "/" + name;
    if (!directory.empty() && ::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

// Returns why it failed; empty if it did not. The last line is wandb's own message.
std::string upload(const std::string& wandb, const Run& run) {
  const auto done = os::run_captured(
      {wandb, "sync", run.directory},
      {.timeout_seconds = kMaxSeconds, .show = ::isatty(STDERR_FILENO) != 0, .environment = {"WANDB_MODE"}});
  if (!done) return done.error().message;
  if (done->exit_code == 0 && is_uploaded(file_of(run.directory))) return "";
  std::string last = "wandb sync did not upload it";
  for (const std::string_view line : text::split(done->output, '\n')) {
    if (!text::trim(line).empty()) last = text::trim(line);
  }
  return last;
}

// Returns how many could not be uploaded.
int upload_all(const std::string& wandb, std::vector<Run>& found) {
  int failed = 0;
  for (Run& run : found) {
    if (run.uploaded || run.running) continue;
    const std::string problem = upload(wandb, run);
    run.uploaded = problem.empty();
    if (run.uploaded) continue;
    ++failed;
    std::fprintf(stderr, "minke: %s: %s\n", run.directory.c_str(), problem.c_str());
  }
  return failed;
}

std::string json_of(const std::vector<Run>& found) {
  auto list = nlohmann::ordered_json::array();
  for (const Run& run : found) {
    list.push_back({{"directory", run.directory},
                    {"job_id", run.job},
                    {"state", run.state},
                    {"uploaded", run.uploaded}});
  }
  return list.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string table_of(const std::vector<Run>& found) {
  std::string out;
  for (const Run& run : found) {
    char line[64];
    std::snprintf(line, sizeof line, "%-8s  %8s  %-10s  ",
                  run.uploaded  ? "uploaded"
                  : run.running ? "running"
                                : "local",
                  run.job == 0 ? "-" : std::to_string(run.job).c_str(),
                  run.state.empty() ? "-" : run.state.c_str());
    out += line + text::printable(run.directory) + "\n";
  }
  return out;
}

}  // namespace

int runs(const RunsOptions& options) {
  std::vector<Run> found;
  for (const std::string& directory :
       options.directories.empty() ? std::vector<std::string>{"."} : options.directories) {
    std::error_code error;
    if (!fs::is_directory(directory, error)) return complain(directory + " is no directory");
    find_runs(directory, 0, found);
  }
  std::sort(found.begin(), found.end(), [](const Run& a, const Run& b) { return a.directory < b.directory; });
  if (const Status asked = ask_for_jobs(found); !asked) return complain(asked.error().message);
  int failed = 0;
  if (options.upload) {
    const std::string wandb = program_on_path("wandb");
    if (wandb.empty()) return complain("wandb is not on PATH; it does the upload: pip install wandb");
    failed = upload_all(wandb, found);
  }
  view::write_out(options.json ? json_of(found) : table_of(found));
  return failed > 0 ? 1 : 0;
}

}  // namespace minke::cli
