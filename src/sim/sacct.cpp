#include "sim/sacct.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "sched/ids.h"
#include "text/duration.h"
#include "text/memory.h"
#include "text/timestamp.h"

namespace minke::sim {
namespace {

std::string_view next_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

std::optional<std::uint64_t> whole(std::string_view text) {
  std::uint64_t value = 0;
  const auto done = std::from_chars(text.data(), text.data() + text.size(), value);
  if (done.ec != std::errc() || done.ptr == text.data()) return std::nullopt;
  return value;
}

class Reader {
 public:
  Result<Trace> read(std::string_view text) {
    std::uint64_t number = 0;
    while (!text.empty()) {
      const std::string_view line = next_line(text);
      ++number;
      if (line.empty()) continue;
      cells_ = split(line, '|');
      if (columns_.empty()) {
        for (const std::string_view name : cells_) columns_.push_back(lower(name));
        if (auto done = find_columns(); !done) return failure(done.error());
        continue;
      }
      if (cells_.size() != columns_.size()) {
        return failure("line " + std::to_string(number) + " has " + std::to_string(cells_.size()) +
                       " columns, not " + std::to_string(columns_.size()));
      }
      if (auto done = job(); !done)
        return failure("line " + std::to_string(number) + ": " + done.error().message);
    }
    std::stable_sort(trace_.jobs.begin(), trace_.jobs.end(),
                     [](const TraceJob& a, const TraceJob& b) { return a.submit < b.submit; });
    return std::move(trace_);
  }

 private:
  // The columns that exist, in the order of preference.
  using Columns = std::vector<std::size_t>;

  Columns named(std::initializer_list<const char*> names) const {
    Columns found;
    for (const char* name : names) {
      const auto column = std::find(columns_.begin(), columns_.end(), name);
      if (column != columns_.end()) found.push_back(static_cast<std::size_t>(column - columns_.begin()));
    }
    return found;
  }

  Status find_columns() {
    job_id_ = named({"jobidraw", "jobid"});
    eligible_ = named({"eligible", "submit"});
    submit_ = named({"submit"});
    elapsed_raw_ = named({"elapsedraw"});
    elapsed_ = named({"elapsed"});
    limit_raw_ = named({"timelimitraw"});
    limit_ = named({"timelimit"});
    cpus_ = named({"alloccpus", "ncpus", "reqcpus"});
    nodes_ = named({"allocnodes", "nnodes"});
    memory_ = named({"reqmem"});
    tres_ = named({"alloctres", "reqtres"});
    user_ = named({"user"});
    group_ = named({"group"});
    account_ = named({"account"});
    partition_ = named({"partition"});
    qos_ = named({"qos"});
    if (job_id_.empty()) return failure("there is no column JobID");
    if (eligible_.empty()) return failure("there is no column Submit");
    if (elapsed_raw_.empty() && elapsed_.empty()) return failure("there is no column Elapsed");
    if (tres_.empty() && cpus_.empty()) return failure("there is no column AllocTRES, ReqTRES or AllocCPUS");
    return {};
  }

  // Returns the first of the columns that is not empty.
  std::string_view cell(const Columns& columns) const {
    for (const std::size_t column : columns) {
      if (!cells_[column].empty()) return cells_[column];
    }
    return {};
  }

  Status job() {
    const bool is_step = std::any_of(job_id_.begin(), job_id_.end(), [&](std::size_t column) {
      return cells_[column].find('.') != std::string_view::npos;
    });
    if (is_step) return {};
    TraceJob job;
    const auto id = whole(cell(job_id_));
    if (!id) return failure("no job id");
    job.id = *id;
    // The time at which it could first have started: before that, a job with a begin time or a dependency was
    // not waiting for resources.
    auto submitted = text::parse_time(cell(eligible_), 0);
    if (!submitted) submitted = text::parse_time(cell(submit_), 0);
    const auto elapsed = seconds(elapsed_raw_, elapsed_, 1);
    if (!elapsed || *elapsed <= 0 || !submitted) {
      ++trace_.left_out;
      return {};
    }
    job.submit = *submitted;
    job.runs = *elapsed;
    job.asks = seconds(limit_raw_, limit_, 60).value_or(-1);
    if (job.asks <= 0) job.asks = sched::kUnlimitedSeconds;
    job.runs = std::min(job.runs, job.asks);
    job.processors =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(whole(cell(cpus_)).value_or(0), 0x7fffffff));
    job.nodes = static_cast<std::uint32_t>(std::min<std::uint64_t>(whole(cell(nodes_)).value_or(0), 1000000));
    requested_memory(job);
    if (auto done = tres(cell(tres_), job); !done) return done;
    if (job.processors == 0) {
      ++trace_.left_out;
      return {};
    }
    job.nodes = std::min(job.nodes, job.processors);
    job.user = trace_.names.number_of(cell(user_));
    job.group = trace_.names.number_of(cell(group_));
    job.account = trace_.names.number_of(cell(account_));
    job.partition = trace_.names.number_of(split(cell(partition_), ',').front());
    job.qos = trace_.names.number_of(cell(qos_));
    trace_.jobs.push_back(job);
    return {};
  }

  std::optional<std::int64_t> seconds(const Columns& raw, const Columns& text, std::int64_t unit) const {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 40;
    if (const auto value = whole(cell(raw)); value && *value < kMost)
      return static_cast<std::int64_t>(*value) * unit;
    const std::string_view written = cell(text);
    if (written.empty()) return std::nullopt;
    // Fractions of seconds, which sacct never prints here, would not be a time.
    const auto value = text::parse_seconds(written);
    if (!value) return std::nullopt;
    return *value;
  }

  // "4Gn" of each node, "2000Mc" of each CPU, "16G" in all (since Slurm 21.08).
  void requested_memory(TraceJob& job) const {
    std::string_view text = cell(memory_);
    std::uint64_t times = 1;
    if (text.ends_with('n')) times = std::max(1u, job.nodes);
    if (text.ends_with('c')) times = std::max(1u, job.processors);
    if (text.ends_with('n') || text.ends_with('c')) text.remove_suffix(1);
    if (const auto mib = text::parse_mib(text); mib && *mib < (std::uint64_t{1} << 40))
      job.memory_mib = *mib * times;
  }

  Status tres(std::string_view text, TraceJob& job) {
    if (text.empty()) return {};
    std::uint32_t typed = 0;
    for (const std::string_view term : split(text, ',')) {
      const std::size_t equals = term.find('=');
      if (equals == std::string_view::npos) return failure("TRES without a count: " + std::string(term));
      const std::string_view name = term.substr(0, equals);
      const std::string_view value = term.substr(equals + 1);
      const auto count =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(whole(value).value_or(0), 0x7fffffff));
      if (name == "cpu") job.processors = count;
      if (name == "node") job.nodes = std::min(count, 1000000u);
      if (name == "gres/gpu") job.gpus = std::max(job.gpus, count);
      if (name.starts_with("gres/gpu:") && count > 0) {
        typed += count;
        job.gpu_type = trace_.names.number_of(name.substr(9));
      }
      if (name == "mem") {
        if (const auto mib = text::parse_mib(value); mib && *mib < (std::uint64_t{1} << 50))
          job.memory_mib = *mib;
      }
    }
    job.gpus = std::max(job.gpus, typed);
    return {};
  }

  Trace trace_;
  std::vector<std::string> columns_;
  Columns job_id_, eligible_, submit_, elapsed_raw_, elapsed_, limit_raw_, limit_, cpus_, nodes_, memory_,
      tres_, user_, group_, account_, partition_, qos_;
  std::vector<std::string_view> cells_;
};

}  // namespace

bool looks_like_sacct(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    if (!line.empty()) return !line.starts_with(';') && line.find('|') != std::string_view::npos;
  }
  return false;
}

Result<Trace> read_sacct(std::string_view text) {
  return Reader().read(text);
}

}  // namespace minke::sim
