// check_queue(): each waiting job, as Minke's squeue shows it, against what the new Slurm's squeue shows. A
// job that has begun or ended there since is one that went on.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "grow/carry/check_parts.h"
#include "grow/carry/later_jobs.h"
#include "grow/carry/utf8.h"
#include "grow/carry/waiting_jobs.h"
#include "text/array_spec.h"
#include "text/number.h"
#include "text/printable.h"
#include "view/job_fields.h"
#include "view/table.h"

namespace minke::grow {
namespace {

struct QueueColumn {
  char letter;
  const char* name;
};
constexpr QueueColumn kCompared[] = {
    {'u', "UserId"},   {'a', "Account"},     {'P', "Partition"},   {'q', "QOS"},
    {'j', "JobName"},  {'l', "TimeLimit"},   {'c', "MinCPUsNode"}, {'d', "MinTmpDisk"},
    {'f', "Features"}, {'m', "MinMemory"},   {'n', "ReqNodeList"}, {'x', "ExcNodeList"},
    {'o', "Command"},  {'v', "Reservation"}, {'w', "WCKey"},       {'y', "Nice"},
    {'k', "Comment"},  {'b', "TresPerNode"}, {'W', "Licenses"},    {'Z', "WorkDir"},
    {'G', "GroupId"},  {'O', "Contiguous"},  {'X', "CoreSpec"},    {'C', "NumCPUs"},
    {'D', "NumNodes"},
};
constexpr char kMark = '\x1f';
constexpr size_t kOwn = 5;  // cells in front: number, state, reason, dependency, tasks

using Cells = std::vector<std::string>;

std::string squeue_format() {
  std::string format;
  for (const char letter : {'F', 't', 'r', 'E', 'K'}) format += std::string("%") + letter + kMark;
  for (const QueueColumn& column : kCompared) format += std::string("%") + column.letter + kMark;
  return format;
}

// "afterok:1(unfulfilled)" without what has become of it.
std::string plain_dependency(std::string_view words) {
  if (words == "(null)") return {};
  std::string out;
  bool inside = false;
  for (const char c : words) {
    inside = (inside || c == '(') && c != ')';
    if (!inside && c != ')') out += c;
  }
  return out;
}

// It is fulfilled, or not, from one look to the next.
std::string without_singleton(std::string_view words) {
  std::string out;
  for (const std::string_view term : text::split(words, ',')) {
    if (term != "singleton" && !term.empty()) out.append(out.empty() ? "" : ",").append(term);
  }
  return out;
}

// The same value in the words of several releases.
std::string plain_cell(char letter, std::string cell) {
  cell = text::printable(as_utf8(cell));
  if (letter == 'D') return cell.substr(0, cell.find('-'));  // 26.05: least and most
  if (letter == 'b') {
    for (size_t at = cell.find("gres:"); at != std::string::npos; at = cell.find("gres:"))
      cell.replace(at, 5, "gres/");
  }
  return cell == "(null)" || cell == "N/A" ? std::string() : cell;
}

struct Waiting {
  std::vector<Cells> rows;  // of an array perhaps several
  bool went_on = false;
};

std::map<uint32_t, Waiting> read_queue(std::string_view text) {
  std::map<uint32_t, Waiting> queue;
  for (const std::string_view line : text::split(text, '\n')) {
    Cells row;
    for (const std::string_view cell : text::split(line, kMark)) row.emplace_back(cell);
    if (row.size() < kOwn + std::size(kCompared)) continue;
    const auto id = text::parse_unsigned(row[0], 0xffffffff);
    if (!id) continue;
    Waiting& one = queue[static_cast<uint32_t>(*id)];
    if (row[1] == "PD") {
      one.rows.push_back(std::move(row));
    } else {
      one.went_on = true;
    }
  }
  return queue;
}

class QueueCheck {
 public:
  QueueCheck(std::map<uint32_t, Waiting> queue, Comparison& comparison)
      : queue_(std::move(queue)), comparison_(comparison) {
    for (const QueueColumn& column : kCompared)
      fields_.push_back(view::find_field(view::job_fields(), column.letter));
  }

  // False: it is not in the queue.
  bool take(const WaitingJob& job) {
    const auto found = queue_.find(job.id);
    if (found == queue_.end()) return false;
    const size_t before = comparison_.differences.size();
    for (const Cells& row : found->second.rows) compare(job, row);
    if (!found->second.went_on && job.record.array_pending().ranges_size() > 0)
      compare_tasks(job, found->second.rows);
    if (comparison_.differences.size() != before) return true;
    ++(found->second.rows.empty() ? gone_on_ : equal_);
    return true;
  }
  void gone_on() { ++gone_on_; }
  size_t equal() const { return equal_; }
  size_t number_gone_on() const { return gone_on_; }

 private:
  void differ(const WaitingJob& job, const std::string& field, const std::string& before,
              const std::string& now) {
    if (before != now)
      comparison_.differences.push_back({"job " + std::to_string(job.id), field, before, now});
  }

  void compare(const WaitingJob& job, const Cells& row) {
    view::DisplayContext context;
    context.task_list_limit = 0;
    const view::JobLine line = view::JobLine::of(job.record);
    for (size_t i = 0; i < fields_.size(); ++i) {
      std::string before;
      fields_[i]->append(line, context, before);
      // Slurm counts the CPUs of GPUs at once.
      if (kCompared[i].letter == 'C' && job.record.spec().has_cpus_per_gpu()) continue;
      differ(job, kCompared[i].name, plain_cell(kCompared[i].letter, before),
             plain_cell(kCompared[i].letter, row[kOwn + i]));
    }
    differ(job, "Dependency", without_singleton(job.dependency), without_singleton(plain_dependency(row[3])));
    const std::string held = job.held ? (job.held_by_user ? "JobHeldUser" : "JobHeldAdmin") : "";
    const bool is_held = row[2].find("JobHeld") != std::string::npos;
    // What awaits a job of the old engine's is released when that has ended.
    if (job.held_tasks.empty() && !job.awaits_running)
      differ(job, "hold", held,
             !is_held                                          ? ""
             : row[2].find("JobHeldUser") != std::string::npos ? "JobHeldUser"
                                                               : "JobHeldAdmin");
  }

  void compare_tasks(const WaitingJob& job, const std::vector<Cells>& rows) {
    std::string all;
    for (const Cells& row : rows) all += (all.empty() ? "" : ",") + row[4].substr(0, row[4].find('%'));
    auto there = text::parse_index_list(all);
    model::ArraySpec before = job.record.array_pending();
    before.set_max_running(0);
    const auto wanted = text::parse_index_list(text::format_array_tasks(before, 0));
    if (!there || !wanted) return differ(job, "ArrayTaskId", text::format_array_tasks(before, 0), all);
    differ(job, "ArrayTaskId", text::format_array_tasks(*wanted, 0), text::format_array_tasks(*there, 0));
  }

  std::map<uint32_t, Waiting> queue_;
  Comparison& comparison_;
  std::vector<const view::JobField*> fields_;
  size_t equal_ = 0, gone_on_ = 0;
};

}  // namespace

Status check_queue(const Snapshot& snapshot, const Commands& commands, Comparison& comparison) {
  const auto waiting = waiting_jobs(snapshot);
  if (!waiting) return failure(waiting.error());
  comparison.remarks.insert(comparison.remarks.end(), waiting->remarks.begin(), waiting->remarks.end());
  const auto text = commands.ask({"squeue", "-ha", "-t", "all", "-o", squeue_format()});
  if (!text) return failure(text.error());
  QueueCheck check(read_queue(*text), comparison);
  std::set<uint32_t> missing;
  for (const WaitingJob& job : waiting->jobs) {
    if (!check.take(job)) missing.insert(job.id);
  }
  // They may have ended, and slurmctld have forgotten them.
  const auto later = later_jobs(commands, snapshot, missing);
  if (!later) return failure(later.error());
  std::set<uint32_t> known;
  for (const LaterJob& one : *later) known.insert(one.number);
  for (const uint32_t id : missing) {
    if (known.contains(id)) {
      check.gone_on();
    } else {
      comparison.differences.push_back({"job " + std::to_string(id), "it", "waiting", "not there"});
    }
  }
  comparison.equal.push_back(
      fmt::format("{} of {} waiting jobs", check.equal() + check.number_gone_on(), waiting->jobs.size()));
  if (!waiting->jobs.empty())
    comparison.remarks.emplace_back(
        "times of submission are those at which Slurm got the jobs; how long they had waited is their "
        "SiteFactor");
  if (check.number_gone_on() > 0)
    comparison.remarks.push_back(
        fmt::format("{} of the jobs that waited have begun or ended since", check.number_gone_on()));
  return {};
}

}  // namespace minke::grow
