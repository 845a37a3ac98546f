#include "view/my_jobs.h"

#include <sys/wait.h>

#include <algorithm>
#include <map>

#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"
#include "model/job_state.pb.h"
#include "text/chain_comment.h"
#include "text/characters.h"
#include "text/job_id.h"
#include "text/printable.h"
#include "text/translate.h"
#include "view/colour.h"

namespace minke::view {

using text::marked;
using text::tr;

namespace {

using model::JobRecord;

struct Cell {
  std::string text;
  Meaning meaning = Meaning::kPlain;
};
using Line = std::vector<Cell>;

std::string ago(int64_t seconds) {
  if (seconds < 60) return tr("just now");
  if (seconds < 3600) return tr("{} min ago", {std::to_string(seconds / 60)});
  if (seconds < 172800) return tr("{} h ago", {std::to_string(seconds / 3600)});
  return tr("{} d ago", {std::to_string(seconds / 86400)});
}

std::string how_it_ended(const JobRecord& job, int64_t now) {
  const int status = job.exit_code();
  std::string out;
  if (job.state() == model::JOB_FAILED)
    out = WIFSIGNALED(status) ? tr("signal {}, ", {std::to_string(WTERMSIG(status))})
                              : tr("exit code {}, ", {std::to_string(WEXITSTATUS(status))});
  return out + ago(now - job.end_time());
}

// Where it runs, why it waits, or how it ended; and which part of a chain it is.
std::string place_or_reason(const JobRecord& job, int64_t now) {
  if (is_finished(job.state())) return how_it_ended(job, now);
  const std::string where = job.state() == model::JOB_PENDING ? "(" + std::string(reason_text(job)) + ")"
                                                              : text::printable(job.node_list());
  const std::string_view part = text::chain_part_in(job.spec().comment());
  return part.empty() ? where : where + (where.empty() ? "" : ", ") + std::string(part);
}

std::string time_left(const JobRecord& job, int64_t now) {
  if (job.state() != model::JOB_RUNNING) return "";
  if (job.end_time() == 0 || job.time_limit_minutes() == kUnlimited) return tr("no limit");
  std::string out;
  append_elapsed(out, std::max<int64_t>(0, job.end_time() - now));
  return out;
}

Line line_of(const JobRecord& job, int64_t now) {
  std::string elapsed;
  append_elapsed(elapsed, elapsed_seconds(job, now));
  return {{text::format_job_id(job)},
          {text::printable(job_name(job))},
          {std::string(state_text(job)), meaning_of(job.state())},
          {elapsed},
          {time_left(job, now)},
          {place_or_reason(job, now)}};
}

// "2 running". The words of states stay Slurm's in tables, where people look them up.
std::string count_of_state(const std::string& word, size_t count) {
  struct Known {
    std::string_view word, count;
  };
  static constexpr Known kKnown[] = {
      {"running", marked("{} running")},
      {"waiting", marked("{} waiting")},
      {"completed", marked("{} completed")},
      {"failed", marked("{} failed")},
      {"cancelled", marked("{} cancelled")},
      {"timeout", marked("{} timeout")},
      {"out of memory", marked("{} out of memory")},
      {"suspended", marked("{} suspended")},
  };
  for (const Known& known : kKnown)
    if (known.word == word) return text::tr_count(known.count, known.count, count);
  return std::to_string(count) + " " + word;
}

std::string laid_out(const std::vector<Line>& lines, size_t columns) {
  constexpr size_t kLongestName = 24;
  constexpr size_t kName = 1;
  std::vector<size_t> widths;
  for (const Line& line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    for (size_t i = 0; i < line.size(); ++i) {
      const size_t wanted = text::characters(line[i].text);
      widths[i] = std::max(widths[i], i == kName ? std::min(wanted, kLongestName) : wanted);
    }
  }
  std::string out;
  for (const Line& line : lines) {
    size_t left = columns == 0 ? SIZE_MAX : columns;
    std::string row;
    for (size_t i = 0; i < line.size() && left > 0; ++i) {
      const bool last = i + 1 == line.size();
      const size_t room = std::min(left, last ? SIZE_MAX : widths[i]);
      const std::string shown = text::first_characters(line[i].text, room);
      row += coloured(shown, line[i].meaning);
      left -= std::min(left, text::characters(shown));
      if (last) break;
      const size_t pad = std::min(left, widths[i] - std::min(widths[i], text::characters(shown)) + 2);
      row.append(pad, ' ');
      left -= pad;
    }
    row.erase(row.find_last_not_of(' ') + 1);
    out += row + "\n";
  }
  return out;
}

}  // namespace

std::string my_jobs_table(const MyJobs& jobs, const DisplayContext& context, size_t columns) {
  if (jobs.queued.empty() && jobs.ended.empty()) return tr("You have no jobs.") + "\n";
  std::vector<Line> lines = {{{tr("JOBID"), Meaning::kHeading},
                              {tr("NAME"), Meaning::kHeading},
                              {tr("STATE"), Meaning::kHeading},
                              {tr("TIME"), Meaning::kHeading},
                              {tr("LEFT"), Meaning::kHeading},
                              {tr("WHERE OR WHY"), Meaning::kHeading}}};
  for (const auto* list : {&jobs.queued, &jobs.ended})
    for (const JobRecord* job : *list) lines.push_back(line_of(*job, context.now));
  return laid_out(lines, columns);
}

std::string my_jobs_summary(const MyJobs& jobs) {
  const auto counted = [](const std::vector<const JobRecord*>& list) {
    std::map<std::string, size_t> counts;  // by the state's word
    for (const JobRecord* job : list) {
      std::string word(state_text(*job));
      std::transform(word.begin(), word.end(), word.begin(), [](char c) {
        return c == '_' ? ' ' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      });
      ++counts[word == "pending" ? "waiting" : word];
    }
    std::string out;
    for (const auto& [word, count] : counts)
      out.append(out.empty() ? "" : ", ").append(count_of_state(word, count));
    return out;
  };
  const std::string queued = counted(jobs.queued), ended = counted(jobs.ended);
  if (ended.empty()) return queued;
  return (queued.empty() ? "" : queued + tr("; ")) + tr("ended: ") + ended;
}

}  // namespace minke::view
