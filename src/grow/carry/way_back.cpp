// way_back(): the jobs that were carried and wait leave the new Slurm again; those that have begun are named.
#include <algorithm>
#include <set>

#include "grow/carry/carry.h"
#include "grow/carry/closed_partitions.h"
#include "grow/carry/commands.h"
#include "grow/carry/later_jobs.h"
#include "grow/carry/snapshot.h"
#include "grow/carry/waiting_jobs.h"
#include "text/number.h"

namespace minke::grow {
namespace {

constexpr size_t kJobsAtOnce = 200;

Status cancel(const Commands& commands, const std::vector<std::string>& ids) {
  for (size_t from = 0; from < ids.size(); from += kJobsAtOnce) {
    std::vector<std::string> words = {"scancel", "-Q"};
    const size_t to = std::min(ids.size(), from + kJobsAtOnce);
    words.insert(words.end(), ids.begin() + static_cast<std::ptrdiff_t>(from),
                 ids.begin() + static_cast<std::ptrdiff_t>(to));
    if (const Status done = commands.change(std::move(words)); !done) return done;
  }
  return {};
}

}  // namespace

Result<WayBack> way_back(const std::string& directory, const NewSlurm& slurm) {
  const auto snapshot = Snapshot::open(directory);
  if (!snapshot) return failure(snapshot.error());
  const auto waiting = waiting_jobs(*snapshot);
  if (!waiting) return failure(waiting.error());
  std::set<uint32_t> carried;
  for (const WaitingJob& job : waiting->jobs) carried.insert(job.id);
  const Commands commands(slurm);
  ClosedPartitions partitions(commands, directory);
  if (const Status closed = partitions.close(); !closed) return failure(closed.error());
  const auto rows = commands.table({"squeue", "-har", "-t", "all", "-o", "%F|%i|%t"}, 3);
  if (!rows) return failure(rows.error());
  std::set<std::string> begun;
  std::vector<std::string> waits;
  for (const auto& row : *rows) {
    const auto id = text::parse_unsigned(row[0], 0xffffffff);
    if (!id || !carried.contains(static_cast<uint32_t>(*id))) continue;
    if (row[2] == "PD") {
      waits.push_back(row[1]);
    } else if (row[2] != "CA") {
      begun.insert(row[1]);
    }
  }
  const auto later = later_jobs(commands, *snapshot, carried);
  if (!later) return failure(later.error());
  for (const LaterJob& one : *later) {
    if (one.begun) begun.insert(one.id);
  }
  if (const Status cancelled = cancel(commands, waits); !cancelled) return failure(cancelled.error());
  return WayBack{.taken_back = std::move(waits), .begun = {begun.begin(), begun.end()}};
}

}  // namespace minke::grow
