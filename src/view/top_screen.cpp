#include "view/top_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <optional>
#include <utility>

#include "api/measurements.pb.h"
#include "model/cluster.pb.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "model/measurement.pb.h"
#include "text/characters.h"
#include "text/duration.h"
#include "text/translate.h"
#include "view/colour.h"
#include "view/text.h"

namespace minke::view {

using text::marked;
using text::tr;

namespace {

constexpr size_t kWide = 120, kWidest = 200;
constexpr size_t kMostWaiting = 5;
constexpr size_t kLabel = 15;  // of cores and memory, as wide as that of a GPU
constexpr std::string_view kKeys =
    marked("q quit  c processors  m memory  g GPU  t time left  j job  space now");

// A piece of a line with its colour. Its width counts characters.
struct Piece {
  std::string text;
  Meaning meaning = Meaning::kPlain;
};
using Line = std::vector<Piece>;

std::string size_text(double kib) {
  for (const char* unit : {"K", "M", "G", "T"}) {
    if (kib < 1000)
      return kib < 10 && *unit != 'K' ? fmt::format("{:.1f}{}", kib, unit)
                                      : fmt::format("{:.0f}{}", kib, unit);
    kib /= 1024;
  }
  return fmt::format("{:.0f}P", kib);
}

Meaning meaning_of_share(double share) {
  return share >= 0.9 ? Meaning::kBad : share >= 0.7 ? Meaning::kWaiting : Meaning::kGood;
}

// "[||||      ]" of `share` of 1.
std::vector<Piece> bar(double share, size_t width) {
  const double within = std::clamp(share, 0.0, 1.0);
  const auto full = static_cast<size_t>(within * static_cast<double>(width) + 0.5);
  return {{"["}, {std::string(full, '|'), meaning_of_share(share)}, {std::string(width - full, ' ') + "]"}};
}

void add(Line& line, std::vector<Piece> pieces) {
  line.insert(line.end(), std::make_move_iterator(pieces.begin()), std::make_move_iterator(pieces.end()));
}

std::string job_text(const model::JobRecord& job) {
  if (!job.has_array_task_id()) return std::to_string(job.job_id());
  return fmt::format("{}_{}", job.array_job_id(), job.array_task_id());
}

// Users name their jobs: a name must not control the terminal of who looks.
std::string plain(std::string text) {
  for (char& c : text) c = std::iscntrl(static_cast<unsigned char>(c)) != 0 ? '?' : c;
  return text;
}

double gpu_use(const model::Sample& now) {
  double sum = 0;
  for (const model::Sample::Gpu& gpu : now.gpus()) sum += gpu.utilization();
  return now.gpus().empty() ? 0 : sum / now.gpus_size();
}

// "  SM 62%  tensor 41%  DRAM 30%": of the parts of its cycles those that tell most.
std::string parts_text(const model::Sample::Gpu& gpu) {
  std::string text;
  for (const model::GpuFigure& figure : gpu.figures()) {
    const char* const name = figure.part() == model::GPU_SM_ACTIVE ? "SM"
                             : figure.part() == model::GPU_TENSOR  ? "tensor"
                             : figure.part() == model::GPU_DRAM    ? "DRAM"
                                                                   : nullptr;
    if (name == nullptr) continue;
    text += fmt::format("  {} {:.0f}%", name, static_cast<double>(figure.value()) / 10);
  }
  return text;
}

std::string gpu_text(const model::JobRecord& job, const model::Sample& now) {
  uint64_t held = 0, mib = 0;
  for (const model::Gres& gres : job.tres_gres())
    if (gres.name() == "gpu") held = std::max<uint64_t>(held, gres.count());
  if (now.gpus().empty()) return held == 0 ? "" : tr("of {}", {std::to_string(held)});
  for (const model::Sample::Gpu& gpu : now.gpus()) mib += gpu.memory_mib();
  return fmt::format("{:.0f}% {}", gpu_use(now), size_text(static_cast<double>(mib) * 1024));
}

// Of its time limit; nothing where it has none.
std::optional<int64_t> seconds_left(const model::JobRecord& job, int64_t now) {
  if (job.end_time() == 0 || job.time_limit_minutes() == kUnlimited) return std::nullopt;
  return std::max<int64_t>(0, job.end_time() - now);
}

std::vector<const api::JobMeasurement*> ordered(const api::MeasurementsReply& reply, TopOrder order) {
  std::vector<const api::JobMeasurement*> jobs;
  for (const api::JobMeasurement& job : reply.jobs()) jobs.push_back(&job);
  const auto key = [&](const api::JobMeasurement& job) -> double {
    switch (order) {
      case TopOrder::kMemory:
        return -static_cast<double>(job.now().memory_kib());
      case TopOrder::kGpu:
        return -gpu_use(job.now()) * std::max(1, job.now().gpus_size());
      case TopOrder::kTimeLeft:
        return static_cast<double>(seconds_left(job.job(), reply.now()).value_or(INT64_MAX));
      case TopOrder::kJob:
        return job.job().job_id();
      case TopOrder::kCores:
        break;
    }
    return -job.cores();
  };
  std::stable_sort(jobs.begin(), jobs.end(), [&](auto* a, auto* b) { return key(*a) < key(*b); });
  return jobs;
}

class Screen {
 public:
  Screen(const api::MeasurementsReply& reply, const std::vector<const model::JobRecord*>& waiting,
         const TopView& how)
      : reply_(reply), waiting_(waiting), how_(how), columns_(how.columns == 0 ? kWidest : how.columns) {}

  std::string write() {
    gpus();
    machine();
    lines_.emplace_back();
    jobs();
    waiting();
    if (!reply_.notes().empty()) lines_.emplace_back();
    for (const std::string& note : reply_.notes()) lines_.push_back({{plain(note), Meaning::kDim}});
    return out();
  }

 private:
  bool is_wide() const { return columns_ >= kWide; }

  void gpus() {
    const api::MachineMeasurement& machine = reply_.machine();
    const size_t width = is_wide() ? 30 : 12;
    for (int i = 0; i < machine.gpus_size() && i < machine.gpu_devices_size(); ++i) {
      const model::Sample::Gpu& gpu = machine.gpus(i);
      const model::GpuDevice& device = machine.gpu_devices(i);
      Line line = {{fmt::format("GPU {} {:<8.8} ", i, device.type())}};
      add(line, bar(gpu.utilization() / 100.0, width));
      line.push_back({fmt::format(" {:>3}% {}  ", gpu.utilization(), tr("busy"))});
      const double total = std::max<double>(1, static_cast<double>(device.memory_mib()));
      if (is_wide()) add(line, bar(static_cast<double>(gpu.memory_mib()) / total, width));
      line.push_back({fmt::format(
          "{}{}  {:.0f} W", is_wide() ? " " : "",
          tr("{} of {}", {size_text(static_cast<double>(gpu.memory_mib()) * 1024), size_text(total * 1024)}),
          gpu.milliwatts() / 1000.0)});
      if (is_wide()) line.push_back({fmt::format("  {} MHz", gpu.clock_mhz()) + parts_text(gpu)});
      lines_.push_back(std::move(line));
    }
  }

  void machine() {
    const api::MachineMeasurement& machine = reply_.machine();
    const size_t width = is_wide() ? 30 : 12;
    Line line = {{text::padded(tr("cores"), kLabel)}};
    add(line, bar(machine.cores() / std::max(1u, machine.cpus()), width));
    line.push_back({" " + tr("{} of {} cores busy",
                             {fmt::format("{:.1f}", machine.cores()), std::to_string(machine.cpus())})});
    if (machine.watts() > 0) line.push_back({fmt::format(", {:.0f} W", machine.watts())});
    lines_.push_back(std::move(line));
    const auto used = static_cast<double>(machine.memory_kib()),
               total = static_cast<double>(machine.total_memory_kib());
    Line memory = {{text::padded(tr("memory"), kLabel)}};
    add(memory, bar(used / std::max(1.0, total), width));
    memory.push_back({" " + tr("memory {} of {}", {size_text(used), size_text(total)})});
    lines_.push_back(std::move(memory));
  }

  void jobs() {
    lines_.push_back(
        {{text::tr_count("{} job running", "{} jobs running", static_cast<uint64_t>(reply_.jobs_size())),
          Meaning::kHeading}});
    if (reply_.jobs().empty()) return;
    // fmt counts characters of UTF-8, too.
    std::string heading = fmt::format("{:<10} {:<8} {:<12} {:>9} {:>9} {:>10} {:>12}", tr("JOBID"),
                                      tr("USER"), tr("NAME"), tr("LEFT"), "GPU", tr("CORES"), tr("MEMORY"));
    if (is_wide())
      heading += fmt::format(" {:>11} {:>7} {:>7} {:>7} {:>5}", tr("TIME"), tr("PEAK"), tr("READ/S"),
                             tr("WRITE/S"), "PIDS");
    lines_.push_back({{heading, Meaning::kDim}});
    for (const api::JobMeasurement* measured : ordered(reply_, how_.order))
      lines_.push_back(line_of(*measured));
  }

  Line line_of(const api::JobMeasurement& measured) const {
    const model::JobRecord& job = measured.job();
    const model::Sample& now = measured.now();
    const auto left = seconds_left(job, reply_.now());
    const std::string left_text = left ? text::format_seconds(*left) : tr("no limit");
    // A job that asked for no memory may use all of it.
    const double held = static_cast<double>(job.memory_mib()) * 1024,
                 used = static_cast<double>(now.memory_kib());
    const std::string memory = size_text(used) + (held == 0 ? "" : "/" + size_text(held));
    Line line = {
        {fmt::format("{:<10} {:<8.8} {:<12.12} ", job_text(job), plain(job.user_name()),
                     plain(job_name(job)))},
        {fmt::format("{:>9}", left_text), left && *left < 300 ? Meaning::kBad : Meaning::kPlain},
        {fmt::format(" {:>9} {:>10}", gpu_text(job, now),
                     fmt::format("{:.1f}/{}", measured.cores(), job.num_cpus()))},
        {fmt::format(" {:>12}", memory), held > 0 && used > 0.9 * held ? Meaning::kBad : Meaning::kPlain}};
    if (is_wide())
      line.push_back({fmt::format(
          " {:>11} {:>7} {:>7} {:>7} {:>5}", text::format_seconds(elapsed_seconds(job, reply_.now())),
          size_text(static_cast<double>(measured.peak_memory_kib())),
          size_text(static_cast<double>(measured.read_rate()) / 1024),
          size_text(static_cast<double>(measured.write_rate()) / 1024), now.processes())});
    return line;
  }

  void waiting() {
    if (waiting_.empty()) return;
    lines_.emplace_back();
    lines_.push_back(
        {{text::tr_count("{} job waiting", "{} jobs waiting", waiting_.size()), Meaning::kHeading}});
    for (size_t i = 0; i < waiting_.size() && i < kMostWaiting; ++i) {
      const model::JobRecord& job = *waiting_[i];
      lines_.push_back(
          {{fmt::format("{:<10} {:<8.8} {:<12.12} {:>9} ", job_text(job), plain(job.user_name()),
                        plain(job_name(job)), text::tr_count("{} CPU", "{} CPUs", job.num_cpus()))},
           {"(" + std::string(reason_text(job)) + ")", Meaning::kWaiting}});
    }
    if (waiting_.size() > kMostWaiting)
      lines_.push_back(
          {{tr("and {} more", {std::to_string(waiting_.size() - kMostWaiting)}), Meaning::kDim}});
  }

  std::string out() {
    const bool live = how_.rows != 0;
    const size_t room = how_.rows - (how_.shows_keys && how_.rows > 1 ? 1 : 0);
    if (live && lines_.size() > room) lines_.resize(room);
    if (live && how_.shows_keys) {
      lines_.resize(room);
      lines_.push_back({{tr(kKeys), Meaning::kDim}});
    }
    std::string all;
    for (const Line& line : lines_) {
      size_t left = how_.columns == 0 ? SIZE_MAX : how_.columns;
      for (const Piece& piece : line) {
        const std::string shown = text::first_characters(piece.text, left);
        left -= std::min(left, text::characters(shown));
        all += coloured(shown, piece.meaning);
      }
      all += live ? "\x1b[K\r\n" : "\n";
    }
    if (live) all.resize(all.size() - 2);  // the last line must not scroll
    return all;
  }

  const api::MeasurementsReply& reply_;
  const std::vector<const model::JobRecord*>& waiting_;
  const TopView& how_;
  size_t columns_;
  std::vector<Line> lines_;
};

}  // namespace

std::string top_screen(const api::MeasurementsReply& reply,
                       const std::vector<const model::JobRecord*>& waiting, const TopView& how) {
  return Screen(reply, waiting, how).write();
}

}  // namespace minke::view
