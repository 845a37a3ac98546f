// check_record(): each ended job and step of the old record, as Minke's sacct shows it, against what the new
// Slurm's sacct shows. Of all rows there only their hashes are kept; the few that differ are asked for again.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <set>
#include <unordered_map>

#include "api/accounting.pb.h"
#include "grow/carry/check_parts.h"
#include "grow/carry/record_rows.h"
#include "grow/carry/utf8.h"
#include "text/number.h"
#include "text/printable.h"
#include "view/sacct.h"

namespace minke::grow {
namespace {

constexpr std::string_view kColumns =
    "JobIDRaw,Submit,JobID,JobName,User,Account,Partition,State,ExitCode,DerivedExitCode,Start,End,Elapsed,"
    "AllocTRES,"
    "ReqTRES,NCPUS,NNodes,NodeList,NTasks,MaxRSS,AveCPU,TotalCPU,UserCPU,SystemCPU,Timelimit,QOS,Priority,"
    "WorkDir,"
    "Comment,SubmitLine,ReqMem";
constexpr char kMark = '\x1f';
constexpr size_t kMostDifferences = 200;
constexpr size_t kJobsAtOnce = 200;
constexpr const char* kFirstDay = "1970-01-02";
// Without these words it leaves out what was cancelled before it was eligible.
constexpr const char* kEnded = "CD,F,CA,TO,NF,PR,BF,DL,OOM,RQ";

using Cells = std::vector<std::string>;

size_t column_count() {
  return static_cast<size_t>(std::count(kColumns.begin(), kColumns.end(), ',')) + 1;
}

// What tells rows apart.
std::string key_of(const Cells& row) {
  return row[0] + "@" + row[1];
}

// Slurm also counts GPUs by their types where AccountingStorageTRES names them.
std::string without_typed_gres(const std::string& tres) {
  std::string out;
  for (const std::string_view item : text::split(tres, ',')) {
    const size_t equals = item.find('=');
    const bool typed =
        item.starts_with("gres/") && item.substr(0, equals).find(':') != std::string_view::npos;
    if (!typed) out.append(out.empty() ? "" : ",").append(item);
  }
  return out;
}

constexpr size_t kNumberOfCpus = 15, kNodeList = 17, kQos = 25;

void make_comparable(Cells& row) {
  // Slurm does not count the CPUs of a job that never began.
  if (row.size() > kNodeList && row[kNodeList] == "None assigned") row[kNumberOfCpus].clear();
  if (row.size() > kQos && row[kQos] == "Unknown") row[kQos].clear();
  // How Slurm 22.05 shows a job without memory of its own.
  if (!row.empty() && row.back() == "16?") row.back() = "0";
  for (std::string& cell : row) {
    cell = as_utf8(cell);
    text::make_printable(cell);
    if (cell.find("gres/") != std::string::npos && cell.find('=') != std::string::npos)
      cell = without_typed_gres(cell);
  }
}

size_t hash_of(const Cells& row) {
  std::string all;
  for (const std::string& cell : row) all += cell + kMark;
  return std::hash<std::string>{}(all);
}

// Rows of `sacct -P`: a value may have line ends in it.
void read_rows(std::string_view text, const std::function<void(Cells&)>& take) {
  Cells row;
  std::string cell;
  for (size_t at = 0; at < text.size();) {
    const size_t line_end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, line_end - at);
    for (size_t mark = line.find(kMark); mark != std::string_view::npos; mark = line.find(kMark)) {
      row.push_back(cell + std::string(line.substr(0, mark)));
      cell.clear();
      line.remove_prefix(mark + 1);
    }
    cell += line;
    at = line_end + 1;
    if (row.size() + 1 < column_count()) {
      cell += '\n';
      continue;
    }
    row.push_back(std::move(cell));
    cell.clear();
    make_comparable(row);
    if (row.size() == column_count()) take(row);
    row.clear();
  }
}

class RecordCheck {
 public:
  explicit RecordCheck(const Commands& commands) : commands_(commands) {
    context_.display.now = std::time(nullptr);
    context_.display.time_format = "%s";
    context_.display.task_list_limit = 0;
    columns_ = *view::parse_print_format(view::sacct_fields(), std::string(kColumns));
  }

  Status read_there() {
    const auto text = ask({});
    if (!text) return failure(text.error());
    read_rows(*text, [&](Cells& row) { there_[key_of(row)] = hash_of(row); });
    return {};
  }

  Status take(const api::AccountedJob& accounted) {
    api::AccountedJob job = accounted;
    const bool again = job.job().job_id() == last_id_;
    last_submitted_ = submission_of(job, again ? last_submitted_ : 0, last_end_);
    last_id_ = job.job().job_id();
    last_end_ = job.job().end_time();
    job.mutable_job()->set_submit_time(last_submitted_);
    ++jobs_;
    compare_line(job, nullptr);
    for (const model::StepRecord& step : job.steps()) compare_line(job, &step);
    return {};
  }

  // Asks for what differs again, to say how.
  Status finish(Comparison& comparison) {
    for (auto from = different_.begin(); from != different_.end();) {
      std::set<std::string> ids;
      auto to = from;
      for (; to != different_.end() && ids.size() < kJobsAtOnce; ++to)
        ids.insert(to->second[0].substr(0, to->second[0].find('.')));
      std::string list;
      for (const std::string& id : ids) list += (list.empty() ? "" : ",") + id;
      const auto text = ask({"-j", list});
      if (!text) return failure(text.error());
      std::unordered_map<std::string, Cells> rows;
      read_rows(*text, [&](Cells& row) { rows[key_of(row)] = row; });
      for (; from != to; ++from) say(from->second, rows, comparison);
    }
    if (more_ > 0) comparison.remarks.push_back(fmt::format("{} more rows of the record differ", more_));
    comparison.equal.push_back(fmt::format("{} of {} ended jobs", jobs_ - different_jobs_.size(), jobs_));
    comparison.equal.push_back(fmt::format("{} steps", equal_steps_));
    return {};
  }

 private:
  Result<std::string> ask(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {
        "sacct", "-aDPn", std::string("--delimiter=") + kMark, "-S", kFirstDay, "-s", kEnded,
        "-E",    "now",   "--format=" + std::string(kColumns)};
    words.insert(words.end(), more.begin(), more.end());
    return commands_.ask(std::move(words));
  }

  void compare_line(const api::AccountedJob& job, const model::StepRecord* step) {
    const view::SacctLine line{.job = &job.job(), .step = step, .accounted = &job};
    Cells row;
    for (const view::SacctColumn& column : columns_) {
      row.emplace_back();
      column.field->append(line, context_, row.back());
    }
    make_comparable(row);
    const auto found = there_.find(key_of(row));
    if (found != there_.end() && found->second == hash_of(row)) {
      if (step != nullptr) ++equal_steps_;
      return;
    }
    different_jobs_.insert(job.job().job_id());
    if (different_.size() < kMostDifferences) {
      different_.emplace_back(found != there_.end(), std::move(row));
    } else {
      ++more_;
    }
  }

  void say(const Cells& before, const std::unordered_map<std::string, Cells>& rows,
           Comparison& comparison) const {
    const std::string what = (before[0].find('.') == std::string::npos ? "ended job " : "step ") + before[2];
    const auto now = rows.find(key_of(before));
    if (now == rows.end()) {
      comparison.differences.push_back({what, "it", "there", "not there"});
      return;
    }
    for (size_t i = 2; i < before.size(); ++i) {
      if (before[i] != now->second[i])
        comparison.differences.push_back(
            {what, std::string(columns_[i].field->name), before[i], now->second[i]});
    }
  }

  const Commands& commands_;
  view::SacctContext context_;
  std::vector<view::SacctColumn> columns_;
  std::unordered_map<std::string, size_t> there_;
  std::vector<std::pair<bool, Cells>> different_;
  std::set<uint32_t> different_jobs_;
  uint64_t jobs_ = 0, equal_steps_ = 0, more_ = 0;
  uint32_t last_id_ = 0;
  int64_t last_submitted_ = 0, last_end_ = 0;
};

}  // namespace

Status check_record(const Snapshot& snapshot, const Commands& commands, Comparison& comparison) {
  RecordCheck record(commands);
  if (const Status read = record.read_there(); !read) return read;
  const Status taken = snapshot.ended_jobs([&](const api::AccountedJob& job) { return record.take(job); });
  return taken ? record.finish(comparison) : taken;
}

}  // namespace minke::grow
