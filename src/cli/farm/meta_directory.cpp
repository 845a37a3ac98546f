#include "cli/farm/meta_directory.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <tuple>

#include "farming/journal.h"
#include "farming/worker_files.h"
#include "os/files.h"
#include "text/number.h"
#include "view/output.h"

namespace minke::cli {
namespace {

constexpr size_t kMostBytes = size_t{1} << 30;

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(directory.c_str()), ::closedir);
  if (open == nullptr) return names;
  while (const dirent* entry = ::readdir(open.get())) names.emplace_back(entry->d_name);
  return names;
}

uint32_t last_number() {
  uint32_t last = 0;
  for (const std::string& name : names_in("MISC")) {
    if (!name.starts_with("run-")) continue;
    const auto number = text::parse_unsigned(std::string_view(name).substr(4), 1u << 30);
    if (number) last = std::max(last, static_cast<uint32_t>(*number));
  }
  return last;
}

std::string format_run(const MetaRun& run) {
  std::string lines = "submitted " + std::to_string(run.submitted ? 1 : 0) + "\ncases " +
                      std::to_string(run.cases) + "\nat-once " + std::to_string(run.at_once) + "\nsimple " +
                      std::to_string(run.simple ? 1 : 0) + "\nresubmits " +
                      std::to_string(run.resubmits ? 1 : 0) + "\nruntime " + std::to_string(run.runtime) +
                      "\n";
  for (const MetaJobs& jobs : run.jobs)
    lines += "jobs " + jobs.key + " " + std::to_string(jobs.count) + " " + std::to_string(jobs.job_id) + "\n";
  for (const std::string& word : run.words) lines += "word " + word + "\n";
  return lines;
}

// False: the line says nothing.
bool read_line(MetaRun& run, std::string_view line) {
  const size_t blank = line.find(' ');
  if (blank == std::string_view::npos) return false;
  const std::string_view name = line.substr(0, blank), rest = line.substr(blank + 1);
  if (name == "word") {
    run.words.emplace_back(rest);
    return true;
  }
  if (name == "jobs") {
    const auto parts = text::split(rest, ' ');
    if (parts.size() != 3) return false;
    const auto count = text::parse_unsigned(parts[1], 1u << 30), id = text::parse_unsigned(parts[2], ~0u);
    if (!count || !id) return false;
    run.jobs.push_back({std::string(parts[0]), static_cast<uint32_t>(*count), static_cast<uint32_t>(*id)});
    return true;
  }
  const auto number = text::parse_unsigned(rest);
  if (!number) return false;
  if (name == "submitted") run.submitted = *number != 0;
  if (name == "cases") run.cases = *number;
  if (name == "at-once") run.at_once = static_cast<uint32_t>(*number);
  if (name == "simple") run.simple = *number != 0;
  if (name == "resubmits") run.resubmits = *number != 0;
  if (name == "runtime") run.runtime = static_cast<int64_t>(*number);
  return true;
}

}  // namespace

int farm_complain(const std::string& what) {
  view::write_out(what + "\n");
  return 1;
}

Result<std::string> read_farm_file(const std::string& name) {
  return os::read_file(name, kMostBytes);
}

Result<MetaRun> read_last_run() {
  MetaRun run;
  run.number = last_number();
  if (run.number == 0) return run;
  const auto content = read_farm_file(run.directory() + "/run");
  if (!content) return failure(content.error());
  for (const std::string_view line : text::split(*content, '\n'))
    if (!line.empty() && !read_line(run, line))
      return failure(run.directory() + "/run is damaged: " + std::string(line));
  struct stat table {};
  if (::stat((run.directory() + "/table.dat").c_str(), &table) == 0) run.begun = table.st_mtime;
  return run;
}

Status write_run(const MetaRun& run) {
  return os::replace_file(run.directory() + "/run", format_run(run), 0644);
}

Status make_run(const MetaRun& run, const std::string& table) {
  const std::string place = run.directory() + ".new";
  std::error_code ignored;
  std::filesystem::remove_all(place, ignored);
  if (const Status made = os::make_directories(place, 0755); !made) return made;
  if (const Status written = os::replace_file(place + "/table.dat", table, 0644); !written) return written;
  if (const Status written = os::replace_file(place + "/run", format_run(run), 0644); !written)
    return written;
  if (const Status made = farming::Journal::create(place, run.cases); !made) return made;
  if (::rename(place.c_str(), run.directory().c_str()) != 0)
    return failure_from_errno(run.directory(), errno);
  return {};
}

Result<MetaStatuses> read_statuses() {
  MetaStatuses statuses;
  std::vector<std::pair<timespec, std::string>> files;
  for (const std::string& name : names_in("STATUSES")) {
    struct stat info {};
    const std::string path = "STATUSES/" + name;
    if (name.starts_with("status.") && ::stat(path.c_str(), &info) == 0)
      files.emplace_back(info.st_mtim, path);
  }
  // The last one written counts.
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first.tv_sec, a.first.tv_nsec, a.second) <
           std::tie(b.first.tv_sec, b.first.tv_nsec, b.second);
  });
  for (const auto& [time, path] : files) {
    const auto content = read_farm_file(path);
    if (!content) return failure(content.error());
    statuses.lines += farm::add_statuses(*content, statuses.of);
  }
  return statuses;
}

Result<farm::Tally> run_tally(const MetaRun& run) {
  farm::Tally all;
  auto journal = farming::Journal::open(run.directory());
  if (!journal) return failure(journal.error());
  if (const Status read = journal->look(); !read) return failure(read.error());
  for (const auto& [number, member] : journal->ledger().members()) {
    const auto tally = farming::tally_of(run.directory(), number);
    if (!tally) return failure(tally.error());
    all.add(*tally);
  }
  return all;
}

}  // namespace minke::cli
