#include "cli/simulate.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>

#include "base/result.h"
#include "cli/cluster_trace.h"
#include "cli/complain.h"
#include "cli/progress.h"
#include "cli/sacctmgr/session.h"
#include "config/configuration.h"
#include "engine/embedded/scheduling/world.h"
#include "model/cluster.pb.h"
#include "node/discovery.h"
#include "sim/accounts.h"
#include "sim/limits.h"
#include "sim/multifactor.h"
#include "sim/placed.h"
#include "sim/plot.h"
#include "sim/preempting.h"
#include "sim/replay.h"
#include "sim/sacct.h"
#include "sim/score.h"
#include "sim/summary.h"
#include "sim/swf.h"
#include "storage/words.h"
#include "text/duration.h"

namespace minke::cli {
namespace {

using sim::Figures;

constexpr std::size_t kMaxTraceBytes = std::size_t{4} << 30;
constexpr std::uint32_t kTerminalBins = 60;
constexpr std::uint32_t kSvgBins = 400;

// zlib passes uncompressed data through.
Result<std::string> read_text(const std::string& path) {
  errno = 0;
  const gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return failure_from_errno(path, errno == 0 ? ENOMEM : errno);
  gzbuffer(file, 1u << 17);
  std::string text;
  std::vector<char> buffer(std::size_t{1} << 20);
  int count = 0;
  while ((count = gzread(file, buffer.data(), static_cast<unsigned>(buffer.size()))) > 0) {
    if (text.size() + static_cast<std::size_t>(count) > kMaxTraceBytes) break;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  int problem = Z_OK;
  std::string what = gzerror(file, &problem);
  gzclose(file);
  if (count > 0) return failure(path + ": a trace of more than 4 GiB");
  if (count < 0 || problem == Z_BUF_ERROR) {
    if (problem == Z_ERRNO) return failure_from_errno(path, errno);
    return failure(what.starts_with(path) ? what : path + ": " + what);
  }
  return text;
}

Status write_text(const std::string& path, const std::string& text) {
  std::FILE* file = path == "-" ? stdout : std::fopen(path.c_str(), "we");
  if (file == nullptr) return failure_from_errno(path, errno);
  const bool written =
      std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0;
  const int error = errno;
  if (file != stdout) std::fclose(file);
  if (!written) return failure_from_errno(path, error);
  return {};
}

struct Run {
  std::string policy;
  double seconds = 0;  // the time of the replay
  sim::Replay replay;
  std::shared_ptr<const sim::Trace> trace;  // with the times of submission of this replay
  sim::Summary summary;
  std::optional<sim::ForecastScore> forecasts;
  std::optional<sim::ForecastScore> by_limits;  // the forecast that trusts the time limits
};

std::string waits_text(const sim::Trace& trace, const sim::Replay& replay) {
  std::string text;
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    if (replay.starts[i] == sim::kNeverStarted) continue;
    text += std::to_string(trace.jobs[i].id) + ' ' + std::to_string(replay.starts[i] - trace.jobs[i].submit) +
            '\n';
  }
  return text;
}

std::uint32_t sim::TraceJob::*member_of(const std::string& by) {
  if (by == "user") return &sim::TraceJob::user;
  if (by == "group") return &sim::TraceJob::group;
  if (by == "account") return &sim::TraceJob::account;
  return &sim::TraceJob::partition;
}

void print_figures(const Figures& figures) {
  std::printf("%9llu %13.1f %11s %11s %10.3f", static_cast<unsigned long long>(figures.jobs),
              figures.mean_wait, text::format_seconds_short(figures.median_wait).c_str(),
              text::format_seconds_short(figures.longest_wait).c_str(), figures.mean_bounded_slowdown);
}

void print_table(const std::vector<Run>& runs) {
  std::printf("%-13s %9s %13s %11s %11s %10s %6s %12s\n", "POLICY", "JOBS", "MEAN_WAIT(s)", "MEDIAN_WAIT",
              "MAX_WAIT", "SLOWDOWN", "UTIL%", "MAKESPAN");
  for (const Run& run : runs) {
    std::printf("%-13s ", run.policy.c_str());
    print_figures(run.summary.all);
    std::printf(" %6.2f %12s\n", run.summary.utilisation * 100,
                text::format_seconds_short(run.summary.makespan).c_str());
  }
}

void print_forecasts(const Run& run) {
  const sim::ForecastScore& score = *run.forecasts;
  std::printf("\n%s: starts forecast at submission, %llu jobs\n", run.policy.c_str(),
              static_cast<unsigned long long>(score.jobs));
  std::printf("  mean absolute error       %10.1f s   %5.1f %% of the mean wait\n", score.mean_error(),
              100 * score.error_by_wait());
  std::printf("  trusting the time limits  %10.1f s   %5.1f %%\n", run.by_limits->mean_error(),
              100 * run.by_limits->error_by_wait());
  std::printf("  80 %% range held for       %10.1f %%   of the %llu jobs that waited\n",
              100 * score.coverage(), static_cast<unsigned long long>(score.waited));
  if (score.unforeseen > 0)
    std::printf("  beyond the forecast       %10llu jobs\n",
                static_cast<unsigned long long>(score.unforeseen));
}

nlohmann::ordered_json forecast_json(const sim::ForecastScore& score) {
  return {{"jobs", score.jobs},
          {"unforeseen", score.unforeseen},
          {"mean_error", score.mean_error()},
          {"error_by_wait", score.error_by_wait()},
          {"waited", score.waited},
          {"coverage", score.coverage()}};
}

void print_groups(const sim::Trace& trace, const Run& run, const SimulateOptions& options) {
  const auto groups = sim::summarize_by(run.trace->jobs, run.replay.starts, member_of(options.by));
  std::string title = options.by;
  for (char& c : title) c = static_cast<char>(c - 'a' + 'A');
  std::printf("\n%s\n%-13s %9s %13s %11s %11s %10s %6s\n", run.policy.c_str(), title.c_str(), "JOBS",
              "MEAN_WAIT(s)", "MEDIAN_WAIT", "MAX_WAIT", "SLOWDOWN", "SHARE%");
  std::size_t shown = 0;
  for (const auto& group : groups) {
    if (options.top > 0 && shown++ == options.top) {
      std::printf("… and %zu more (--top 0 shows all)\n", groups.size() - options.top);
      break;
    }
    const std::string& name = trace.names[group.name];
    std::printf("%-13s ", name.empty() ? "(none)" : name.c_str());
    print_figures(group.figures);
    std::printf(" %6.2f\n", 100 * group.figures.processor_seconds / run.summary.all.processor_seconds);
  }
}

nlohmann::ordered_json figures_json(const Figures& figures) {
  return {{"jobs", figures.jobs},
          {"mean_wait", figures.mean_wait},
          {"median_wait", figures.median_wait},
          {"longest_wait", figures.longest_wait},
          {"mean_bounded_slowdown", figures.mean_bounded_slowdown},
          {"processor_seconds", figures.processor_seconds}};
}

nlohmann::ordered_json run_json(const sim::Trace& trace, const Run& run, const SimulateOptions& options) {
  nlohmann::ordered_json object = {{"policy", run.policy}};
  object.update(figures_json(run.summary.all));
  object["never_started"] = run.summary.never_started;
  object["utilisation"] = run.summary.utilisation;
  object["makespan"] = run.summary.makespan;
  object["preempted"] = run.replay.preempted;
  object["replay_seconds"] = run.seconds;
  if (run.forecasts) {
    object["forecast"] = forecast_json(*run.forecasts);
    object["forecast_by_limits"] = forecast_json(*run.by_limits);
  }
  if (options.by.empty()) return object;
  auto& groups = object["by_" + options.by] = nlohmann::ordered_json::array();
  for (const auto& group : sim::summarize_by(run.trace->jobs, run.replay.starts, member_of(options.by))) {
    nlohmann::ordered_json one = {{"name", trace.names[group.name]}};
    one.update(figures_json(group.figures));
    groups.push_back(std::move(one));
  }
  return object;
}

void print_runs(const sim::Trace& trace, const std::vector<Run>& runs, std::uint64_t processors,
                const SimulateOptions& options) {
  if (options.json) {
    nlohmann::ordered_json object = {{"trace", options.trace},
                                     {"jobs", trace.jobs.size()},
                                     {"left_out", trace.left_out},
                                     {"processors", processors},
                                     {"policies", nlohmann::ordered_json::array()}};
    for (const Run& run : runs) object["policies"].push_back(run_json(trace, run, options));
    // A trace's names need not be UTF-8.
    std::puts(object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
    return;
  }
  std::printf("%zu jobs, %llu left out; %llu processors\n", trace.jobs.size(),
              static_cast<unsigned long long>(trace.left_out), static_cast<unsigned long long>(processors));
  const std::uint64_t never = runs.front().summary.never_started;
  if (never > 0)
    std::printf("%llu jobs ask for more than there is\n", static_cast<unsigned long long>(never));
  print_table(runs);
  for (const Run& run : runs) {
    if (run.replay.preempted > 0)
      std::printf("%s: jobs gave way to others %llu times\n", run.policy.c_str(),
                  static_cast<unsigned long long>(run.replay.preempted));
  }
  for (const Run& run : runs) {
    if (options.plot) {
      std::printf(
          "\n%s\n%s", run.policy.c_str(),
          sim::terminal_plot(sim::timeline(run.trace->jobs, run.replay.starts, kTerminalBins), processors)
              .c_str());
    }
    if (run.forecasts) print_forecasts(run);
    if (!options.by.empty()) print_groups(trace, run, options);
  }
}

// The target of a replay: a pool of processors, or the nodes of a configuration.
class Cluster {
 public:
  Status set_up(const SimulateOptions& options, const sim::Trace& trace) {
    rules_ = options.rules == "daemon" ? sim::Rules::kDaemon : sim::Rules::kStudy;
    processors_ = options.processors > 0 ? options.processors : trace.processors;
    if (options.config.empty()) {
      if (processors_ > 0) return {};
      return failure(options.trace +
                     " does not say how many processors there are: give --processors or --config");
    }
    auto config = config::load_configuration("", options.config, node::discover_machine());
    if (!config) return failure(config.error());
    machine_.emplace(engine::build_machine(config->nodes, config->partitions, config->licenses));
    processors_ = 0;
    for (const auto& node : machine_->layout().nodes()) processors_ += node.cpus;
    partitions_ = config->partitions;
    if (auto done = set_up_accounts(options, trace, *config); !done) return done;
    placed_ = sim::make_requests(trace, config->partitions, *machine_);
    say_refused(placed_.refused);
    return {};
  }
  std::uint64_t processors() const { return processors_; }
  // `moved` receives the trace's own jobs, if dependencies are followed.
  sim::Replay replay(const sim::Trace& trace, sim::Policy policy, sim::Forecaster* forecaster,
                     std::span<sim::TraceJob> moved, std::atomic<std::uint64_t>& submitted) const {
    if (!machine_) {
      return sim::replay_processors(trace.jobs, static_cast<std::uint32_t>(processors_), policy, rules_,
                                    forecaster, moved, &submitted);
    }
    std::optional<sim::Multifactor> priorities;
    if (multifactor_) priorities.emplace(trace, policy_, accounts_, partitions_, *machine_);
    std::optional<sim::Limits> limits;
    if (limits_) limits.emplace(trace, policy_, safe_, accounts_, partitions_);
    std::optional<sim::Preempting> preempting;
    if (preempts_) preempting.emplace(trace, preemption_, accounts_, partitions_);
    auto replay =
        sim::replay_placed(trace.jobs, placed_.request_of, placed_.requests, *machine_, policy, forecaster,
                           priorities ? &*priorities : nullptr, limits ? &*limits : nullptr,
                           preempting ? &*preempting : nullptr, moved, &submitted);
    if (limits) say_refused(limits->refused());
    return replay;
  }

 private:
  static void say_refused(const std::map<std::string, std::uint64_t>& refused) {
    for (const auto& [reason, jobs] : refused)
      std::fprintf(stderr, "minke: %llu jobs are refused: %s\n", static_cast<unsigned long long>(jobs),
                   reason.c_str());
  }

  Status set_up_accounts(const SimulateOptions& options, const sim::Trace& trace,
                         const config::Configuration& config) {
    multifactor_ = config.priority.multifactor;
    using config::PreemptMode;
    using config::PreemptType;
    preempts_ = config.preemption.type != PreemptType::kNone;
    if (preempts_ && config.preemption.mode == PreemptMode::kSuspend)
      return failure(options.config + ": jobs that are suspended for others are not replayed");
    preemption_ = {config.preemption.type == PreemptType::kQos, config.preemption.mode != PreemptMode::kOff};
    const bool of_the_cluster = options.accounts == "cluster";
    limits_ = config.accounting.limits && of_the_cluster;
    safe_ = config.accounting.safe;
    if (!multifactor_ && !limits_ && !preempts_) {
      if (options.accounts.empty()) return {};
      return failure(
          "--accounts changes nothing: " + options.config +
          " has neither [priority] type = \"multifactor\" nor [accounting] enforce = [\"limits\"], " +
          "which is of --accounts cluster");
    }
    if (of_the_cluster) {
      auto session = AccountingSession::open({});
      if (!session) return failure(session.error());
      accounts_ = session->book();
    } else if (!options.accounts.empty()) {
      const auto text = read_text(options.accounts);
      if (!text) return failure(text.error());
      auto book = sim::read_accounts(*text);
      if (!book) return failure(options.accounts + ": " + book.error().message);
      accounts_ = std::move(*book);
    }
    if (auto done = sim::add_missing(accounts_, trace); !done) return done;
    policy_.weights = config.priority.weights;
    policy_.tres = config.priority.tres;
    policy_.half_life = config.priority.half_life;
    policy_.calc_period = config.priority.calc_period;
    policy_.allocation_shares = config.accounting.allocation_shares;
    policy_.billing = config.billing;
    return {};
  }

  sim::Rules rules_ = sim::Rules::kStudy;
  std::uint64_t processors_ = 0;
  std::optional<sched::Machine> machine_;
  sim::PlacedRequests placed_;
  std::vector<model::PartitionRecord> partitions_;
  bool multifactor_ = false, limits_ = false, safe_ = false;  // [accounting] enforce
  bool preempts_ = false;
  sim::PreemptingPolicy preemption_;
  sim::MultifactorPolicy policy_;
  accounts::AccountBook accounts_;
};

// Returns which options exclude each other; empty if none do.
std::string contradiction(const SimulateOptions& options) {
  if (!options.waits.empty() && options.policies.size() > 1) return "--waits takes one policy";
  if (!options.accounts.empty() && options.config.empty())
    return "--accounts needs --config, which says how priorities are made up";
  const bool plans =
      std::find(options.policies.begin(), options.policies.end(), "conservative") != options.policies.end();
  if (options.forecast && plans)
    return "--forecast is of what passes decide: not with conservative, which plans every start itself";
  return "";
}

Result<sim::Trace> read_trace_file(const SimulateOptions& options) {
  const auto text = read_text(options.trace);
  if (!text) return failure(text.error());
  const ProgressLine line([] { return std::string("reading the jobs …"); });
  // Without a named time zone, the C library checks for a change of it at every time that it reads.
  setenv("TZ", ":/etc/localtime", 0);
  auto trace =
      sim::looks_like_sacct(*text) ? sim::read_sacct(*text) : sim::read_swf(*text, {options.without_request});
  if (!trace) return failure(options.trace + ": " + trace.error().message);
  return trace;
}

Result<sim::Trace> read_trace(const SimulateOptions& options) {
  auto trace = options.trace == "cluster" ? cluster_trace(options.since) : read_trace_file(options);
  if (!trace) return trace;
  if (options.exact_requests) {
    for (sim::TraceJob& job : trace->jobs) job.asks = job.runs;
  }
  if (options.dependencies && std::none_of(trace->jobs.begin(), trace->jobs.end(),
                                           [](const auto& job) { return job.follows != sim::kNobody; }))
    return failure(options.trace + " does not say of any job that it followed another");
  return trace;
}

// One trace, replayed on one cluster under one policy after the other.
class Study {
 public:
  Study(const SimulateOptions& options, const Cluster& cluster, sim::Trace trace)
      : options_(options), cluster_(cluster), trace_(std::make_shared<sim::Trace>(std::move(trace))) {}

  const sim::Trace& trace() const { return *trace_; }

  Run run(const std::string& word) const {
    const auto policy = sim::policy_of(word);
    MINKE_CHECK(policy);
    Run run;
    run.policy = word;
    const auto own = trace_to_replay();
    sim::Forecaster history(own->jobs, sim::Belief::kHistory);
    const auto begin = std::chrono::steady_clock::now();
    run.replay = replay(*own, word, *policy, options_.forecast ? &history : nullptr);
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (options_.forecast) {
      run.forecasts = history.score();
      run.by_limits = forecasts_by_limits(*policy);
    }
    run.summary = sim::summarize(own->jobs, run.replay.starts, cluster_.processors());
    run.trace = own;
    return run;
  }

 private:
  sim::Replay replay(sim::Trace& own, const std::string& what, sim::Policy policy,
                     sim::Forecaster* forecaster) const {
    std::atomic<std::uint64_t> submitted{0};
    const ProgressText text(storage::number_text, " jobs");
    const ProgressLine line([&] { return what + ": " + text.of(submitted, own.jobs.size()); });
    return cluster_.replay(own, policy, forecaster, moved(own), submitted);
  }

  // Each replay has its own times of submission if jobs follow others; all else is the same.
  std::shared_ptr<sim::Trace> trace_to_replay() const {
    return options_.dependencies ? std::make_shared<sim::Trace>(*trace_) : trace_;
  }
  std::span<sim::TraceJob> moved(sim::Trace& own) const {
    return options_.dependencies ? std::span(own.jobs) : std::span<sim::TraceJob>();
  }
  sim::ForecastScore forecasts_by_limits(sim::Policy policy) const {
    const auto again = trace_to_replay();
    sim::Forecaster limits(again->jobs, sim::Belief::kLimits);
    replay(*again, "forecast by time limits", policy, &limits);
    return limits.score();
  }

  const SimulateOptions& options_;
  const Cluster& cluster_;
  const std::shared_ptr<sim::Trace> trace_;
};

Status write_files(const SimulateOptions& options, const std::vector<Run>& runs, std::uint64_t processors) {
  if (!options.waits.empty()) {
    if (auto done = write_text(options.waits, waits_text(*runs.front().trace, runs.front().replay)); !done)
      return done;
  }
  if (options.svg.empty()) return {};
  std::vector<sim::NamedTimeline> timelines;
  for (const Run& run : runs)
    timelines.push_back({run.policy, sim::timeline(run.trace->jobs, run.replay.starts, kSvgBins)});
  return write_text(options.svg, sim::svg_plot(timelines, processors, options.trace));
}

}  // namespace

int simulate(const SimulateOptions& options) {
  if (const std::string problem = contradiction(options); !problem.empty()) {
    complain(Error{0, problem});
    return 2;
  }
  auto trace = read_trace(options);
  if (!trace) return complain(trace.error());
  Cluster cluster;
  if (auto done = cluster.set_up(options, *trace); !done) return complain(done.error());
  const Study study(options, cluster, std::move(*trace));
  std::vector<Run> runs;
  for (const std::string& word : options.policies) runs.push_back(study.run(word));
  if (auto done = write_files(options, runs, cluster.processors()); !done) return complain(done.error());
  // With "-" the list goes to standard output.
  if (options.waits != "-" && options.svg != "-")
    print_runs(study.trace(), runs, cluster.processors(), options);
  return std::fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace minke::cli
