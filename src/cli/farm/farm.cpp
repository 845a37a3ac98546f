#include "cli/farm/farm.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "cli/farm/farm_report.h"
#include "cli/farm/farm_request.h"
#include "engine/failed_launch.h"
#include "engine/open.h"
#include "farm/sizing.h"
#include "farming/cluster_means.h"
#include "farming/farm_directory.h"
#include "farming/farm_jobs.h"
#include "farming/put_again.h"
#include "text/number.h"
#include "view/output.h"

namespace minke::cli {
namespace {

constexpr char kUsage[] =
    "Usage: minke farm run [TABLE | - | --glob PATTERN] [options] [sbatch's options] [-- COMMAND …]\n"
    "       minke farm status [DIRECTORY] [--json]       minke farm log CASE [DIRECTORY]\n"
    "       minke farm result|wait [DIRECTORY]           minke farm add TABLE [DIRECTORY]\n"
    "       minke farm stop [DIRECTORY] [--now]          (--now ends the cases that run, too)\n"
    "       minke farm retry [DIRECTORY] [CASE…]         (cases that failed: all, or 3 7-9)\n"
    "\n"
    "Runs a command for each case of a table, in jobs which take cases until none is left.\n"
    "In the command, {} is the case, {name} a column, {#} the case's number. Without a command each line of\n"
    "the table is one, for the shell.\n"
    "\n"
    "  --dir DIRECTORY      where the farm is kept (default: TABLE's name and .farm)\n"
    "  --form FORM          lines, csv, tsv or jsonl (default: by the table's name)\n"
    "  --jobs N             so many jobs (default: as the first cases' times and the cluster suggest)\n"
    "  --at-once N          cases at once in a job (default: one for each GPU, or each CPU)\n"
    "  --cpus-per-case N    CPUs of a case, by which that is counted (default: 1)\n"
    "  --retry N            run a case that fails again, N times at most\n"
    "  --retry-codes LIST   only after these exit codes: 75,130-137\n"
    "  --no-retry-lost      leave a case alone that was lost with its job or node\n"
    "  --more-memory N      after \"out of memory\" with twice the memory, N times at most\n"
    "  --detach             do not wait for the end\n"
    "\n"
    "docs/farms.md has examples.\n";

constexpr uint64_t kCasesToSize = 8;
constexpr int64_t kSecondsToSize = 20;
constexpr uint32_t kFirstMinutes = 60;
constexpr int kFirstOfSlurm = 1000;  // of a cluster's own numbers of errors

int complain(const Error& error) {
  view::print_error("minke farm", error.message);
  return 1;
}

// The farm that is meant: named, or the only one in the working directory.
Result<std::string> directory_of(const std::optional<std::string>& given) {
  std::error_code problem;
  namespace fs = std::filesystem;
  if (given) {
    const fs::path path = fs::absolute(*given, problem).lexically_normal();
    std::string text = path.string();
    while (text.size() > 1 && text.back() == '/') text.pop_back();
    return text;
  }
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(".", problem))
    if (fs::exists(entry.path() / "farm.json", problem))
      found.push_back(fs::absolute(entry.path()).lexically_normal());
  if (found.size() == 1) return found.front();
  return failure(found.empty() ? "there is no farm in this directory: name it"
                               : "there are several farms in this directory: name one");
}

struct OpenFarm {
  std::string directory;
  farming::FarmSettings settings;
  farming::Journal journal;
};
Result<OpenFarm> open_farm(const std::optional<std::string>& given) {
  const auto directory = directory_of(given);
  if (!directory) return failure(directory.error());
  auto settings = farming::read_settings(*directory);
  if (!settings) return failure(settings.error());
  auto journal = farming::Journal::open(*directory);
  if (!journal) return failure(journal.error());
  if (const Status read = journal->look(); !read) return failure(read.error());
  return OpenFarm{*directory, std::move(*settings), std::move(*journal)};
}

uint32_t at_once_of(const farm::Ledger& ledger) {
  return ledger.members().empty() ? 1 : ledger.members().begin()->second.slots;
}

// Follows a farm: submits what it lacks, until nothing of it runs or waits.
class Driver {
 public:
  Driver(OpenFarm& farm, std::unique_ptr<engine::Engine> cluster)
      : farm_(farm), cluster_(std::move(cluster)) {
    const auto self = cluster_->identity();
    is_slurm_ = self && self->product == "Slurm";
  }

  // The first jobs of a farm, or those of one that stands still.
  Status begin();
  Status watch();

 private:
  Status submit(uint32_t jobs, uint32_t minutes, const farm::Wish& wish);
  uint32_t jobs_for(const farm::Wish& wish) const;
  uint32_t cpus_of_job() const;
  uint32_t minutes();
  Status answer(const std::vector<farm::Wish>& wishes);
  Status grow();
  Status tend(ProgressReport& report);
  Status cancel_left(const std::vector<std::string>& left, ProgressReport& report);

  OpenFarm& farm_;
  std::unique_ptr<engine::Engine> cluster_;
  bool is_slurm_ = false, is_sized_ = false;
  uint32_t target_ = 0;   // jobs that there should be; 0: not known
  uint32_t minutes_ = 0;  // of a job, where its user did not say; 0: not known yet
  int64_t began_ = std::time(nullptr);
  std::set<std::string> left_;    // jobs without workers, at the last look
  std::set<uint32_t> said_held_;  // jobs whose launch has failed again and again
};

Status Driver::submit(uint32_t jobs, uint32_t minutes, const farm::Wish& wish) {
  for (uint32_t left = jobs; left > 0;) {
    farming::JobOrder order;
    order.jobs = std::min(left, 1000u);
    order.level = wish.level;
    order.other_than = wish.other_than;
    order.minutes = minutes;
    const auto job = farming::submit_jobs(*cluster_, farm_.journal, order);
    if (!job) return failure(job.error());
    std::fprintf(stderr, "minke farm: job %u: %u %s%s\n", *job, order.jobs, order.jobs == 1 ? "job" : "jobs",
                 wish.level > 0 ? " with more memory" : "");
    left -= order.jobs;
  }
  return {};
}

// As many as were asked for; of what needs more memory, or another node, there is seldom much.
uint32_t Driver::jobs_for(const farm::Wish& wish) const {
  if (wish.level > 0 || !wish.other_than.empty()) return 1;
  if (wish.jobs > 0) return static_cast<uint32_t>(wish.jobs);
  return static_cast<uint32_t>(std::clamp<uint64_t>(wish.cases, 1, std::max(1u, farm_.settings.jobs)));
}

uint32_t Driver::cpus_of_job() const {
  return at_once_of(farm_.journal.ledger()) * std::max(1u, farm_.settings.cpus_per_case);
}

// The cluster is asked for its limit where a job is submitted, and once.
uint32_t Driver::minutes() {
  if (minutes_ != 0) return minutes_;
  const uint64_t most = farming::cluster_means(*cluster_, farm_.journal, cpus_of_job()).most_minutes;
  minutes_ = most > 0 ? static_cast<uint32_t>(std::min<uint64_t>(kFirstMinutes, most)) : kFirstMinutes;
  return minutes_;
}

Status Driver::answer(const std::vector<farm::Wish>& wishes) {
  for (const farm::Wish& wish : wishes)
    if (const Status done = submit(jobs_for(wish), minutes(), wish); !done) return done;
  return {};
}

Status Driver::begin() {
  const auto jobs = farming::follow_jobs(*cluster_, farm_.journal, farm_.settings.rule);
  if (!jobs) return failure(jobs.error());
  is_sized_ = farm_.settings.jobs > 0 || !farm_.journal.ledger().submissions().empty();
  target_ = farm_.settings.jobs;
  return answer(farm::wishes(farm_.journal.ledger(), jobs->present, target_));
}

// Once, when the first cases have shown how long they take.
Status Driver::grow() {
  const auto now = farming::survey(farm_.journal);
  if (!now) return failure(now.error());
  const bool long_enough = now->tally.ended > 0 && std::time(nullptr) - began_ >= kSecondsToSize;
  if (now->tally.ended < kCasesToSize && !long_enough) return {};
  is_sized_ = true;
  if (now->left == 0) return {};
  farm::Needs needs;
  needs.mean_us = std::max<uint64_t>(1, now->tally.run_us / now->tally.ended);
  needs.longest_us = now->tally.longest_us;
  needs.cases = now->left;
  needs.at_once = at_once_of(farm_.journal.ledger());
  const farm::Size size =
      farm::size_farm(needs, farming::cluster_means(*cluster_, farm_.journal, cpus_of_job()));
  std::string why;
  for (const std::string& reason : size.reasons) why += (why.empty() ? "" : "; ") + reason;
  std::fprintf(stderr, "minke farm: %s\n", why.c_str());
  minutes_ = static_cast<uint32_t>(size.minutes);
  // A cluster may have limits that it does not tell: fewer jobs, then, where it refuses so many. One runs
  // already, so none more is no failure.
  for (auto jobs = static_cast<uint32_t>(size.jobs - 1); jobs > 0; jobs /= 2) {
    const Status done = submit(jobs, minutes_, {});
    if (done) target_ = jobs + 1;
    if (done || done.error().code < kFirstOfSlurm) return done;
    if (jobs == 1) {
      std::fprintf(stderr, "minke farm: one job more is refused (%s), so this one goes on alone\n",
                   done.error().message.c_str());
      return {};
    }
    std::fprintf(stderr, "minke farm: %u jobs more are refused (%s), so half as many\n", jobs,
                 done.error().message.c_str());
  }
  return {};
}

// A job that still has no workers at the second look keeps its processors until its time limit: a Slurm whose
// controller was killed has not learned of its end.
Status Driver::cancel_left(const std::vector<std::string>& left, ProgressReport& report) {
  std::vector<std::string> again;
  for (const std::string& id : left)
    if (left_.contains(id)) again.push_back(id);
  left_ = {left.begin(), left.end()};
  for (const std::string& id : again)
    report.say("job " + id + " has ended, but the cluster takes it for running: it is cancelled");
  return farming::cancel_jobs(*cluster_, again);
}

Status Driver::tend(ProgressReport& report) {
  const auto jobs = farming::follow_jobs(*cluster_, farm_.journal, farm_.settings.rule);
  if (!jobs) return failure(jobs.error());
  for (const uint32_t id : jobs->held)
    if (said_held_.insert(id).second) report.say(engine::held_text(id));
  if (const Status done = cancel_left(jobs->left, report); !done) return done;
  return answer(farm::wishes(farm_.journal.ledger(), jobs->present, target_));
}

Status Driver::watch() {
  using std::chrono::steady_clock;
  ProgressReport report(farm_.directory);
  auto tended = steady_clock::now();
  uint64_t left_before = 0;
  for (;;) {
    const auto began = steady_clock::now();
    const auto now = farming::survey(farm_.journal);
    if (!now) return failure(now.error());
    report.show(*now);
    const bool over =
        now->stopped ? now->workers == 0 : now->ok + now->failed >= now->cases && now->workers == 0;
    if (over) return {};
    if (!is_sized_) {
      if (const Status done = grow(); !done) report.say(done.error().message);
    }
    // A controller is not asked more than once in 30 s; sooner where all workers are gone and cases are left.
    const auto pause = std::chrono::seconds(is_slurm_                                       ? 30
                                            : now->workers == 0 && now->left == left_before ? 2
                                                                                            : 10);
    if (steady_clock::now() - tended >= pause) {
      tended = steady_clock::now();
      left_before = now->left;
      if (const Status done = tend(report); !done) {
        report.say(done.error().message);
        if (auto again = engine::open()) cluster_ = std::move(*again);  // its daemon may have died
      }
    }
    const auto cost = steady_clock::now() - began;
    std::this_thread::sleep_for(std::max<steady_clock::duration>(std::chrono::milliseconds(200), 20 * cost));
  }
}

int follow(OpenFarm& farm, bool detach) {
  auto cluster = engine::open();
  if (!cluster) return complain(cluster.error());
  Driver driver(farm, std::move(*cluster));
  if (const Status begun = driver.begin(); !begun) return complain(begun.error());
  if (detach) return 0;
  if (const Status watched = driver.watch(); !watched) return complain(watched.error());
  const auto end = farming::survey(farm.journal);
  if (!end) return complain(end.error());
  print_summary(*end);
  return end->failed == 0 && end->left == 0 ? 0 : 1;
}

int run(int argc, char** argv) {
  auto request = read_farm_request(argc, argv);
  if (!request) return complain(request.error());
  if (request->detach && request->settings.jobs == 0)
    return complain({0, "--detach needs --jobs: the number of jobs is found while the farm is watched"});
  farming::NewFarm farm;
  farm.settings = request->settings;
  farm.table_name = request->table.empty()  ? request->glob
                    : request->table == "-" ? "standard input"
                                            : request->table;
  farm.lines = request->table.empty() ? lines_of_glob(request->glob) : lines_of_file(request->table);
  farm.request = std::move(request->job_request);
  const auto cases = farming::make_farm(request->directory, std::move(farm));
  if (!cases) return complain(cases.error());
  std::fprintf(stderr, "minke farm: %llu cases in %s\n", static_cast<unsigned long long>(*cases),
               request->directory.c_str());
  auto opened = open_farm(request->directory);
  if (!opened) return complain(opened.error());
  return follow(*opened, request->detach);
}

// What stands behind a command: its words, --dir, and the one option that it knows besides.
struct Arguments {
  std::vector<std::string> words;
  std::optional<std::string> directory;
  bool flag = false;
};

// At most `most` words, and behind them the farm's directory, if --dir does not name it.
Result<Arguments> read_arguments(int argc, char** argv, size_t most, std::string_view flag = "") {
  Arguments read;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (!flag.empty() && word == flag) {
      read.flag = true;
    } else if (word.starts_with("--dir=")) {
      read.directory = word.substr(6);
    } else if (word == "--dir" && i + 1 < argc) {
      read.directory = argv[++i];
    } else if (word.size() > 1 && word.starts_with('-')) {
      return failure("minke farm " + std::string(argv[0]) + " has no option " + word +
                     "; see minke farm --help");
    } else {
      read.words.push_back(word);
    }
  }
  if (!read.directory && read.words.size() > most) {
    read.directory = read.words[most];
    read.words.erase(read.words.begin() + static_cast<std::ptrdiff_t>(most));
  }
  if (read.words.size() > most) return failure("\"" + read.words[most] + "\" is one word too many");
  return read;
}

int status(int argc, char** argv) {
  const auto read = read_arguments(argc, argv, 0, "--json");
  if (!read) return complain(read.error());
  auto farm = open_farm(read->directory);
  if (!farm) return complain(farm.error());
  const auto now = farming::survey(farm->journal);
  if (!now) return complain(now.error());
  if (read->flag)
    view::write_out(status_json(farm->directory, *now));
  else
    print_status(farm->directory, *now);
  return 0;
}

int stop(int argc, char** argv) {
  const auto read = read_arguments(argc, argv, 0, "--now");
  if (!read) return complain(read.error());
  const bool at_once = read->flag;
  auto farm = open_farm(read->directory);
  if (!farm) return complain(farm.error());
  {
    const auto turn = farming::Turn::take(farm->journal);
    if (!turn) return complain(turn.error());
    const Status told = farm->journal.add({{farm::EntryKind::kStop, 0, 0, 0, 0, 0, std::time(nullptr), ""}});
    if (!told) return complain(told.error());
  }
  const auto cluster = engine::open();
  if (!cluster) return complain(cluster.error());
  if (const Status done = farming::cancel_jobs(**cluster, farm->journal, at_once); !done)
    return complain(done.error());
  std::printf("no case is started any more%s; minke farm retry goes on with what is left\n",
              at_once ? "" : ", and those that run end by themselves");
  return 0;
}

int add(int argc, char** argv) {
  const auto read = read_arguments(argc, argv, 1);
  if (!read) return complain(read.error());
  const auto& words = read->words;
  if (words.empty()) return complain({0, "which table? minke farm add TABLE [DIRECTORY]"});
  auto farm = open_farm(read->directory);
  if (!farm) return complain(farm.error());
  Result<uint64_t> added = 0;
  {
    const auto turn = farming::Turn::take(farm->journal);
    if (!turn) return complain(turn.error());
    added = farming::add_cases(farm->journal, farm->settings, words[0], lines_of_file(words[0]));
  }
  if (!added) return complain(added.error());
  std::printf("%llu cases more\n", static_cast<unsigned long long>(*added));
  return follow(*farm, true);
}

// minke farm retry [DIRECTORY] [CASE…]: the cases that failed for good run again, as one more attempt.
int retry(int argc, char** argv) {
  const auto read = read_arguments(argc, argv, SIZE_MAX);
  if (!read) return complain(read.error());
  std::error_code problem;
  std::optional<std::string> directory = read->directory;
  std::vector<farm::Range> cases;
  for (const std::string& word : read->words) {
    const bool is_first = &word == read->words.data() && !directory;
    const auto range = farming::parse_cases(word);
    if (is_first && (!range || std::filesystem::exists(word + "/farm.json", problem))) {
      directory = word;
    } else if (!range) {
      return complain(range.error());
    } else {
      cases.push_back(*range);
    }
  }
  auto farm = open_farm(directory);
  if (!farm) return complain(farm.error());
  const auto cluster = engine::open();
  if (!cluster) return complain(cluster.error());
  const auto jobs = farming::follow_jobs(**cluster, farm->journal, farm->settings.rule);
  if (!jobs) return complain(jobs.error());
  Result<uint64_t> again = 0;
  {
    const auto turn = farming::Turn::take(farm->journal);
    if (!turn) return complain(turn.error());
    again = farming::put_again(farm->journal, cases);
  }
  if (!again) return complain(again.error());
  std::printf("%llu cases run again\n", static_cast<unsigned long long>(*again));
  return follow(*farm, true);
}

// Follows a farm that somebody else began, or whose own process has died.
int wait(int argc, char** argv) {
  const auto read = read_arguments(argc, argv, 0);
  if (!read) return complain(read.error());
  auto farm = open_farm(read->directory);
  if (!farm) return complain(farm.error());
  return follow(*farm, false);
}

int log(int argc, char** argv) {
  const auto read = read_arguments(argc, argv, 1);
  if (!read) return complain(read.error());
  const auto number = text::parse_unsigned(read->words.empty() ? "" : read->words[0]);
  if (!number || *number == 0) return complain({0, "which case? minke farm log CASE [DIRECTORY]"});
  auto farm = open_farm(read->directory);
  if (!farm) return complain(farm.error());
  if (const Status printed = print_log(farm->journal, *number); !printed) return complain(printed.error());
  return 0;
}

int result(int argc, char** argv) {
  const auto read = read_arguments(argc, argv, 0);
  if (!read) return complain(read.error());
  auto farm = open_farm(read->directory);
  if (!farm) return complain(farm.error());
  if (const Status printed = print_results(farm->journal, farm->settings); !printed)
    return complain(printed.error());
  return 0;
}

}  // namespace

int farm_main(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "--help";
  const bool asks = verb == "--help" || verb == "-h" || (argc > 2 && std::string_view(argv[2]) == "--help");
  if (asks) {
    view::write_out(kUsage);
    return argc > 1 ? 0 : 2;
  }
  if (verb == "run") return run(argc - 1, argv + 1);
  using Command = int (*)(int argc, char** argv);
  static constexpr std::pair<std::string_view, Command> kCommands[] = {
      {"status", status}, {"wait", wait}, {"log", log},      {"retry", retry},
      {"add", add},       {"stop", stop}, {"result", result}};
  for (const auto& [name, command] : kCommands)
    if (verb == name) return command(argc - 1, argv + 1);
  return complain({0, "there is no minke farm " + verb + "; see minke farm --help"});
}

std::string_view farm_usage() {
  return kUsage;
}

}  // namespace minke::cli
