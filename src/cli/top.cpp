#include "cli/top.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "api/measurements.pb.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "model/cluster.pb.h"
#include "model/job_record.pb.h"
#include "model/measurement.pb.h"
#include "text/duration.h"
#include "text/list.h"
#include "view/output.h"
#include "view/text.h"

namespace minke::cli {

namespace {

using Json = nlohmann::ordered_json;

std::string size_text(double kib) {
  for (const char* unit : {"K", "M", "G", "T"}) {
    if (kib < 1000)
      return kib < 10 && *unit != 'K' ? fmt::format("{:.1f}{}", kib, unit)
                                      : fmt::format("{:.0f}{}", kib, unit);
    kib /= 1024;
  }
  return fmt::format("{:.0f}P", kib);
}

std::string job_text(const model::JobRecord& job) {
  if (!job.has_array_task_id()) return std::to_string(job.job_id());
  return fmt::format("{}_{}", job.array_job_id(), job.array_task_id());
}

uint64_t gpu_memory(const model::Sample& now) {
  uint64_t mib = 0;
  for (const model::Sample::Gpu& gpu : now.gpus()) mib += gpu.memory_mib();
  return mib;
}
double gpu_utilization(const model::Sample& now) {
  double sum = 0;
  for (const model::Sample::Gpu& gpu : now.gpus()) sum += gpu.utilization();
  return now.gpus().empty() ? 0 : sum / now.gpus_size();
}

// Of one whose GPUs are not measured: how many it has.
std::string held_gpus(const model::JobRecord& job) {
  uint64_t count = 0;
  for (const model::Gres& gres : job.tres_gres())
    count = gres.name() == "gpu" ? std::max<uint64_t>(count, gres.count()) : count;
  return count == 0 ? "" : fmt::format("of {}", count);
}

// Returns what fits on a terminal of this size; rows 0: everything.
std::string screen(const api::MeasurementsReply& reply, size_t rows, size_t columns) {
  std::vector<std::string> lines;
  const api::MachineMeasurement& machine = reply.machine();
  std::string first = fmt::format("{} job{} running, {:.1f} of {} cores busy, memory {} of {}",
                                  reply.jobs_size(), reply.jobs_size() == 1 ? "" : "s", machine.cores(),
                                  machine.cpus(), size_text(static_cast<double>(machine.memory_kib())),
                                  size_text(static_cast<double>(machine.total_memory_kib())));
  if (machine.watts() > 0) first += fmt::format(", processors {:.0f} W", machine.watts());
  lines.push_back(std::move(first));
  for (int i = 0; i < machine.gpus_size() && i < machine.gpu_devices_size(); ++i) {
    const model::Sample::Gpu& gpu = machine.gpus(i);
    const model::GpuDevice& device = machine.gpu_devices(i);
    lines.push_back(fmt::format("GPU {} {}: {}% busy, {} of {}, {:.0f} W, {} MHz", i, device.type(),
                                gpu.utilization(), size_text(static_cast<double>(gpu.memory_mib()) * 1024),
                                size_text(static_cast<double>(device.memory_mib()) * 1024),
                                gpu.milliwatts() / 1000.0, gpu.clock_mhz()));
  }
  lines.emplace_back();
  lines.push_back(fmt::format("{:<12} {:<10} {:<16} {:>10} {:>11} {:>11} {:>7} {:>7} {:>7} {:>5} {:>9}",
                              "JOBID", "USER", "NAME", "TIME", "CORES", "MEMORY", "PEAK", "READ/S", "WRITE/S",
                              "PIDS", "GPU"));
  std::vector<const api::JobMeasurement*> jobs;
  for (const api::JobMeasurement& job : reply.jobs()) jobs.push_back(&job);
  std::stable_sort(jobs.begin(), jobs.end(), [](auto* a, auto* b) { return a->cores() > b->cores(); });
  for (const api::JobMeasurement* measured : jobs) {
    const model::JobRecord& job = measured->job();
    const model::Sample& now = measured->now();
    const std::string gpu = now.gpus().empty()
                                ? held_gpus(job)
                                : fmt::format("{:.0f}% {}", gpu_utilization(now),
                                              size_text(static_cast<double>(gpu_memory(now)) * 1024));
    lines.push_back(fmt::format(
        "{:<12} {:<10.10} {:<16.16} {:>10} {:>5.1f}/{:<5} {:>5}{:<6} {:>7} {:>7} {:>7} {:>5} {:>9}",
        job_text(job), job.user_name(), job.name(),
        text::format_seconds(view::elapsed_seconds(job, reply.now())), measured->cores(), job.num_cpus(),
        size_text(static_cast<double>(now.memory_kib())),
        // A job that asked for no memory may use all of it.
        job.memory_mib() == 0 ? "" : "/" + size_text(static_cast<double>(job.memory_mib()) * 1024),
        size_text(static_cast<double>(measured->peak_memory_kib())),
        size_text(static_cast<double>(measured->read_rate()) / 1024),
        size_text(static_cast<double>(measured->write_rate()) / 1024), now.processes(), gpu));
  }
  if (!reply.notes().empty()) lines.emplace_back();
  for (const std::string& note : reply.notes()) lines.push_back(note);
  if (rows != 0 && lines.size() > rows) lines.resize(rows);
  std::string out;
  for (std::string& line : lines) {
    // Users name their jobs: a name must not control the terminal of the viewer.
    for (char& c : line) c = std::iscntrl(static_cast<unsigned char>(c)) != 0 ? '?' : c;
    out += columns == 0 ? line : line.substr(0, columns);
    out += rows == 0 ? "\n" : "\x1b[K\r\n";
  }
  if (rows != 0) out.resize(out.size() - 2);  // the last line must not scroll
  return out;
}

Json series_json(const model::Series& series) {
  Json json;
  const auto column = [](const auto& differences) {
    Json values = Json::array();
    int64_t value = 0;
    for (const int64_t difference : differences) values.push_back(value += difference);
    return values;
  };
  json["time"] = column(series.time());
  json["cpu_milliseconds"] = column(series.cpu_milliseconds());
  json["memory_kib"] = column(series.memory_kib());
  json["read_kib"] = column(series.read_kib());
  json["write_kib"] = column(series.write_kib());
  json["processes"] = column(series.processes());
  json["energy_joules"] = column(series.energy_joules());
  for (const model::Series::Gpu& gpu : series.gpus()) {
    json["gpus"].push_back({{"uuid", gpu.uuid()},
                            {"utilization", column(gpu.utilization())},
                            {"memory_mib", column(gpu.memory_mib())},
                            {"milliwatts", column(gpu.milliwatts())},
                            {"clock_mhz", column(gpu.clock_mhz())}});
  }
  return json;
}

Json gpu_json(const model::Sample::Gpu& gpu, const std::string& uuid) {
  return {{"uuid", uuid},
          {"utilization", gpu.utilization()},
          {"memory_mib", gpu.memory_mib()},
          {"watts", gpu.milliwatts() / 1000.0},
          {"clock_mhz", gpu.clock_mhz()}};
}

Json as_json(const api::MeasurementsReply& reply, bool with_series) {
  const api::MachineMeasurement& machine = reply.machine();
  Json json = {{"time", reply.now()},
               {"machine",
                {{"cores", machine.cores()},
                 {"cpus", machine.cpus()},
                 {"memory_kib", machine.memory_kib()},
                 {"total_memory_kib", machine.total_memory_kib()},
                 {"watts", machine.watts()},
                 {"gpus", Json::array()}}},
               {"jobs", Json::array()}};
  for (int i = 0; i < machine.gpus_size() && i < machine.gpu_devices_size(); ++i) {
    Json gpu = gpu_json(machine.gpus(i), machine.gpu_devices(i).uuid());
    gpu["type"] = machine.gpu_devices(i).type();
    gpu["total_memory_mib"] = machine.gpu_devices(i).memory_mib();
    json["machine"]["gpus"].push_back(std::move(gpu));
  }
  for (const api::JobMeasurement& measured : reply.jobs()) {
    const model::JobRecord& job = measured.job();
    const model::Sample& now = measured.now();
    Json one = {{"job_id", job.job_id()},
                {"name", job.name()},
                {"user", job.user_name()},
                {"account", job.account()},
                {"partition", job.partition()},
                {"nodes", job.node_list()},
                {"cpus", job.num_cpus()},
                {"held_memory_kib", job.memory_mib() * 1024},
                {"sampled", now.time()},
                {"cores", measured.cores()},
                {"cpu_milliseconds", now.cpu_milliseconds()},
                {"memory_kib", now.memory_kib()},
                {"peak_memory_kib", measured.peak_memory_kib()},
                {"read_kib", now.read_kib()},
                {"write_kib", now.write_kib()},
                {"read_bytes_per_second", measured.read_rate()},
                {"write_bytes_per_second", measured.write_rate()},
                {"processes", now.processes()},
                {"energy_joules", now.energy_joules()},
                {"gpus", Json::array()}};
    for (int i = 0; i < measured.gpu_uuids_size() && i < now.gpus_size(); ++i)
      one["gpus"].push_back(gpu_json(now.gpus(i), measured.gpu_uuids(i)));
    if (with_series) one["series"] = series_json(measured.series());
    json["jobs"].push_back(std::move(one));
  }
  if (!reply.notes().empty()) json["notes"] = reply.notes();
  return json;
}

// A terminal that passes on each key, with a screen of its own; the destructor restores it.
class Screen {
 public:
  Screen() {
    ::tcgetattr(STDIN_FILENO, &before_);
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    view::write_bytes("\x1b[?1049h\x1b[?25l");
  }
  ~Screen() {
    view::write_bytes("\x1b[?25h\x1b[?1049l");
    ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  void show(const api::MeasurementsReply& reply) {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0) size = {24, 80, 0, 0};
    view::write_bytes("\x1b[H" + screen(reply, size.ws_row, size.ws_col) + "\x1b[J");
  }

 private:
  termios before_{};
};

volatile std::sig_atomic_t interrupted = 0;

// Returns false when the user asks to leave.
bool wait_for_next(double seconds) {
  pollfd keys{STDIN_FILENO, POLLIN, 0};
  const int ready = ::poll(&keys, 1, static_cast<int>(seconds * 1000));
  if (interrupted != 0 || (ready < 0 && errno != EINTR)) return false;
  if (ready <= 0) return true;
  char key = 'q';
  return ::read(STDIN_FILENO, &key, 1) == 1 && key != 'q' && key != '\x1b';
}

int complain(const Error& error) {
  view::print_error("minke top", error.message);
  return 1;
}

}  // namespace

int top(const TopOptions& options) {
  auto cluster = engine::open();
  if (!cluster) return complain(cluster.error());
  const auto ability = (*cluster)->measurements();
  if (!ability) return complain(ability.error());
  api::QueryMeasurementsRequest query;
  query.set_fresh(true);
  query.set_with_series(options.series);
  for (const std::string& word : text::split_list(options.jobs)) {
    const auto job = text::parse_job_id(word);
    if (!job) return complain(job.error());
    *query.mutable_filter()->add_jobs() = engine::selector_of(*job);
  }
  const bool live =
      !options.once && !options.json && ::isatty(STDIN_FILENO) != 0 && ::isatty(STDOUT_FILENO) != 0;
  std::optional<Screen> terminal;
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted = 1; };
  if (live) {
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(number, &action, nullptr);
  }
  do {
    const auto answer = (*ability)->measured(query);
    if (!answer) {
      terminal.reset();
      return complain(answer.error());
    }
    const api::MeasurementsReply& reply = *answer;
    if (options.json) {
      view::write_out(as_json(reply, options.series).dump(2, ' ', false, Json::error_handler_t::replace) +
                      "\n");
    } else if (!live) {
      view::write_out(screen(reply, 0, 0));
    } else {
      if (!terminal) terminal.emplace();
      terminal->show(reply);
    }
  } while (live && wait_for_next(options.seconds));
  return 0;
}

}  // namespace minke::cli
