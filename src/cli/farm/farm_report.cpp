#include "cli/farm/farm_report.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "farming/table_file.h"
#include "farming/worker_files.h"
#include "os/fd.h"
#include "text/duration.h"
#include "view/output.h"

namespace minke::cli {
namespace {

constexpr int64_t kQuietSeconds = 30;  // between lines where there is no terminal

// Cases a second since the first one began.
double rate_of(const farm::Tally& tally) {
  const int64_t ms = tally.last_end_ms - tally.first_start_ms;
  return ms <= 0 ? 0 : static_cast<double>(tally.ended) * 1000 / static_cast<double>(ms);
}

constexpr const char* kNames[farm::kEndings] = {"exit code",        "signal",  "out of memory", "lost",
                                                "lost with a node", "stopped", "not started"};

std::string kinds_of_failure(const farming::Survey& survey) {
  std::string text;
  for (size_t i = 0; i < farm::kEndings; ++i)
    if (const uint64_t count = survey.tally.failed[i] + survey.lost_by[i]; count > 0)
      text += (text.empty() ? "" : ", ") + std::string(kNames[i]) + " " + std::to_string(count);
  return text;
}

std::string state_of(const farming::CaseState& state) {
  if (state.waits) return state.ended ? "waits again" : "waits";
  if (!state.ended || state.outcome.again) return "runs";
  return state.outcome.ok() ? "ok" : "failed";
}

// As RFC 4180 quotes a cell.
std::string cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

// The columns of all cases, in the order in which they appear; objects may differ.
Result<std::vector<std::string>> columns_of(const farming::FarmSettings& settings, farming::TableFile& table,
                                            uint64_t cases) {
  if (settings.form == farm::TableForm::kLines) return std::vector<std::string>{"case"};
  if (settings.form != farm::TableForm::kObjects) return settings.columns;
  std::vector<std::string> columns;
  for (uint64_t number = 1; number <= cases; ++number) {
    const auto line = table.line(number);
    if (!line) return failure(line.error());
    const auto values = farm::values_of(settings.form, {}, number, *line);
    if (!values) return failure(values.error());
    for (const std::string& name : values->names)
      if (std::find(columns.begin(), columns.end(), name) == columns.end()) columns.push_back(name);
  }
  return columns;
}

std::string ending_of(const farming::CaseState& state) {
  return state.ended ? farm::ending_text(state.outcome.ending, state.outcome.code) : "";
}

}  // namespace

ProgressReport::ProgressReport(std::string directory)
    : directory_(std::move(directory)), terminal_(::isatty(STDERR_FILENO) != 0) {}

ProgressReport::~ProgressReport() {
  if (line_is_open_) std::fputs("\n", stderr);
}

void ProgressReport::show(const farming::Survey& survey) {
  const std::string text = progress_text(survey);
  const int64_t now = std::time(nullptr);
  if (text == last_ || (!terminal_ && now - shown_ < kQuietSeconds)) return;
  last_ = text;
  shown_ = now;
  std::fprintf(stderr, terminal_ ? "\r%s\033[K" : "%s\n", text.c_str());
  std::fflush(stderr);
  line_is_open_ = terminal_;
}

void ProgressReport::say(const std::string& what) {
  if (line_is_open_) std::fputs("\n", stderr);
  line_is_open_ = false;
  view::print_error("minke farm", what);
}

std::string progress_text(const farming::Survey& survey) {
  const uint64_t done = survey.ok + survey.failed;
  std::string text = std::to_string(done) + " of " + std::to_string(survey.cases) + " cases";
  if (survey.failed > 0) text += ", " + std::to_string(survey.failed) + " failed";
  if (survey.running > 0) text += ", " + std::to_string(survey.running) + " run";
  const double rate = rate_of(survey.tally);
  if (rate > 0 && done > 0 && done < survey.cases) {
    char number[64];
    std::snprintf(number, sizeof number, ", %.3g a second, ", rate);
    text +=
        number +
        text::format_seconds_short(static_cast<int64_t>(static_cast<double>(survey.cases - done) / rate)) +
        " to go";
  }
  return text;
}

void print_summary(const farming::Survey& survey) {
  std::string text = std::to_string(survey.cases) + " cases: " + std::to_string(survey.ok) + " ok, " +
                     std::to_string(survey.failed) + " failed";
  if (const uint64_t rest = survey.cases - std::min(survey.cases, survey.ok + survey.failed); rest > 0)
    text += ", " + std::to_string(rest) + " left";
  view::write_out(text + "\n");
}

void print_status(const std::string& directory, const farming::Survey& survey) {
  view::write_out(directory + "\n" + progress_text(survey) + "\n");
  const auto line = [](const char* name, const std::string& value) {
    char start[32];
    std::snprintf(start, sizeof start, "%-10s", name);
    view::write_out(start + value + "\n");
  };
  line("ok", std::to_string(survey.ok));
  line("failed", std::to_string(survey.failed));
  line("waiting", std::to_string(survey.waiting));
  line("running", std::to_string(survey.running));
  line("workers", std::to_string(survey.workers));
  const uint64_t again = survey.tally.again + survey.lost_again;
  if (const std::string kinds = kinds_of_failure(survey); !kinds.empty())
    line("ends", kinds + (again > 0 ? "; run again: " + std::to_string(again) : ""));
  if (survey.tally.ended > 0) {
    char times[128];
    std::snprintf(times, sizeof times, "%.3f s on average, %.3f s at most",
                  static_cast<double>(survey.tally.run_us) / 1e6 / static_cast<double>(survey.tally.ended),
                  static_cast<double>(survey.tally.longest_us) / 1e6);
    line("a case", times);
  }
  if (survey.stopped) view::write_out("stopped: minke farm retry goes on\n");
}

std::string status_json(const std::string& directory, const farming::Survey& survey) {
  nlohmann::ordered_json ends = nlohmann::ordered_json::object();
  for (size_t i = 0; i < farm::kEndings; ++i)
    if (const uint64_t count = survey.tally.failed[i] + survey.lost_by[i]; count > 0) ends[kNames[i]] = count;
  const uint64_t ended = survey.tally.ended;
  const nlohmann::ordered_json status = {
      {"directory", directory},
      {"cases", survey.cases},
      {"ok", survey.ok},
      {"failed", survey.failed},
      {"waiting", survey.waiting},
      {"running", survey.running},
      {"workers", survey.workers},
      {"stopped", survey.stopped},
      {"ends", ends},
      {"run_again", survey.tally.again + survey.lost_again},
      {"cases_per_second", rate_of(survey.tally)},
      {"mean_seconds",
       ended == 0 ? 0 : static_cast<double>(survey.tally.run_us) / 1e6 / static_cast<double>(ended)},
      {"longest_seconds", static_cast<double>(survey.tally.longest_us) / 1e6}};
  return status.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Status print_log(farming::Journal& journal, uint64_t number) {
  const auto states = farming::case_states(journal);
  if (!states) return failure(states.error());
  if (number > states->size())
    return failure("the farm has " + std::to_string(states->size()) + " cases, and no case " +
                   std::to_string(number));
  const farming::CaseState& state = (*states)[number - 1];
  if (!state.ended)
    return failure("case " + std::to_string(number) + " " + state_of(state) + ": it has not ended yet");
  const std::string path =
      farming::worker_path(journal.directory(), state.worker, "output." + std::to_string(state.outcome.slot));
  const os::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return failure_from_errno(path, errno);
  uint64_t at = state.outcome.output_at, left = state.outcome.output_bytes;
  char buffer[64 << 10];
  while (left > 0) {
    const ssize_t got =
        ::pread(file.get(), buffer, std::min<uint64_t>(left, sizeof buffer), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got < 0 ? failure_from_errno(path, errno) : failure(path + " is too short");
    view::write_bytes({buffer, static_cast<size_t>(got)});
    at += static_cast<uint64_t>(got);
    left -= static_cast<uint64_t>(got);
  }
  if (!state.outcome.ok())
    std::fprintf(stderr, "case %llu: %s\n", static_cast<unsigned long long>(number),
                 ending_of(state).c_str());
  return {};
}

Status print_results(farming::Journal& journal, const farming::FarmSettings& settings) {
  const auto states = farming::case_states(journal);
  if (!states) return failure(states.error());
  auto table = farming::TableFile::open(journal.directory() + "/table");
  if (!table) return failure(table.error());
  const auto columns = columns_of(settings, *table, states->size());
  if (!columns) return failure(columns.error());
  std::string out = "number,state,end,attempts,seconds,max_rss_kib,node";
  for (const std::string& name : *columns) out += "," + cell(name);
  out += "\n";
  for (uint64_t number = 1; number <= states->size(); ++number) {
    const farming::CaseState& state = (*states)[number - 1];
    const auto line = table->line(number);
    if (!line) return failure(line.error());
    const auto values = farm::values_of(settings.form, settings.columns, number, *line);
    if (!values) return failure(values.error());
    char numbers[96];
    std::snprintf(numbers, sizeof numbers, "%u,%.6f,%u", state.ended ? state.outcome.attempt + 1 : 0,
                  static_cast<double>(state.outcome.run_us) / 1e6, state.outcome.max_rss_kib);
    const auto member = journal.ledger().members().find(state.worker);
    out += std::to_string(number) + "," + state_of(state) + "," + cell(ending_of(state)) + "," + numbers +
           "," + (state.ended && member != journal.ledger().members().end() ? cell(member->second.host) : "");
    for (const std::string& name : *columns) {
      const auto at = std::find(values->names.begin(), values->names.end(), name);
      const bool is_whole = settings.form == farm::TableForm::kLines;
      out += "," + (is_whole ? cell(values->whole)
                    : at == values->names.end()
                        ? std::string()
                        : cell(values->columns[static_cast<size_t>(at - values->names.begin())]));
    }
    out += "\n";
    if (out.size() > (1 << 16)) {
      view::write_bytes(out);
      out.clear();
    }
  }
  view::write_bytes(out);
  return {};
}

}  // namespace minke::cli
