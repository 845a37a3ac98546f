#include "engine/slurm/quota_holds.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <sstream>
#include <thread>

#include "api/job_filter.pb.h"
#include "api/jobs.pb.h"
#include "config/configuration.h"
#include "engine/embedded/accounts/users.h"
#include "engine/slurm/slurm_engine.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "os/fd.h"
#include "os/files.h"
#include "os/helper_program.h"
#include "os/program_output.h"
#include "text/number.h"

namespace minke::engine::slurm {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds kLongestPeriod = 60s;
constexpr int kTimesItsOwn = 20;  // a round takes at most 1/20 of the time
constexpr std::chrono::seconds kCountingPatience = 600s;
constexpr size_t kMostKept = size_t{16} << 20;
constexpr size_t kMostOutput = size_t{16} << 20;

// All that it prints, where it ends with 0.
Result<std::string> output_of(const std::vector<std::string>& words, int input) {
  auto program = os::ProgramOutput::start(
      words, {.timeout = kCountingPatience, .most_bytes = kMostOutput, .input = input});
  if (!program) return failure(program.error());
  std::string output;
  char buffer[65536];
  for (;;) {
    const auto got = program->read(buffer, sizeof buffer);
    if (!got) return failure(got.error());
    if (*got == 0) break;
    output.append(buffer, *got);
  }
  const auto ended = program->finish();
  if (!ended) return failure(ended.error());
  if (ended->exit_code != 0) return failure("counting ends with an error: " + ended->complaint);
  return output;
}

}  // namespace

QuotaHolds::QuotaHolds(SlurmEngine& cluster, const config::Configuration& config, std::string directory)
    : cluster_(cluster), config_(config), path_(std::move(directory) + "/quota-holds") {
  read();
}

// Lines: "held ID", "over SPACE_SINCE FILES_SINCE PATH".
void QuotaHolds::read() {
  const auto text = os::read_file(path_, kMostKept);
  if (!text) return;
  kept_ = *text;
  std::istringstream lines(kept_);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string word, path;
    uint32_t id = 0;
    QuotaUse use;
    fields >> word;
    if (word == "held" && fields >> id) held_.insert(id);
    if (word == "over" && fields >> use.space_over >> use.files_over && fields.get() == ' ' &&
        std::getline(fields, path))
      uses_[path] = use;
  }
}

Status QuotaHolds::keep() {
  std::string text;
  for (const uint32_t id : held_) text += "held " + std::to_string(id) + "\n";
  for (const auto& [path, use] : uses_) {
    if (path.find('\n') == std::string::npos && (use.space_over != 0 || use.files_over != 0))
      text +=
          "over " + std::to_string(use.space_over) + " " + std::to_string(use.files_over) + " " + path + "\n";
  }
  if (text == kept_) return {};
  if (const Status made = os::make_directories(path_.substr(0, path_.rfind('/')), 0700); !made) return made;
  if (const Status written = os::replace_file(path_, text, 0600); !written) return written;
  kept_ = std::move(text);
  return {};
}

Result<std::map<QuotaHolds::Owner, QuotaHolds::Waiting>> QuotaHolds::waiting() const {
  std::map<Owner, Waiting> all;
  api::QueryJobsRequest request;
  request.mutable_filter()->add_states(model::JOB_PENDING);
  const Status asked = cluster_.jobs(request, [&](api::JobsReply& part) -> Status {
    for (const model::JobRecord& job : part.jobs()) {
      Waiting& jobs = all[{job.uid(), job.gid()}];
      jobs.user = job.user_name();
      jobs.group = job.group_name();
      const uint32_t id =
          job.array_job_id() != 0 && !job.has_array_task_id() ? job.array_job_id() : job.job_id();
      (job.priority() == 0 ? jobs.held : jobs.free).insert(id);
    }
    return {};
  });
  if (!asked) return failure(asked.error());
  return all;
}

std::vector<QuotaHolds::Place> QuotaHolds::places_of(const Owner& owner, const Waiting& jobs) const {
  std::vector<Place> places;
  const std::string home = home_directory_of(owner.first);
  for (const storage::Tier& tier : config_.storage.tiers(config_.home)) {
    if ((tier.space == 0 && tier.files == 0) || tier.of_node) continue;
    const auto path = storage::tier_path(tier, jobs.user, jobs.group, home);
    if (path && *path != "/") places.push_back({tier, *path});
  }
  return places;
}

// One process for all of them; what it does not tell of stays as it was.
void QuotaHolds::count(const std::vector<Place>& places) {
  std::string paths;
  for (const Place& place : places) paths.append(place.path).push_back('\0');
  const os::UniqueFd input(::memfd_create("minke-count", MFD_CLOEXEC));
  if (!input || ::write(input.get(), paths.data(), paths.size()) != static_cast<ssize_t>(paths.size()) ||
      ::lseek(input.get(), 0, SEEK_SET) != 0)
    return;
  const auto told = output_of(os::helper_command(os::Helper::kStorageCount, {config_.home}), input.get());
  if (!told) {
    std::fprintf(stderr, "minke agent: quotas: %s\n", told.error().message.c_str());
    return;
  }
  std::istringstream lines(*told);
  size_t index = 0;
  uint64_t space = 0, files = 0, milliseconds = 0;
  while (lines >> index >> space >> files >> milliseconds) {
    if (index >= places.size()) continue;
    const Place& place = places[index];
    uses_[place.path] = counted_use(place.tier, space, files, uses_[place.path], std::time(nullptr));
  }
}

Status QuotaHolds::change(const std::map<Owner, Waiting>& waiting,
                          const std::map<Owner, std::string>& problems) {
  std::set<uint32_t> still, released;
  Status done;
  for (const auto& [owner, jobs] : waiting) {
    const std::string& problem = problems.at(owner);
    for (const uint32_t id : jobs.held) {
      if (held_.contains(id)) (problem.empty() ? released : still).insert(id);
    }
    if (problem.empty() || jobs.free.empty()) continue;
    still.insert(jobs.free.begin(), jobs.free.end());
    // Before they are held: who is killed in between releases them later.
    held_.insert(jobs.free.begin(), jobs.free.end());
    if (const Status kept = keep(); !kept) return kept;
    if (const Status held = cluster_.hold_because(jobs.free, problem); !held) done = held;
  }
  if (!released.empty()) {
    if (const Status freed = cluster_.release_again(released); !freed) {
      done = freed;
      still.insert(released.begin(), released.end());
    }
  }
  held_ = std::move(still);
  const Status kept = keep();
  return done ? kept : done;
}

Status QuotaHolds::round() {
  const auto all = waiting();
  if (!all) return failure(all.error());
  std::map<Owner, std::vector<Place>> places;
  std::vector<Place> counted;
  for (const auto& [owner, jobs] : *all) {
    places[owner] = places_of(owner, jobs);
    counted.insert(counted.end(), places[owner].begin(), places[owner].end());
  }
  if (!counted.empty()) count(counted);
  const int64_t grace = int64_t{config_.storage.grace_minutes} * 60;
  std::map<Owner, std::string> problems;
  for (const auto& [owner, own] : places) {
    std::string& problem = problems[owner];
    for (const Place& place : own) {
      const auto use = uses_.find(place.path);
      if (problem.empty() && use != uses_.end())
        problem = quota_problem(place.tier, place.path, use->second, grace, std::time(nullptr));
    }
  }
  return change(*all, problems);
}

void QuotaHolds::run() {
  const std::chrono::seconds usual =
      std::min(kLongestPeriod, std::chrono::seconds(config_.storage.count_seconds));
  std::string said;
  for (;;) {
    const auto began = std::chrono::steady_clock::now();
    const Status done = round();
    const std::string problem = done ? "" : done.error().message;
    if (problem != said && !problem.empty())
      std::fprintf(stderr, "minke agent: quotas: %s\n", problem.c_str());
    said = problem;
    const auto took = std::chrono::steady_clock::now() - began;
    std::this_thread::sleep_for(std::max<std::chrono::steady_clock::duration>(usual, took * kTimesItsOwn));
  }
}

}  // namespace minke::engine::slurm
