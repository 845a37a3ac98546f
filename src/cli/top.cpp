#include "cli/top.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "api/job_filter.pb.h"
#include "api/measurements.pb.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "model/cluster.pb.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "model/measurement.pb.h"
#include "text/list.h"
#include "view/gpu_parts.h"
#include "view/output.h"
#include "view/top_screen.h"

namespace minke::cli {

namespace {

using Json = nlohmann::ordered_json;

// Null: not measured then.
Json figures_json(const model::Series::Gpu::Part& part, double scale) {
  Json values = Json::array();
  for (const std::optional<double> value : view::values_of(part, scale))
    values.push_back(value ? Json(*value) : Json());
  return values;
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
  json["threads"] = column(series.threads());
  json["running_threads"] = column(series.running_threads());
  json["cache_kib"] = column(series.cache_kib());
  json["shared_kib"] = column(series.shared_kib());
  json["node_received_kib"] = column(series.received_kib());
  json["node_sent_kib"] = column(series.sent_kib());
  for (const model::Series::Processor& one : series.processors())
    json["processors"].push_back({{"id", one.id()}, {"milliseconds", column(one.milliseconds())}});
  for (const model::Series::Gpu& gpu : series.gpus()) {
    json["gpus"].push_back({{"uuid", gpu.uuid()},
                            {"utilization", column(gpu.utilization())},
                            {"memory_utilization", column(gpu.memory_utilization())},
                            {"memory_mib", column(gpu.memory_mib())},
                            {"milliwatts", column(gpu.milliwatts())},
                            {"clock_mhz", column(gpu.clock_mhz())}});
    for (const model::Series::Gpu::Part& part : gpu.parts())
      if (const auto* name = view::name_of(part.part()))
        json["gpus"].back()[std::string(name->name)] = figures_json(part, name->scale);
  }
  return json;
}

Json gpu_json(const model::Sample::Gpu& gpu, const std::string& uuid) {
  Json json = {{"uuid", uuid},
               {"utilization", gpu.utilization()},
               {"memory_utilization", gpu.memory_utilization()},
               {"memory_mib", gpu.memory_mib()},
               {"watts", gpu.milliwatts() / 1000.0},
               {"clock_mhz", gpu.clock_mhz()}};
  for (const model::GpuFigure& figure : gpu.figures())
    if (const auto* name = view::name_of(figure.part()))
      json[std::string(name->name)] = static_cast<double>(figure.value()) * name->scale;
  return json;
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
                {"threads", now.threads()},
                {"running_threads", now.running_threads()},
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

  void show(const api::MeasurementsReply& reply, const std::vector<const model::JobRecord*>& waiting,
            view::TopOrder order) {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0) size = {24, 80, 0, 0};
    const view::TopView how{.rows = size.ws_row, .columns = size.ws_col, .order = order, .shows_keys = true};
    view::write_bytes("\x1b[H" + view::top_screen(reply, waiting, how) + "\x1b[J");
  }

 private:
  termios before_{};
};

volatile std::sig_atomic_t interrupted = 0;

// Waits for the next look, or for a key, which may change the order. Returns false when the user asks to
// leave.
bool wait_for_next(double seconds, view::TopOrder& order) {
  pollfd keys{STDIN_FILENO, POLLIN, 0};
  const int ready = ::poll(&keys, 1, static_cast<int>(seconds * 1000));
  if (interrupted != 0 || (ready < 0 && errno != EINTR)) return false;
  if (ready <= 0) return true;
  char key = 'q';
  if (::read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == '\x1b') return false;
  constexpr std::pair<char, view::TopOrder> kOrders[] = {{'c', view::TopOrder::kCores},
                                                         {'m', view::TopOrder::kMemory},
                                                         {'g', view::TopOrder::kGpu},
                                                         {'t', view::TopOrder::kTimeLeft},
                                                         {'j', view::TopOrder::kJob}};
  for (const auto& [letter, wanted] : kOrders)
    if (letter == key) order = wanted;
  return true;
}

// The jobs that wait, where jobs have not been named.
engine::JobRecords waiting_jobs(engine::Engine& cluster, const TopOptions& options) {
  api::JobFilter filter;
  filter.add_states(model::JOB_PENDING);
  if (!options.jobs.empty()) return {};
  auto found = engine::fetch_jobs(cluster, std::move(filter), false, true);
  return found ? std::move(*found) : engine::JobRecords();
}

// Of the terminal; 0: standard output is none, and lines are not cut.
size_t columns() {
  winsize size{};
  return ::isatty(STDOUT_FILENO) != 0 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
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
  view::TopOrder order = view::TopOrder::kCores;
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
      continue;
    }
    const engine::JobRecords waiting = waiting_jobs(**cluster, options);
    if (live) {
      if (!terminal) terminal.emplace();
      terminal->show(reply, waiting.records, order);
    } else {
      view::write_bytes(view::top_screen(reply, waiting.records, {.columns = columns()}));
      if (!options.jobs.empty() && reply.jobs().empty())
        std::fprintf(stderr,
                     "minke: none of these jobs runs; of ended ones tell seff JOB and minke why JOB\n");
    }
  } while (live && wait_for_next(options.seconds, order));
  return 0;
}

}  // namespace minke::cli
