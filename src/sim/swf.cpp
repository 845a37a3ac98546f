#include "sim/swf.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <unordered_map>

namespace minke::sim {
namespace {

enum Field {
  kId,
  kSubmit,
  kWait,
  kRuns,
  kUsed,
  kCpuTime,
  kMemory,
  kWanted,
  kAsks,
  kMemoryWanted,
  kStatus,
  kUser,
  kGroup,
  kProgram,
  kQueue,
  kPartition,
  kPreceding,
  kThink,
  kFields
};
constexpr double kMost = 1e15;  // a larger number is neither a time nor a count

std::string_view next_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

void skip_blanks(std::string_view& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\f\v");
  text.remove_prefix(begin == std::string_view::npos ? text.size() : begin);
}

std::optional<double> next_number(std::string_view& text) {
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool ends_well = end == text.data() + text.size() || *end == ' ' || *end == '\t' || *end == '\r';
  if (problem != std::errc() || !ends_well || !(std::abs(value) < kMost)) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

// Reads "; MaxProcs: 100", with blanks anywhere.
std::optional<std::uint32_t> header(std::string_view comment, std::string_view name) {
  comment.remove_prefix(1);
  skip_blanks(comment);
  if (!comment.starts_with(name)) return std::nullopt;
  comment.remove_prefix(name.size());
  skip_blanks(comment);
  if (!comment.starts_with(':')) return std::nullopt;
  comment.remove_prefix(1);
  skip_blanks(comment);
  std::uint32_t value = 0;
  const auto done = std::from_chars(comment.data(), comment.data() + comment.size(), value);
  if (done.ec != std::errc() || value == 0) return std::nullopt;
  return value;
}

class Reader {
 public:
  explicit Reader(const SwfOptions& options) : options_(options) {}

  Result<Trace> read(std::string_view text) {
    std::uint64_t number = 0;
    while (!text.empty()) {
      std::string_view line = next_line(text);
      ++number;
      skip_blanks(line);
      if (line.starts_with(';')) {
        comment(line);
      } else if (!line.empty()) {
        if (!job(line))
          return failure("line " + std::to_string(number) + " is no job in Standard Workload Format");
      }
    }
    trace_.processors = max_processors_ ? max_processors_ : max_nodes_;
    const auto earlier = [](const TraceJob& a, const TraceJob& b) { return a.submit < b.submit; };
    std::stable_sort(trace_.jobs.begin(), trace_.jobs.end(), earlier);
    find_preceding();
    return std::move(trace_);
  }

 private:
  void comment(std::string_view line) {
    if (const auto value = header(line, "MaxProcs")) max_processors_ = *value;
    if (const auto value = header(line, "MaxNodes")) max_nodes_ = *value;
  }

  bool job(std::string_view line) {
    std::array<double, kFields> fields;
    fields.fill(-1);
    std::size_t count = 0;
    for (; count < kFields && !line.empty() && line.front() != ';'; ++count, skip_blanks(line)) {
      const auto value = next_number(line);
      if (!value) return false;
      fields[count] = *value;
    }
    if (count <= kUsed) return false;
    const auto whole = [&](Field field) { return static_cast<std::int64_t>(std::llround(fields[field])); };
    // The parts of an interrupted job follow the line that sums them up.
    const bool part = whole(kStatus) >= 2 && whole(kStatus) <= 4 && whole(kId) == last_id_;
    last_id_ = whole(kId);
    TraceJob job;
    const std::int64_t processors = whole(kWanted) > 0 ? whole(kWanted) : whole(kUsed);
    job.runs = whole(kRuns);
    job.asks = whole(kAsks) <= 0 && options_.without_request ? job.runs : whole(kAsks);
    if (part || whole(kId) < 0 || processors <= 0 || processors > 0x7fffffff || job.runs <= 0 ||
        job.asks <= 0) {
      ++trace_.left_out;
      return true;
    }
    job.id = static_cast<std::uint64_t>(whole(kId));
    job.submit = whole(kSubmit);
    job.runs = std::min(job.runs, job.asks);
    job.processors = static_cast<std::uint32_t>(processors);
    if (whole(kMemoryWanted) > 0) {  // KiB for each processor
      job.memory_mib = static_cast<std::uint64_t>(
          std::min(fields[kMemoryWanted] * static_cast<double>(processors) / 1024, kMost));
    }
    job.user = name(whole(kUser), "user");
    job.group = name(whole(kGroup), "group");
    job.account = job.group;
    job.partition = name(whole(kPartition), "partition");
    const std::int64_t preceding = whole(kPreceding);
    if (preceding >= 0 && preceding < whole(kId)) preceding_.emplace(job.id, preceding);
    job.think = whole(kThink);
    trace_.jobs.push_back(job);
    return true;
  }

  // Turns ids into indices, which are known by now.
  void find_preceding() {
    if (preceding_.empty()) return;
    std::unordered_map<std::uint64_t, std::uint32_t> places;
    for (std::uint32_t i = 0; i < trace_.jobs.size(); ++i) places.emplace(trace_.jobs[i].id, i);
    for (TraceJob& job : trace_.jobs) {
      const auto preceding = preceding_.find(job.id);
      if (preceding == preceding_.end()) continue;
      const auto place = places.find(static_cast<std::uint64_t>(preceding->second));
      if (place != places.end()) job.follows = place->second;
    }
  }

  std::uint32_t name(std::int64_t number, const char* kind) {
    if (number < 0) return 0;
    return trace_.names.number_of(kind + std::to_string(number));
  }

  const SwfOptions options_;
  Trace trace_;
  std::unordered_map<std::uint64_t, std::int64_t> preceding_;  // ids: of a job, of the one it followed
  std::int64_t last_id_ = -1;
  std::uint32_t max_processors_ = 0;
  std::uint32_t max_nodes_ = 0;
};

}  // namespace

Result<Trace> read_swf(std::string_view text, const SwfOptions& options) {
  return Reader(options).read(text);
}

}  // namespace minke::sim
